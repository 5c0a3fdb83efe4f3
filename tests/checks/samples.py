"""What etc/ has is one story: the unit runs as the user that sysusers.d makes and whose home is the data directory, mails
and inetd run commands as that user, others find the way to what is for them, the account for strangers is another one, and
every sample is installed and told of."""
import re

import common

UNIT, USERS, BUILD = "etc/garner.service.in", "etc/sysusers.conf", "etc/meson.build"
FORWARD, ALIASES, PASSWD, INETD = (f"etc/archie/{n}.in" for n in ("forward", "aliases", "passwd", "inetd.conf"))
DOCUMENTS = ("doc/archie.md", "doc/archie-shell.md")
COMMAND = re.compile(r"@bindir@/garner(?:\s+garner)? (.*?)(?:\"|$)", re.M)


def read(root, name):
    return common.text(root / name) if (root / name).exists() else ""


def lines(text):
    return [x for x in text.splitlines() if x and not x.startswith("#")]


def settings(root):
    """The unit's; the last one of a name counts."""
    return dict(x.split("=", 1) for x in lines(read(root, UNIT)) if "=" in x)


def users(root):
    """Name to home, of those that are made."""
    found = (re.match(r'u (\S+) \S+ "[^"]*" (\S+)', x) for x in lines(read(root, USERS)))
    return dict(m.groups() for m in found if m)


def unit_user(unit, made):
    user, data = unit.get("User"), "/var/lib/" + unit.get("StateDirectory", "?")
    if user not in made:
        yield f"{UNIT}:1: runs as {user}, whom {USERS} does not make"
    elif made[user] != data:
        yield f"{USERS}:1: the home of {user} is {made[user]}, not the data directory, {data}"
    if unit.get("Environment") != f"GARNER_DATA={data}":
        yield f"{UNIT}:1: does not say GARNER_DATA={data}"
    if not int(unit.get("StateDirectoryMode", "0755"), 8) & 1:
        yield f"{UNIT}:1: StateDirectoryMode lets nobody pass to what {PASSWD} and vsftpd need"


def mail_user(root, unit, made):
    text, user = read(root, FORWARD), unit.get("User")
    if f"The .forward of the user {user}, for {made.get(user)}/.forward" not in text:
        yield f"{FORWARD}:1: is not the .forward in the home of {user}, who has a home and runs garner"
    log = re.search(r"^(/\S+), ", text, re.M)
    if not log or not log[1].startswith(f"/var/log/{unit.get('LogsDirectory')}/"):
        yield f"{FORWARD}:1: the log is not in the unit's LogsDirectory, where {user} may write"
    if re.search(r'^archie-errors: *"?\|', read(root, ALIASES), re.M):
        yield f"{ALIASES}:1: archie-errors is a command: bounces would be answered"
    if f"chown {user} " not in read(root, ALIASES):
        yield f"{ALIASES}:1: does not give the file to {user}, as whom the command has to run"


def strangers_user(root, unit):
    """The account of those who telnet in."""
    for line in lines(read(root, PASSWD)):
        name, *_, home, shell = line.split(":")
        if name == unit.get("User") or home != "/nonexistent" or shell != "@bindir@/archie":
            yield f"{PASSWD}:1: {name} is not an account of its own without a home, with the shell archie"


def inetd_users(root, unit):
    for line in lines(read(root, INETD)):
        user, program = line.split()[4:6]
        if user != ("root" if program.endswith("/telnetd") else unit.get("User")):
            yield f"{INETD}:1: {program} runs as {user}"


def command_lines(root):
    for name in (FORWARD, ALIASES, INETD):
        for command in COMMAND.findall(read(root, name)):
            if not command.startswith("-c /etc/garner/garner.conf archie "):
                yield f"{name}:1: 'garner {command}' does not name the configuration of the unit"


def told_samples(root):
    """Every sample is installed, and in a document."""
    documents, build = "".join(read(root, d) for d in DOCUMENTS), read(root, BUILD)
    for path in sorted((root / "etc/archie").glob("*")):
        name = path.name.removesuffix(".in")
        if f"'{name}'" not in build and f"'archie/{name}'" not in build:
            yield f"{BUILD}:1: does not install etc/archie/{name}"
        if f"`etc/archie/{name}`" not in documents:
            yield f"etc/archie/{path.name}:1: is in neither {' nor '.join(DOCUMENTS)}"


def problems(root):
    if not (root / UNIT).exists():
        return
    says, made = settings(root), users(root)
    for found in (unit_user(says, made), mail_user(root, says, made), strangers_user(root, says), inetd_users(root, says),
                  command_lines(root), told_samples(root)):
        yield from found


if __name__ == "__main__":
    common.main(problems)
