"""What README and the tutorial tell people to type: each command, option, setting, variable and make
target that they name exists. Asks build/garner, which knows them from its tables."""
import re
import shlex
import subprocess

import common

PAGES = ("README.md", "doc/tutorial.md")
FILES = {"c", "conf", "done", "gz", "h", "html", "ini", "jsonl", "md", "py", "txt", "tsv"}  # a dot that names a file
SETTING = re.compile(r"([a-z][a-z0-9-]*(?:@\w+)?)\.([a-z][a-z0-9_]*)(?:\s*\+?=.*)?$")
WITH_VALUE = {"-c", "--config", "-s", "--set", "-D", "--debug"}  # options before a command
ENDS = {"|", "||", "&&", ";", "&", ">", ">>", "<", "2>"}


class Program:
    """What build/garner says of itself; empty where there is none."""
    def __init__(self):
        self.path = common.ROOT / "build" / "garner"
        self.helps = {}
        known = self.run("config", "explain")[1]
        self.settings = set(re.findall(r"^  ([a-z][\w.-]*)(?= |$)", known, re.M))
        self.variables = {"GARNER_" + re.sub(r"\W", "_", key).upper() for key in self.settings}

    def run(self, *args):
        if not self.path.exists():
            return 1, ""
        done = subprocess.run([self.path, *args], capture_output=True, text=True, cwd="/",
                              env={"GARNER_DATA": "/nonexistent"}, stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout

    def help(self, words):
        """The help of a command; None: there is none of this name."""
        if words not in self.helps:
            code, out = self.run("help", *words)
            self.helps[words] = out if code == 0 else None
        return self.helps[words]

    def knows(self, key):
        """Also what a section may say otherwise than [net], which is not in the list."""
        key = re.sub(r"@\w+", "", key)
        return key in self.settings or self.run("config", "explain", key)[0] == 0


def codes(source):
    """(line, code): what stands in `...`, and lines of examples."""
    fenced = False
    for n, line in enumerate(source.splitlines(), 1):
        fenced ^= line.startswith("```")
        if line.startswith("    ") or fenced:
            yield n, line.strip()
        else:
            for code in re.findall(r"`([^`]+)`", line):
                yield n, code


def commands(code):
    """The commands of a line of shell, each as words; (variables of the environment come first)."""
    try:
        words = shlex.split(code, comments=True)
    except ValueError:
        words = code.split(" #")[0].split()
    found = [[]]
    for word in words:
        if word in ENDS:
            found.append([])
        else:
            found[-1].append(word)
    return [c for c in found if c]


def garner(program, words):
    """What is wrong with a call of garner."""
    words = list(words)
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option in ("-s", "--set") and words:
            key = words[0].split("=")[0].rstrip("+")
            if not program.knows(key):
                yield f"{key} is no setting"
        if option in WITH_VALUE and words:
            words.pop(0)
    path, text = (), program.help(())
    while words and re.match(r"[a-z]", words[0]) and (not path or "\nCommands\n" in text):
        path += (words.pop(0),)
        text = program.help(path)
        if text is None:
            yield f"garner {' '.join(path)} is no command"
            return
    for option in (w.split("=")[0] for w in words if re.match(r"--?[a-z]", w)):
        if not re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text):
            yield f"garner {' '.join(path)} has no option {option}"
    if path == ("config", "explain"):
        for key in (w for w in words if "." in w and not program.knows(w)):
            yield f"{key} is no setting"


def make(makefile, words):
    for word in words:
        name = word.split("=")[0]
        if "=" in word and not re.search(rf"^{re.escape(name)} =", makefile, re.M):
            yield f"make has no variable {name}"
        elif "=" not in word and not re.search(rf"^{re.escape(word)}:", makefile, re.M):
            yield f"make {word} is no target"


def wrong(program, makefile, code):
    m = SETTING.match(code)
    if m and m.group(2) not in FILES and not program.knows(code.split("=")[0].strip(" +")):
        yield f"{m.group(1)}.{m.group(2)} is no setting"
    for name in re.findall(r"\bGARNER_[A-Z0-9_]+", code):
        if name not in program.variables:
            yield f"{name} is no variable of garner"
    for words in commands(code):
        while words and (re.match(r"\w+=", words[0]) or words[0] in ("sudo", "exec")):
            words = words[1:]
        if words and words[0] in ("garner", "build/garner"):
            yield from garner(program, words[1:])
        elif words and words[0] == "make":
            yield from make(makefile, words[1:])


def problems(root):
    program = Program()
    if not program.settings:
        yield "build/garner:1: is missing: ninja -C build garner"
        return
    makefile = common.text(root / "Makefile") if (root / "Makefile").exists() else ""
    for page in (p for p in PAGES if (root / p).exists()):
        for n, code in codes(common.text(root / page)):
            for what in wrong(program, makefile, code):
                yield f"{page}:{n}: {what}"


if __name__ == "__main__":
    common.main(problems)
