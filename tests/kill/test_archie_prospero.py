"""SIGKILL to daemons of Prospero at random instants: clients have an answer within 4 s."""
import contextlib
import os
import random
import signal
import threading
import time

from archie_queue import ANSWER_S, build, listing
from garner import free_port, new_seed, wait_for
from prospero import Client, NoAnswer

CONFIG = """[archie]
searchers = 2
[archie-prospero]
listen = udp:127.0.0.1:{}
daemons = 2
[up]
roles = archie-queuer archie-prospero
steady = 1ms
"""
KILLS = 20


def test_clients_are_answered_while_daemons_are_killed(garner, long_run):
    port = free_port()
    g, seed, took, odd, ends = garner(CONFIG.format(port)), new_seed(), [], [], threading.Event()
    dice = random.Random(seed)
    build(g, listing(2000))
    up = g.start("up").wait_ready()

    def daemons():
        return [r["pid"] for r in g.run("status", "--json").json()["roles"]
                if r["name"].startswith("archie-prospero@") and r["state"] == "ready"]

    def ask(host):
        while not ends.is_set():
            with contextlib.closing(Client(("127.0.0.1", port), version=host % 2 * 4 + 1)) as c:
                c.socket.bind((f"127.0.0.{host}", 0))
                begin = time.monotonic()
                try:
                    lines = c.match("file7.", "S")
                except NoAnswer:
                    lines = []
                took.append(time.monotonic() - begin)
                if sum(line.startswith("LINK ") for line in lines) != 1:
                    odd.append(lines)
            time.sleep(0.1)

    threads = [threading.Thread(target=ask, args=(host,)) for host in range(1, 5)]
    for t in threads:
        t.start()
    for _ in range(300 if long_run else KILLS):
        time.sleep(dice.uniform(0, 0.1))
        with contextlib.suppress(ProcessLookupError):
            os.kill(dice.choice(wait_for("a daemon", daemons)), signal.SIGKILL)
    answered = len(took)
    wait_for("answers after the last kill", lambda: len(took) > answered + 8)
    ends.set()
    for t in threads:
        t.join()
    assert not odd and max(took) < ANSWER_S, (odd, max(took), seed)
    up.stop()
