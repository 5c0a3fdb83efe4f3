"""Who may include whom: the table of doc/architecture.md, and nothing else."""
import re

import common

# A folder may use itself and these. "room/name.h" allows one header of that room.
TABLE = {
    "base": set(),
    "soif": {"base"},
    "store": {"base"},
    "net": {"base"},
    "index": {"base", "soif"},
    "extract": {"base", "soif"},
    "fetch": {"base", "net"},
    "shepherd": {"base", "net", "fetch", "extract", "soif"},
    "cache": {"base", "net", "fetch", "soif", "store"},
    "archie": {"base", "net", "fetch", "soif", "index"},
    "broker": {"base", "net", "soif", "index", "store"},
    # the query side of these four, through the header that bears the room's name
    "web": {"base", "net", "broker/broker.h", "archie/archie.h", "cache/cache.h",
            "shepherd/shepherd.h"},
    "lib": {"base", "extract"},
    "cmd": {"base", "soif", "store", "net", "index", "extract", "fetch", "shepherd", "cache",
            "archie", "broker", "web"},
    "cmd/parse_main.c": {"base", "extract"},  # garner-parse
}
MADE = {"web/assets_sum.h"}  # by the build, for its own room
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
            elif not allowed(room, name, header):
                yield f"{path}:{n}: {room}/{name} may not include {header}"


if __name__ == "__main__":
    common.main(problems)
