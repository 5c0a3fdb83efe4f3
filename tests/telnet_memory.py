#!/usr/bin/python3
"""What an idle session of telnet costs: tests/telnet_memory.py PID PORT [N]

Opens N (1000) connections to the role archie-telnet with this process id, waits until each session is at its prompt,
and prints the figure archie.session_kb: the mean of their PSS in KiB. PSS counts what processes share once, in equal
parts, so it is what one session more costs. archie-telnet.max_sessions and max_per_address must allow for them. Only
root sees the memory of a process that has become another user."""
import re
import socket
import sys
import time
from pathlib import Path


def sessions(pid):
    """Process ids of the sessions."""
    return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            if Path(f"/proc/{p}/comm").read_text() == "archie-session\n"]


def memory_kb(pid):
    """PSS, and what of it is its own, in KiB."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return [sum(int(n) for n in re.findall(rf"^{key}:\s+(\d+) kB", rollup, re.M))
            for key in ("Pss", "Private_(?:Dirty|Clean)")]


def at_prompt(connection):
    connection.settimeout(30)
    seen = b""
    while not seen.endswith(b"archie> "):
        got = connection.recv(4096)
        if not got:
            raise SystemExit(f"a session ended: {seen!r}")
        seen += got


def measure(pid, port, n):
    """Mean PSS of n sessions, the largest, and what the parent takes, in KiB; and the time to begin them, in s."""
    start = time.monotonic()
    open_ones = [socket.create_connection(("127.0.0.1", port)) for _ in range(n)]
    for c in open_ones:
        at_prompt(c)
    took = time.monotonic() - start
    found = sessions(pid)
    assert len(found) == n, f"{len(found)} sessions, not {n}"
    each = [memory_kb(p) for p in found]
    parent = memory_kb(pid)[0]
    for c in open_ones:
        c.close()
    return sum(k for k, _ in each) / n, max(k for k, _ in each), sum(k for _, k in each) / n, parent, took


if __name__ == "__main__":
    role, port, n = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1000
    mean, most, own, parent, took = measure(role, port, n)
    print(f"figure archie.session_kb {mean:.0f}")
    print(f"{n} sessions: PSS {mean:.0f} KiB each, at most {most}, of which {own:.0f} are its own; "
          f"the parent {parent} KiB; begun in {took:.1f} s")
