"""Who may include whom: the table of doc/architecture.md, and nothing else. Doors are headers
directly in src/ROOM: each is included by another room, or by a door. A header in a subfolder, or
called NAME_inner.h, is its room's own."""
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
MADE = {"archie/shell_texts_sum.h", "net/assets_sum.h"}  # by the build, for their own rooms
PUBLIC = {"garner.h"}  # include/, for cmd and lib


def allowed(room, name, header):
    table = TABLE.get(f"{room}/{name}")
    other = header.split("/")[0]
    if table is None:
        return other == room or other in TABLE[room] or header in TABLE[room]
    return other in table


def own(header):
    return "_inner." in header or header.count("/") > 1


def doors(used):
    """Headers that other rooms include, and what these include. used: (path, header) pairs."""
    found, more = set(), {h for path, h in used if path.parts[1] != h.split("/")[0]}
    while more:
        found |= more
        more = {h for path, h in used if "/".join(path.parts[1:]) in more} - found
    return found


def problems(root):
    used = []
    for path in common.files(root, "src/*/*.[ch]", "src/*/*/*.[ch]"):
        room, name = path.parts[1], path.name
        if room not in TABLE:
            yield f"{path}:1: the folder src/{room} is not in the include table"
            continue
        for n, line in enumerate(common.text(root / path).splitlines(), 1):
            m = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if not m or (m.group(1) in PUBLIC and room in ("cmd", "lib")):
                continue
            header = m.group(1)
            used.append((path, header))
            if header in MADE and header.startswith(room + "/"):
                continue
            if not (root / "src" / header).exists() or "/" not in header:
                yield f"{path}:{n}: {header} is not a header below src/, written as room/name.h"
            elif own(header) and not header.startswith(room + "/"):
                yield f"{path}:{n}: {header} is not a door; it is for its own room"
            elif not allowed(room, name, header):
                yield f"{path}:{n}: {room}/{name} may not include {header}"
    known = doors(used)
    for path in common.files(root, "src/*/*.h"):
        header = "/".join(path.parts[1:])
        if path.parts[1] != "cmd" and not own(header) and header not in known:
            yield f"{path}:1: no other room includes this door; it belongs in a folder, or is _inner"


if __name__ == "__main__":
    common.main(problems)
