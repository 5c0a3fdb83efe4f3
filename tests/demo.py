"""garner-demo under its supervisor: what the scenes and kill tests of `garner up` share."""
import os
import re
import signal
import socket
from pathlib import Path

from garner import wait_for

PROGRAM = "tests/garner-demo"
QUICK = {"restart_min": "10ms", "restart_max": "80ms"}  # of the section up, for impatient tests


class Demo:
    """A Garner whose roles (echo, tick, flaky) leave a trace: "ROLE start|ready|end PID" lines."""

    def __init__(self, garner, roles="echo tick", **sections):
        self.g = garner(program=PROGRAM)
        self.trace_file = self.g.dir / "trace"
        self.configure(roles, **sections)

    def configure(self, roles="echo tick", up=None, **sections):
        """echo={"greeting": "x"} and so on; trace is set for all. **{"tick@1": {...}}: an instance."""
        text = f"[up]\nroles = {roles}\n"
        text += "".join(f"{k} = {v}\n" for k, v in {**QUICK, **(up or {})}.items())
        for role in ("echo", "tick", "flaky"):
            settings = {"trace": self.trace_file, **sections.get(role, {})}
            text += f"[{role}]\n" + "".join(f"{k} = {v}\n" for k, v in settings.items())
        for name in (n for n in sections if "@" in n):
            text += f"[{name}]\n" + "".join(f"{k} = {v}\n" for k, v in sections[name].items())
        self.g.configure(text)

    def start(self, **more):
        self.up = self.g.start("up", **more)
        return self.up

    def trace(self, pattern="."):
        """Steps of the roles as "echo ready", in the order in which they happened."""
        return [line.rpartition(" ")[0] for line in self._lines() if re.search(pattern, line)]

    def _lines(self):
        return self.trace_file.read_text().splitlines() if self.trace_file.exists() else []

    def pids(self, role, step="ready"):
        """Of all processes of a role that have got so far, oldest first."""
        return [int(line.split()[2]) for line in self._lines() if line.startswith(f"{role} {step} ")]

    def wait_pids(self, role, times, step="ready"):
        wait_for(f"{role} {step}, {times} times", lambda: len(self.pids(role, step)) >= times)
        return self.pids(role, step)

    def kill_role(self, role):
        """SIGKILL to its newest process; returns when the next one is ready."""
        pids = self.pids(role)
        os.kill(pids[-1], signal.SIGKILL)
        self.wait_pids(role, len(pids) + 1)

    def counter(self, name, role=None):
        """A counter of the supervisor, as `garner status` shows it."""
        rows = self.g.run("status", "--json").json()["roles"]
        labels = f'role="{role}"' if role else ""
        return next(c["value"] for r in rows if r["name"] == "up" for c in r["counters"]
                    if (c["name"], c["labels"]) == (name, labels))

    def address(self, role="echo"):
        """Where it listens, as the line for people says it."""
        line = self.up.wait_line("garner is up")
        host, port = re.search(rf"{role} on ([\d.]+):(\d+)", line).groups()
        return host, int(port)


def ask(address, line=b"x\n", timeout=10):
    """What the role answers: (greeting, pid, echo). An empty greeting: it died on us."""
    family = socket.AF_INET if isinstance(address, tuple) else socket.AF_UNIX
    with socket.socket(family) as s:
        s.settimeout(timeout)
        s.connect(address)
        got = b""
        try:
            s.sendall(line)
            while part := s.recv(4096):
                got += part
        except ConnectionResetError:
            pass
    first, _, echo = got.partition(b"\n")
    greeting, _, pid = first.decode().rpartition(" ")
    return greeting, int(pid or 0), echo


def lives(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
