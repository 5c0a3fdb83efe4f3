"""SIGKILL to the role archie-telnet and to its sessions: every user has an answer or is hung up on within 4 s, the
service is whole within 2 s, and a mail of which its user was told was sent."""
import os
import random
import re
import signal
import socket
import threading
import time

from archie_queue import ANSWER_S, WHOLE_S, build
from garner import wait_for
from smtp import sendmail, sent
from telnet_memory import sessions

CONFIG = """[up]
roles = archie-queuer archie-telnet
steady = 1ms
[archie]
searchers = 2
[mail]
via = {via}
[archie-telnet]
listen = 127.0.0.1:0
max_per_address = 50
"""
LISTING = ".:\n-rw-r--r-- 3 anna users 1234 Feb 28 1995 archie.tar.Z\n"
LITTLE, MUCH = 20, 300


def start(garner, **env):
    g = garner()
    g.configure(CONFIG.format(via=sendmail(g)))
    build(g, LISTING)
    up = g.start("up", env=env).wait_ready()
    return g, up, int(re.search(r"archie-telnet on 127\.0\.0\.1:(\d+)", up.wait_line("garner is up")).group(1))


def hear(s, until):
    seen = b""
    while until not in seen:
        got = s.recv(65536)
        if not got:
            raise ConnectionError("hung up")
        seen += got
    return seen


def call(port, *lines):
    """Answers to the lines, in a session of its own."""
    with socket.create_connection(("127.0.0.1", port), timeout=ANSWER_S) as s:
        hear(s, b"archie> ")
        for line in lines:
            s.sendall(line.encode() + b"\r\n")
            yield hear(s, b"archie> ")


def is_whole(port):
    try:
        return b"archie.tar.Z" in list(call(port, "find archie"))[0]
    except OSError:
        return False


class User(threading.Thread):
    """Asks again and again; calls again when hung up on."""

    def __init__(self, port):
        super().__init__()
        self.port, self.answers, self.hung_up, self.wrong, self.ends = port, 0, 0, [], False
        self.start()

    def run(self):
        while not self.ends:
            try:
                for answer in call(self.port, *["find archie"] * 1000):
                    self.answers += 1
                    if b"archie.tar.Z" not in answer:
                        self.wrong.append(answer)
                    if self.ends:
                        return
                    time.sleep(0.02)
            except TimeoutError:
                self.wrong.append("no answer in time")
            except OSError:
                self.hung_up += 1
                time.sleep(0.02)

    def stop(self):
        self.ends = True
        self.join()
        assert not self.wrong, self.wrong
        assert self.answers


def role_pid(up):
    return int(re.search(r"pid=(\d+)", up.lines("role ready role=archie-telnet")[-1]).group(1))


def test_kills_at_random_instants_leave_nobody_without_a_word(garner, seed, long_run):
    g, up, port = start(garner)
    dice, kills, users = random.Random(seed), 0, [User(port) for _ in range(4)]
    try:
        wait_for("first answers", lambda: all(u.answers for u in users))
        while kills < (MUCH if long_run else LITTLE):
            time.sleep(dice.uniform(0, 0.1))
            role = role_pid(up)
            try:
                victims = sessions(role)
                os.kill(dice.choice(victims) if victims and dice.random() < 0.7 else role, signal.SIGKILL)
                kills += 1
            except OSError:
                continue  # it ended just now
            if dice.random() < 0.3:
                wait_for("a whole service", lambda: is_whole(port), WHOLE_S)
        wait_for("a whole service", lambda: is_whole(port), WHOLE_S)
    finally:
        for u in users:
            u.ends = True
    for u in users:
        u.stop()
    assert sum(u.hung_up for u in users) > 0
    assert up.stop() == 0


def test_a_mail_of_which_its_user_was_told_was_sent(garner):
    g, up, port = start(garner, GARNER_FAULTS="telnet.mail_sent=kill@2")
    said = list(call(port, "find archie", "mail anna@example.test"))
    assert b"# Mailed to `anna@example.test'." in said[1] and len(sent(g)) == 1
    try:
        assert b"Mailed" not in list(call(port, "find archie", "mail anna@example.test"))[1]
    except ConnectionError:
        pass  # killed when it was sent, before it could be told
    assert len(sent(g)) == 2
    up.wait_line("role ready role=archie-telnet", times=2)
    wait_for("a whole service", lambda: is_whole(port))
    assert len(sent(g)) == 2
    assert up.stop() == 0
