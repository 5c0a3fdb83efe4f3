"""Every check can fail: each is shown bad samples, which it has to name, and good ones, which it has
to pass."""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import common

sys.path.insert(0, str(Path(__file__).parent))
import banned  # noqa: E402
import clang  # noqa: E402
import docs  # noqa: E402
import format as c_format  # noqa: E402
import headers  # noqa: E402
import layers  # noqa: E402
import names  # noqa: E402
import readme  # noqa: E402
import samples  # noqa: E402
import size  # noqa: E402
import words  # noqa: E402

A, B = "src/base/a.c", "src/base/b.h"
HEADER = "#pragma once\n"


def compiled(source):
    """A tree whose build compiles one file."""
    entry = {"directory": "@", "command": "cc -Wall -o x.o -c src/base/a.c", "file": A}
    return {A: source, "build/compile_commands.json": json.dumps([entry])}


COMMAND = "@bindir@/garner -c /etc/garner/garner.conf archie mail"
STORY = {
    "etc/garner.service.in": "User=garner\nEnvironment=GARNER_DATA=/var/lib/garner\nStateDirectory=garner\n"
                             "StateDirectoryMode=0711\nLogsDirectory=garner\n",
    "etc/sysusers.conf": 'u garner - "garner" /var/lib/garner /usr/sbin/nologin\n',
    "etc/archie/forward.in": "# The .forward of the user garner, for /var/lib/garner/.forward: a log.\n"
                             f'/var/log/garner/archie.mail, "|{COMMAND}"\n',
    "etc/archie/aliases.in": f'# chown garner /x\narchie: "|{COMMAND}"\narchie-errors: postmaster\n',
    "etc/archie/passwd.in": "archie::NNN:GGG:Archie:/nonexistent:@bindir@/archie\n",
    "etc/meson.build": "['aliases', 'forward', 'passwd']\n",
    "doc/archie.md": "`etc/archie/aliases`, `etc/archie/forward`, `etc/archie/passwd`\n",
}


def story(name, old, new):
    """The samples of etc/, one of which was changed."""
    assert old in STORY[name]
    return {**STORY, name: STORY[name].replace(old, new)}


