"""SIGKILL to the queuer, its searchers, the role archie-ng and the role web, at random instants, while programs ask by
lines and by HTTP: each has an answer, a clear error or the end of its connection within 4 s, and all is whole within
2 s of the last kill."""
import json
import os
import random
import re
import signal
import socket
import threading
import time
import urllib.error
import urllib.request

from archie_queue import ANSWER_S, WHOLE_S, build, queuer_pid, searchers
from garner import wait_for

CONFIG = """[up]
roles = archie-queuer archie-ng web
steady = 1ms
[archie]
searchers = 2
[archie-ng]
listen = 127.0.0.1:0
[web]
listen = 127.0.0.1:0
"""
LISTING = ".:\n-rw-r--r-- 3 anna users 1234 Feb 28 1995 archie.tar.Z\n"
LITTLE, MUCH = 20, 300
CLEAR = {"away", "failed", "busy"}


def by_lines(port):
    """One answer: "found", or the word of an error."""
    with socket.create_connection(("127.0.0.1", port), timeout=ANSWER_S) as s, s.makefile() as lines:
        s.sendall(b"FIND archie\n")
        hits = 0
        for line in lines:
            if line.startswith("HIT\tftp.example.test\t") and line.endswith("\tarchie.tar.Z\n"):
                hits += 1
            elif line.startswith("OK "):
                return "found" if hits == 1 else line
            elif line.startswith("ERROR "):
                return line.split(" ")[1]
    raise ConnectionError("hung up")


def by_http(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/files?q=archie", timeout=ANSWER_S) as got:
            hits = json.load(got)["hits"]
            return "found" if [h["path"] for h in hits] == ["archie.tar.Z"] else str(hits)
    except urllib.error.HTTPError as e:
        return "away" if e.code in (500, 503) else f"status {e.code}"


class User(threading.Thread):
    """Asks again and again, on a new connection each time."""

    def __init__(self, ask, port):
        super().__init__()
        self.how, self.port = ask, port
        self.found, self.without, self.wrong, self.ends = 0, 0, [], False
        self.start()

    def run(self):
        while not self.ends:
            began = time.monotonic()
            try:
                said = self.how(self.port)
                self.found += said == "found"
                self.without += said in CLEAR
                if said != "found" and said not in CLEAR:
                    self.wrong.append(said)
            except TimeoutError:
                self.wrong.append("no answer in time")
            except (OSError, ValueError):  # hung up on, perhaps in the middle of an answer
                self.without += 1
            if time.monotonic() - began > ANSWER_S + 0.5:
                self.wrong.append(f"after {time.monotonic() - began:.1f} s")
            time.sleep(0.02)


def test_whoever_is_killed_everyone_hears_something_and_all_is_soon_whole(garner, seed, long_run):
    g = garner(CONFIG)
    build(g, LISTING)
    up = g.start("up").wait_ready()
    line = up.wait_line("garner is up")
    ports = [int(re.search(rf"{role} on (?:http://)?127\.0\.0\.1:(\d+)", line).group(1)) for role in ("archie-ng", "web")]
    faces = list(zip((by_lines, by_http), ports))

    def is_whole():
        try:
            return all(ask(port) == "found" for ask, port in faces)
        except (OSError, ValueError):
            return False

    def victims():
        last = [up.lines(f"role ready role={role}")[-1] for role in ("archie-ng", "web")]
        return [queuer_pid(g), *(int(re.search(r"pid=(\d+)", l).group(1)) for l in last), *searchers(g)]

    dice, kills, users = random.Random(seed), 0, [User(ask, port) for ask, port in faces * 2]
    try:
        wait_for("first answers", lambda: all(u.found for u in users))
        while kills < (MUCH if long_run else LITTLE):
            time.sleep(dice.uniform(0, 0.1))
            try:
                os.kill(dice.choice([pid for pid in victims() if pid]), signal.SIGKILL)
                kills += 1
            except ProcessLookupError:
                continue  # it ended just now
            if dice.random() < 0.2:
                wait_for("all of it", is_whole, WHOLE_S)
        wait_for("all of it", is_whole, WHOLE_S)
    finally:
        for u in users:
            u.ends = True
        for u in users:
            u.join()
    for u in users:
        assert not u.wrong and u.found, (u.how.__name__, u.wrong)
    assert not long_run or sum(u.without for u in users) > 0
    assert up.stop() == 0
