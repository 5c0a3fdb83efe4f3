"""Who may include whom: the table of doc/architecture.md, and nothing else."""
import re

import common

# A folder may use itself and these. "room/name.h" allows one header of that room.
GROUND = {"base", "url", "disk", "role", "store/small.h"}
TABLE = {
    "base": set(),
    "url": {"base"},
    "disk": {"base"},
    "role": {"base", "disk"},
    "soif": GROUND,
    "store": GROUND,
    "net": GROUND,
    "bucket": GROUND,
    "index": GROUND | {"soif"},
    "extract": GROUND | {"soif"},
    "fetch": GROUND | {"net"},
    "state": GROUND | {"soif", "bucket"},
    "shepherd": GROUND | {"net", "fetch", "extract", "soif", "bucket", "state"},
    "cache": GROUND | {"net", "fetch", "extract", "soif", "store"},
    "archie": GROUND | {"net", "fetch", "extract", "soif", "index"},
    "broker": GROUND | {"net", "soif", "index", "store"},
    # the query side of these four, through the header that bears the room's name
    "web": GROUND | {"net", "broker/broker.h", "archie/archie.h", "cache/cache.h",
                     "shepherd/shepherd.h"},
    "lib": GROUND | {"extract"},
    "cmd": GROUND | {"soif", "store", "net", "bucket", "index", "extract", "fetch", "state",
            "shepherd", "cache", "archie", "broker", "web"},
    "cmd/parse_main.c": GROUND | {"extract"},  # garner-parse
}
MADE = {"archie/shell_texts_sum.h", "web/assets_sum.h"}  # by the build, for their own rooms
PUBLIC = {"garner.h"}  # include/, for cmd and lib


def allowed(room, name, header):
    table = TABLE.get(f"{room}/{name}")
    other = header.split("/")[0]
    if table is None:
        return other == room or other in TABLE[room] or header in TABLE[room]
    return other in table


def problems(root):
    for path in common.files(root, "src/**/*.c", "src/**/*.h", "src/*/*.c", "src/*/*.h"):
        room, name = path.parts[1], path.name
        if room not in TABLE:
            yield f"{path}:1: the folder src/{room} is not in the include table"
            continue
        for n, line in enumerate(common.text(root / path).splitlines(), 1):
            m = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if not m or (m.group(1) in PUBLIC and room in ("cmd", "lib")):
                continue
            header = m.group(1)
            if header in MADE and header.startswith(room + "/"):
                continue
            if not (root / "src" / header).exists() or "/" not in header:
                yield f"{path}:{n}: {header} is not a header below src/, written as room/name.h"
            elif "_inner." in header and not header.startswith(room + "/"):
                yield f"{path}:{n}: {header} is not a door; it is for its own room"
            elif not allowed(room, name, header):
                yield f"{path}:{n}: {room}/{name} may not include {header}"


if __name__ == "__main__":
    common.main(problems)
