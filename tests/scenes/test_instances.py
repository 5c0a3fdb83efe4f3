"""A role that runs several times: tick@1, tick@2."""
import re
import signal

from demo import Demo, ask
from garner import wait_for


def test_instances_have_settings_locks_and_counters_of_their_own(garner):
    demo = Demo(garner, "echo tick@1 tick@2", tick={"greeting": "all", "listen": "127.0.0.1:0"},
                **{"tick@2": {"greeting": "second"}})
    up = demo.start().wait_ready()
    assert demo.trace() == ["echo start", "echo ready", "tick@1 start", "tick@1 ready",
                            "tick@2 start", "tick@2 ready"]
    first, second = demo.address("tick@1"), demo.address("tick@2")
    assert first != second
    assert ask(first)[:2] == ("all", demo.pids("tick@1")[-1])
    assert ask(second)[:2] == ("second", demo.pids("tick@2")[-1])
    rows = {r["name"]: r for r in demo.g.run("status", "--json").json()["roles"]}
    assert rows["tick@1"]["state"] == rows["tick@2"]["state"] == "ready"
    assert rows["tick"]["state"] == "stopped"
    assert "tick@2  ready" in demo.g.run("status").out
    for name in ("tick@1", "tick@2"):
        assert (demo.g.data / "run/locks" / name).exists()
        answers = [c["value"] for c in rows[name]["counters"] if c["name"] == "answers"]
        assert answers == [1]
    busy = demo.g.run("tick@2")
    assert busy.code == 5 and "tick@2" in busy.err
    demo.kill_role("tick@2")
    assert len(demo.pids("tick@1")) == 1
    assert demo.counter("role_restarts", "tick@2") == 1
    assert up.stop() == 0
    assert [s for s in demo.trace() if s.endswith("end")] == ["tick@2 end", "tick@1 end",
                                                             "echo end"]


def test_a_reload_restarts_only_the_instance_that_changed(garner):
    demo = Demo(garner, "tick@1 tick@2", **{"tick@2": {"greeting": "old"}})
    up = demo.start().wait_ready()
    before = {n: demo.pids(n) for n in ("tick@1", "tick@2")}
    demo.configure("tick@1 tick@2", **{"tick@2": {"greeting": "new"}})
    up.send(signal.SIGHUP)
    demo.wait_pids("tick@2", 2)
    assert demo.pids("tick@1") == before["tick@1"]
    # one goes and one comes; the other does not notice
    demo.configure("tick@1 tick@new")
    up.send(signal.SIGHUP)
    demo.wait_pids("tick@new", 1)
    wait_for("tick@2 to end", lambda: demo.counter("role_state", "tick@2") == 0)
    assert demo.counter("role_state", "tick@new") == 2
    assert demo.counter("reloads") == 2
    assert demo.pids("tick@1") == before["tick@1"]
    # what holds for all is for all
    demo.configure("tick@1 tick@new", tick={"greeting": "other"})
    up.send(signal.SIGHUP)
    demo.wait_pids("tick@1", 2)
    demo.wait_pids("tick@new", 2)
    assert up.stop() == 0


def test_one_runs_in_the_foreground_and_settings_reach_it(garner):
    demo = Demo(garner, "tick@1", **{"tick@1": {"greeting": "file"}})
    one = demo.g.start("tick@1", "-s", "tick@1.listen=127.0.0.1:0", "-s", "tick@1.greeting=set")
    port = re.search(r":(\d+)$", one.wait_line("listening")).group(1)
    assert ask(("127.0.0.1", int(port)))[0] == "set"
    assert one.stop() == 0
    other = demo.g.start("tick@7", "-s", "tick.listen=127.0.0.1:0",
                         env={"GARNER_TICK_7_GREETING": "seven", "GARNER_TICK_GREETING": "all"})
    port = re.search(r":(\d+)$", other.wait_line("listening")).group(1)
    assert ask(("127.0.0.1", int(port)))[0] == "seven"
    assert other.stop() == 0
    assert demo.g.run("echo@1").code == 2


def test_mistakes_are_said_before_anything_starts(garner):
    demo = Demo(garner, "tick@1 tick@2", tick={"listen": "127.0.0.1:8999"})
    said = demo.g.run("config", "check")
    assert said.code == 2
    assert "tick@1.listen and tick@2.listen are the same address, 127.0.0.1:8999" in said.err
    for roles, words in (("echo@1", "there is no role echo@1"), ("tick@", "there is no role tick@"),
                         ("tick@1 tick@1", "named twice: tick@1")):
        demo.configure(roles)
        assert words in demo.g.run("config", "check").err
    demo.configure("tick@1", **{"tick@1": {"greeting": "one"}, "tick@x-y": {"greeting": "two"},
                                "echo@1": {"greeting": "three"}})
    said = demo.g.run("config", "check").err
    assert "'tick@x-y': expected letters and digits" in said
    assert "'echo@1': there is only one echo" in said
    demo.configure("tick@1", tick={"greeting": "all"}, **{"tick@2": {"greeting": "two"}})
    shown = {s["setting"]: s["value"] for s in demo.g.run("config", "show", "--json").json()}
    assert shown["tick@1.greeting"] == "all" and shown["tick@2.greeting"] == "two"
    assert demo.g.run("config", "explain", "tick@2.greeting").out.startswith("tick.greeting\n")
    assert demo.g.run("config", "explain", "echo@2.greeting").code == 2
    wrong = demo.g.run("config", "check", env={"GARNER_TICK_9_GREETING": "nobody"})
    assert wrong.code == 2 and "GARNER_TICK_9_GREETING" in wrong.err