# check, files, and a piece of what it has to say; None: it has to be silent
CASES = [
    (layers, {A: '#include "net/n.h"\n', "src/net/n.h": HEADER}, "a.c:1: base/a.c may not include"),
    (layers, {"src/net/a.c": '#include "base/b_inner.h"\n', "src/base/b_inner.h": HEADER},
     "a.c:1: base/b_inner.h is not a door"),
    (layers, {"src/net/a.c": '#include "base/b.h"\n#include <stdio.h>\n', B: HEADER}, None),
    (layers, {"src/web/a.c": '#include "broker/registry.h"\n', "src/broker/registry.h": HEADER},
     "web/a.c may not include"),
    (layers, {"src/web/a.c": '#include "broker/broker.h"\n', "src/broker/broker.h": HEADER}, None),
    (layers, {"src/cmd/parse_main.c": '#include "net/n.h"\n', "src/net/n.h": HEADER},
     "parse_main.c may not include"),
    (layers, {A: '#include "base/b.h"\n', B: HEADER}, "b.h:1: no other room includes this door"),
    (layers, {"src/net/a.c": '#include "base/sub/b.h"\n', "src/base/sub/b.h": HEADER}, "base/sub/b.h is not a door"),
    (layers, {"src/net/a.c": '#include "base/a.h"\n', "src/base/a.h": '#include "base/b.h"\n', B: HEADER}, None),
    (layers, {A: '#include "b.h"\n', B: HEADER}, "is not a header below src/"),
    (layers, {"src/other/a.c": "\n"}, "src/other is not in the include table"),
    (banned, {A: "void f(char *p)\n{\n\tstrcpy(p, p);\n}\n"}, "a.c:3: strcpy()"),
    (banned, {A: '/* strcpy(a) */ const char *s = "strcpy(b)";\n'}, None),
    (banned, {A: "x = open(p, 0);\n"}, "a.c:1: open()"),
    (banned, {A: "x = ops->open(p) + ops.open(p) + my_open(p);\n"}, None),
    (banned, {"src/base/file.c": "x = open(p, 0);\n"}, None),
    (banned, {A: "exit(1);\n"}, "a.c:1: exit()"),
    (banned, {"src/cmd/a.c": "exit(1);\n"}, None),
    (banned, {"src/net/a.c": "if (fork() == 0)\n"}, "a.c:1: fork()"),
    (banned, {A: 'x = open("/dev/null", 0);\n'}, None),
    (banned, {"tests/unit/base/a.c": "x = open(p, 0);\n"}, None),
    (banned, {A: "/* TO" "DO: later */\n"}, "finish it"),
    (headers, {B: "#pragma once\nsize_t f(void);\n"}, "b.h:1: does not compile alone"),
    (headers, {B: "#pragma once\n#include <stddef.h>\nsize_t f(void);\n"}, None),
    (clang, compiled("int f(int a);\nint f(int a)\n{\n\tint unused;\n\treturn a;\n}\n"),
     "src/base/a.c:1: clang"),
    (clang, compiled("int f(int a);\nint f(int a)\n{\n\treturn a;\n}\n"), None),
    (clang, {A: "\n"}, "compile_commands.json:1: is missing"),
    (c_format, {A: "int  a;\n"}, "a.c:1: not as clang-format"),
    (c_format, {A: "int a;\n"}, None),
    (docs, {"src/README.md": "\n", A: "\n"}, "src/base/README.md:1: is missing"),
    (docs, {"src/README.md": "x\n" * 41, A: "\n"}, "src/README.md:41: longer"),
    (docs, {"a.md": "[x](b.md)\n"}, "a.md:1: b.md is not there"),
    (docs, {"a.md": "[x](c.md#y) [z](https://example.org/) `[x](d.md)`\n", "c.md": "\n"}, None),
    (docs, {"a.md": "read `src/base/b.c`, then `src/base/a.c`\n", A: "\n"}, "a.md:1: src/base/b.c is not there"),
    (docs, {"a.md": "`tests/a.py` `tests/NAME.py` `doc/README.md` x/`src/a b`\n", "tests/a.py": "\n",
            "tests/README.md": "\n", "doc/README.md": "\n"}, None),
    (docs, {A: 'const struct format f = {\n.name = "x",\n.magic = "garnX",\n};\n'},
     "the format x has no page"),
    (docs, {A: 'const struct format f = {\n.name = "x",\n.magic = "garnX",\n};\n',
            "doc/formats/x.md": "nothing\n"}, "does not name the magic"),
    (docs, {A: '#define X_MAGIC "garnX"\nconst struct format f = {\n.name = "x",\n.magic = X_MAGIC,\n};\n',
            "doc/formats/x.md": "nothing\n"}, "does not name the magic garnX"),
    (docs, {A: 'const struct format f = {\n.name = "x",\n.magic = "garnX",\n};\n', "doc/formats/x.md": "garnX\n",
            "doc/formats/README.md": "| [x](x.md) |\n", "doc/README.md": "\n", "src/README.md": "\n",
            "src/base/README.md": "\n"}, None),
    (docs, {A: 'const struct format f = {\n.name = "x",\n.magic = "garnX",\n};\n', "doc/formats/x.md": "garnX\n",
            "doc/formats/README.md": "| nothing |\n"}, "x.md is not in the table"),
    (docs, {"doc/formats/README.md": "| [y](y.md) |\n"}, "y.md is no format"),
    (docs, {"doc/formats/y.md": "\n"}, "there is no struct format"),
    (docs, {"doc/decisions/a.md": "x " * 9000, "doc/decisions/b.md": "y " * 9000}, "18000 words in this folder"),
    (docs, {"a.md": "see /home/ann/x\n"}, "a.md:1: a path of one machine"),
    (docs, {"a.md": "see /home/me/x\n"}, None),
    (readme, {"README.md": "    garner add https://example.org/   # a site\n`uns.idle`, `bot@2.folder`, `a.conf`\n"
                           "    A=b sudo make run URL=x | garner -s net.port=0 archie find -m 3 a.b\n"
                           "    GARNER_NET_PORT=1 garner config explain web.url\n",
              "Makefile": "URL =\nrun:\n"}, None),
    (readme, {"README.md": "\n    garner archie fnd x\n"}, "README.md:2: garner archie fnd is no command"),
    (readme, {"README.md": "`echo x | build/garner serch`\n"}, "README.md:1: garner serch is no command"),
    (readme, {"doc/tutorial.md": "```\ngarner fetch --form x\n```\n"}, "md:2: garner fetch has no option --form"),
    (readme, {"README.md": "`garner -s web.prot=1 up`\n"}, "web.prot is no setting"),
    (readme, {"README.md": "`garner config explain web.prot`\n"}, "web.prot is no setting"),
    (readme, {"README.md": "set `web.prot = 1`\n"}, "web.prot is no setting"),
    (readme, {"README.md": "`GARNER_WEB_PROT=1`\n"}, "GARNER_WEB_PROT is no variable"),
    (readme, {"README.md": "`make rn`\n", "Makefile": "run:\n"}, "make rn is no target"),
    (readme, {"README.md": "`make run PROT=1`\n", "Makefile": "PORT =\nrun:\n"}, "make has no variable PROT"),
    (samples, STORY, None),
    (samples, story("etc/garner.service.in", "User=garner", "DynamicUser=yes"), "runs as None, whom"),
    (samples, story("etc/garner.service.in", "0711", "0750"), "lets nobody pass"),
    (samples, story("etc/sysusers.conf", "/var/lib/garner", "/nonexistent"), "not the data directory"),
    (samples, story("etc/archie/forward.in", "user garner", "user archie"), "is not the .forward in the home"),
    (samples, story("etc/archie/forward.in", "/var/log/garner", "/var/log"), "the log is not in"),
    (samples, story("etc/archie/forward.in", "-c /etc/garner/garner.conf ", ""), "does not name the configuration"),
    (samples, story("etc/archie/aliases.in", "errors: ", 'errors: "|x" '), "bounces would be answered"),
    (samples, story("etc/archie/passwd.in", "archie::", "garner::"), "is not an account of its own"),
    (samples, story("etc/meson.build", "'forward', ", ""), "does not install etc/archie/forward"),
    (samples, story("doc/archie.md", "`etc/archie/forward`, ", ""), "forward.in:1: is in neither"),
    (samples, {**STORY, "etc/archie/inetd.conf.in": "1527 stream tcp nowait root @bindir@/garner garner -c x archie ng\n"},
     "@bindir@/garner runs as root"),
    (size, {A: "\n" * 1501}, "a.c:1501: more than"),
    (size, {A: "\n" * 901}, "note: src/base/a.c"),
    (size, {A: "\n" * 900}, None),
    (names, {A: "static int a;\nstatic struct x *take(int a)\n{\n"}, "a.c:2: take()"),
    (names, {A: "static int plan_take(int a)\n{\n}\nstatic void init(void)\n/* static x(*/\n"}, None),
    (words, {A: "int a; /* what lies\n * behind it */\n"}, "a.c:2: \"behind\": after"),
    (words, {"doc/a.md": "The file at\nhand.\n"}, "doc/a.md:1: \"at hand\": current"),
    (words, {A: "/* nothing is left behind */\nint beside = 1; /* after */\n", "src/base/README.md": "next to\n"}, None),
]


def problems(_):
    for check, sample, expected in CASES:
        with tempfile.TemporaryDirectory(prefix="garner-") as name:
            root = Path(name)
            for path, source in sample.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(source.replace('"@"', json.dumps(name)))
            (root / ".clang-format").write_text(common.text(common.ROOT / ".clang-format"))
            (root / ".gitignore").write_text("/build/\n")
            subprocess.run(["git", "init", "-q", name], check=True)
            said = list(check.problems(root))
        if expected is None and said:
            yield f"tests/checks/{check.__name__}.py:1: speaks of a good sample {sample}: {said}"
        if expected is not None and not any(expected in line for line in said):
            yield f"tests/checks/{check.__name__}.py:1: does not say {expected!r} of {sample}: {said}"
    untold = {p.stem for p in Path(__file__).parent.glob("*.py")} \
        - {c.__name__ for c, _, _ in CASES} - {"common", "selftest"}
    for name in sorted(untold):
        yield f"tests/checks/{name}.py:1: has no sample in selftest.py"


if __name__ == "__main__":
    common.main(problems)
