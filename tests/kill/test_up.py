"""SIGKILL to the supervisor wherever it changes something: nothing is left behind, and the next
start comes up ready."""
import contextlib
import os
import random
import re
import signal
import time

import pytest

from demo import Demo
from garner import ROOT, left_running, wait_for

POINTS = sorted({p for f in (ROOT / "src/cmd").rglob("*.c")
                 for p in re.findall(r'FAULT\("((?:up|role)\.[^"]+)"\)', f.read_text())})


def new_demo(garner):
    return Demo(garner, "echo tick", echo={"listen": "127.0.0.1:0", "helper": "yes"})


def change(demo, text):
    demo.configure("echo tick", echo={"listen": "127.0.0.1:0", "greeting": text, "helper": "yes"})


def comes_up_again(demo):
    """Nothing of the killed one is left, and the next one starts at once, whole."""
    wait_for("the end of all processes", lambda: not left_running(demo.g.dir))
    seen = {role: len(demo.pids(role)) for role in ("echo", "tick")}
    up = demo.start().wait_ready()
    assert "garner is up: 2 roles ready" in up.wait_line("garner is up")
    assert all(len(demo.pids(role)) == n + 1 for role, n in seen.items())
    assert demo.g.run("status").code == 0
    assert up.stop() == 0
    assert up.lines(r"Z (error|warn) ") == []


def ready_or_dead(up):
    wait_for("ready or dead", lambda: not up.alive or up.lines("garner is up"))
    return up.alive


def live(demo, up):
    """Passes through every state: start, a role that dies, a reload, the end."""
    steps = (lambda: os.kill(demo.pids("echo")[-1], signal.SIGKILL),
             lambda: (change(demo, "changed"), up.send(signal.SIGHUP)),
             lambda: up.send(signal.SIGTERM))
    for i, step in enumerate(steps, start=1):
        if not ready_or_dead(up):
            return
        step()
        if i < len(steps):
            wait_for("the next process of echo, or the end",
                     lambda: not up.alive or len(up.lines("role ready.*role=echo")) > i)


def test_there_are_fault_points():
    assert len([p for p in POINTS if p.startswith("up.")]) >= 8


@pytest.mark.parametrize("point", [p for p in POINTS if p.startswith("up.")])
def test_killed_at(garner, point):
    demo = new_demo(garner)
    up = demo.start(env={"GARNER_FAULTS": f"{point}=kill"})
    live(demo, up)
    assert up.wait() == -signal.SIGKILL
    comes_up_again(demo)


@pytest.mark.parametrize("point", ["up.child.forked", "up.child.started", "up.child.ready"])
def test_killed_at_the_second_role(garner, point):
    demo = new_demo(garner)
    up = demo.start(env={"GARNER_FAULTS": f"{point}=kill@2"})
    live(demo, up)
    assert up.wait() == -signal.SIGKILL
    comes_up_again(demo)


@pytest.mark.parametrize("point", [p for p in POINTS if p.startswith("role.")])
def test_roles_killed_at(garner, point):
    """Every process of every role dies there; the supervisor goes on trying, and ends when told."""
    demo = new_demo(garner)
    up = demo.start(env={"GARNER_FAULTS": f"{point}=kill"})
    ready_or_dead(up)
    if point != "role.ended":  # which is passed only when they stop
        up.wait_line("role failed.*role=echo.*signal KILL", times=3)
        up.wait_line("role failed.*role=tick.*signal KILL", times=3)
    assert up.stop() == 0
    assert up.lines("signal KILL")
    comes_up_again(demo)


@pytest.mark.parametrize("call", ["file.open", "file.write", "file.sync", "file.rename"])
@pytest.mark.parametrize("action", ["enospc", "eio"])
def test_a_configuration_that_cannot_be_kept_is_not_taken(garner, call, action):
    demo = new_demo(garner)
    result = demo.g.run("up", env={"GARNER_FAULTS": f"{call}/up.conf={action}"})
    assert result.code == 7 and "up.conf" in result.err
    assert demo.trace() == []
    comes_up_again(demo)


def test_a_reload_that_cannot_be_kept_changes_nothing(garner):
    demo = new_demo(garner)
    up = demo.start(env={"GARNER_FAULTS": "file.write/up.conf=enospc@2"})
    assert ready_or_dead(up)
    change(demo, "changed")
    up.send(signal.SIGHUP)
    assert "up.conf" in up.wait_line("reload refused")
    up.send(signal.SIGHUP)  # now there is room
    up.wait_line("reloaded")
    demo.wait_pids("echo", 2)
    assert len(demo.pids("tick")) == 1
    assert up.stop() == 0


@pytest.mark.limit(600)
def test_killed_at_random_instants(garner, seed, long_run):
    rounds = 300 if long_run else 20
    dice = random.Random(seed)
    demo = new_demo(garner)
    for i in range(rounds):
        up = demo.start()
        time.sleep(dice.uniform(0, 0.1))
        for _ in range(dice.randrange(4)):
            if dice.random() < 0.5:
                change(demo, f"round {i} {dice.random()}")
                up.send(signal.SIGHUP) if up.lines("role started") else None
            elif pids := demo.pids(dice.choice(["echo", "tick"])):
                with contextlib.suppress(ProcessLookupError):  # it may end by itself just now
                    os.kill(pids[-1], signal.SIGKILL) if pids[-1] in left_running(demo.g.dir) else None
            time.sleep(dice.uniform(0, 0.03))
        up.kill()
        if i % 5 == 4:
            comes_up_again(demo)
    comes_up_again(demo)
