"""Peers: real programs out of Debian's packages, unpacked into build/peers and run from there, so
that nothing is installed or started on the user's machine.

    def test_names_are_found(garner):
        g = garner()
        peer = peers.need("dnsmasq-base")            # skips where it cannot be downloaded
        server = peer.start(g, "dnsmasq", "--keep-in-foreground", ...)   # stopped with the scene

A peer is a folder with the packages that were asked for and those of their dependencies that the
machine does not have. It is made once; later runs need no network. alone=True leaves the
dependencies out, where only files of the package are read. Run as a program it gets all of WANTED:
tests/run does so while it builds.
"""
import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

import garner

PEERS = garner.ROOT / "build" / "peers"
SECONDS = 300  # all downloads of one peer together
# what need() is asked for: (packages, alone)
WANTED = [
    (("dnsmasq-base",), False),
    (("python3-html5lib",), False),
    (("librust-markup5ever-rcdom-dev",), True),
    (("nginx",), False),
    (("lighttpd",), False),
    (("vsftpd",), False),
    (("apache2-bin",), False),
    (("manpages", "debian-policy"), False),
    (("prometheus",), False),
    (("chromium", "fonts-dejavu-core"), False),
    (("glimpse",), False),
    (("ripgrep",), False),
    (("inetutils-telnet",), False),
    (("putty-tools",), False),
    (("netcat-openbsd",), False),
    (("sharutils",), False),
    (("postfix",), False),
    (("msmtp",), False),
]
PROGRAMS = ("usr/sbin", "usr/bin", "sbin", "bin")
LIBRARIES = ("usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/lib",
             "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu", "lib")


class Absent(Exception):
    """It cannot be had here; the words say why."""


class Peer:
    def __init__(self, root):
        self.root = root

    def program(self, name):
        for folder in PROGRAMS:
            if (self.root / folder / name).exists():
                return self.root / folder / name
        raise Absent(f"no program {name} in {self.root.name}")

    def environment(self, **more):
        """Programs and libraries of the peer before those of the machine."""
        def before(folders, rest):
            found = [str(self.root / f) for f in folders if (self.root / f).is_dir()]
            return ":".join(found + rest)
        return {**garner.clean_environment(), **more,
                "PATH": before(PROGRAMS, ["/usr/sbin:/usr/bin:/sbin:/bin"]),
                "LD_LIBRARY_PATH": before(LIBRARIES, [])}

    def start(self, g, name, *args, env=None):
        """A server for the garner g, in its folder, ended with it: a garner.Process."""
        log = g.dir / f"log{len(g.processes) + 1}"
        environment = self.environment(SCENE=str(g.dir), HOME=str(g.dir), **(env or {}))
        command = [str(self.program(name)), *map(str, args)]
        g.processes.append(garner.Process(command, environment, g.dir, log))
        return g.processes[-1]


def run(*args, cwd=None):
    try:
        done = subprocess.run(args, cwd=cwd, capture_output=True, text=True, timeout=SECONDS,
                              env={**os.environ, "LC_ALL": "C"}, stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        raise Absent(f"{args[0]} is not on this machine") from None
    except subprocess.TimeoutExpired:
        raise Absent(f"{args[0]} took more than {SECONDS} s") from None
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if not line.startswith("W:")]
        raise Absent(f"{' '.join(args[:2])}: {said[-1] if said else done.returncode}")
    return done.stdout


def with_parts(packages):
    """The packages, and those that they are one program with: of just their version."""
    known, new = set(), set(packages)
    while new:
        known |= new
        said = run("apt-cache", "show", "--no-all-versions", *sorted(new))
        depends = " ".join(re.findall(r"^(?:Pre-)?Depends: (.*)", said, re.M))
        new = set(re.findall(r"(\S+) \(= [^)]+\)", depends)) - known
    return known


def with_dependencies(packages):
    """The packages, and what would have to be installed for them; also what is installed of them
    already, for a program finds its own files next to itself."""
    said = run("apt-get", "install", "--simulate", "-qq", "--no-install-recommends", *packages)
    return sorted({*with_parts(packages), *re.findall(r"^Inst (\S+)", said, re.M)})


def unpack(packages, into):
    """Downloads and unpacks in another folder, then renames: it is there whole or not at all."""
    work = Path(tempfile.mkdtemp(prefix="new-", dir=PEERS))
    try:
        run("apt-get", "download", "-qq", "-o", "Acquire::Retries=1", "-o",
            "Acquire::http::Timeout=20", *packages, cwd=work)
        for package in sorted(work.glob("*.deb")):
            run("dpkg-deb", "-x", str(package), str(work / "root"))
        os.rename(work / "root", into)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def get(*packages, alone=False):
    """A Peer with these packages, downloaded if it has to be; raises Absent."""
    PEERS.mkdir(parents=True, exist_ok=True)
    root = PEERS / ("+".join(sorted(packages)) + (".alone" if alone else ""))
    with open(PEERS / "lock", "w") as lock:  # scenes run two at a time
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not root.is_dir():
            unpack(packages if alone else with_dependencies(packages), root)
    return Peer(root)


def need(*packages, alone=False):
    """The same for a scene, which is skipped where the peer cannot be had."""
    assert (packages, alone) in WANTED, f"{packages} are not in WANTED of peers.py"
    try:
        return get(*packages, alone=alone)
    except Absent as e:
        pytest.skip(f"peer {' '.join(packages)} is absent: {e}")


def name_server(g, *options):
    """dnsmasq for the garner g, which knows .test and nothing else: its process, and its port."""
    peer, port = need("dnsmasq-base"), garner.free_port()
    process = peer.start(g, "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv",
                         "--no-hosts", "--log-queries", "--log-facility=-", "--user=", "--group=", "--pid-file=",
                         "--listen-address=127.0.0.1", "--bind-interfaces", f"--port={port}", "--local=/test/",
                         "--local-ttl=300", *options)
    process.wait_line("started")
    return process, port


if __name__ == "__main__":
    for wanted in WANTED:
        try:
            get(*wanted[0], alone=wanted[1])
        except Absent:
            pass  # the scene that needs it says why
