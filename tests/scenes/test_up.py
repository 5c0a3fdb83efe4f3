"""garner up: the supervisor, with demonstration roles."""
import fcntl
import os
import pty
import re
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest

from demo import Demo, ask, lives
from garner import left_running, wait_for

NO_END = {"stop_timeout": "1h"}


def test_roles_start_in_the_order_of_the_list_each_when_the_former_is_ready(garner):
    demo = Demo(garner, "flaky tick echo", flaky={"ready_delay": "300ms"},
                tick={"ready_delay": "100ms"})
    up = demo.start().wait_ready()
    assert demo.trace() == ["flaky start", "flaky ready", "tick start", "tick ready", "echo start",
                            "echo ready"]
    assert up.stop() == 0


def test_one_line_says_that_it_is_up_and_where_to_look(garner):
    demo = Demo(garner, "echo", echo={"listen": "127.0.0.1:0"})
    up = demo.start().wait_ready()
    line = up.wait_line("garner is up")
    said = re.fullmatch(r"garner is up: 1 role ready, echo on 127\.0\.0\.1:[1-9]\d*, data in "
                        rf"{demo.g.data}\. Look: (.*)", line)
    look = subprocess.run(said.group(1), shell=True, env={}, capture_output=True, text=True)
    assert look.returncode == 0 and "echo  ready" in look.stdout
    assert " -s net.port=0 " in said.group(1)
    assert up.lines()[-1] == line  # the last one, where it is seen
    assert up.stop() == 0
    assert len(up.lines("garner is up")) == 1


def test_without_roles_it_runs_and_says_so(garner):
    g = garner(program="tests/garner-bare")
    up = g.start("up").wait_ready()
    assert "no roles are built into this program" in up.wait_line("garner is up")
    assert up.stop() == 0


def test_a_healthy_start_and_end_logs_no_trouble(garner):
    demo = Demo(garner, "echo tick flaky", echo={"listen": "127.0.0.1:0"})
    up = demo.start().wait_ready()
    assert up.stop() == 0
    assert up.lines(r"Z (error|warn|outside) ") == []


def test_a_role_that_fails_comes_back_after_growing_delays_up_to_the_longest(garner):
    demo = Demo(garner, "flaky tick", flaky={"fail": "start"})
    up = demo.start().wait_ready()
    up.wait_line("role failed.*role=flaky", times=7)
    told = [re.search(r"reason=\"(.*?)\".*delay=(\S+)", line).groups()
            for line in up.lines("role failed")][:7]
    assert told == [("exit code 6", d) for d in
                    ("10ms", "20ms", "40ms", "80ms", "80ms", "80ms", "80ms")]
    assert "1 of 2 roles ready" in up.wait_line("garner is up")
    assert up.stop() == 0


def test_the_state_of_each_role_is_seen_from_outside(garner):
    demo = Demo(garner, "echo tick flaky", up={"restart_max": "1h", "restart_min": "1h"},
                flaky={"fail": "start"}, tick={"fail": "served"})
    demo.start().wait_ready()
    states = {role: demo.counter("role_state", role) for role in ("echo", "tick", "flaky")}
    assert states == {"echo": 2, "tick": 2, "flaky": 3}
    assert demo.counter("role_pid", "echo") == demo.pids("echo")[-1]
    assert demo.counter("role_pid", "flaky") == 0
    assert abs(demo.counter("role_since_seconds", "flaky") - time.time()) < 60
    assert [demo.counter(c) for c in ("reloads", "failed_reloads")] == [0, 0]
    demo.configure("echo", up={"restart_max": "10ms"})
    demo.up.send(signal.SIGHUP)
    demo.up.wait_line("reloaded")
    wait_for("the end of tick", lambda: demo.counter("role_state", "tick") == 0)
    text = demo.g.conf.read_text()
    demo.g.configure("nonsense")
    demo.up.send(signal.SIGHUP)
    demo.up.wait_line("reload refused")
    demo.g.configure(text)
    for _ in range(3):
        demo.kill_role("echo")
    assert demo.counter("role_restarts", "echo") == 3
    assert [demo.counter(c) for c in ("reloads", "failed_reloads")] == [1, 1]
    assert demo.up.stop() == 0
    assert demo.counter("role_state", "echo") == demo.counter("role_pid", "echo") == 0


def test_a_role_that_was_well_for_a_while_starts_again_at_the_shortest_delay(garner):
    demo = Demo(garner, "echo", up={"steady": "1ms"})
    up = demo.start().wait_ready()
    for i in range(4):
        up.wait_line("role ready.*role=echo", times=i + 1)  # well begins when the supervisor sees it
        time.sleep(0.02)
        demo.kill_role("echo")
    failures = up.lines("role failed")
    assert len(failures) == 4
    assert all("reason=\"signal KILL\"" in f and "delay=10ms" in f for f in failures)
    assert up.stop() == 0


def test_a_role_that_ends_well_but_unasked_is_started_again(garner):
    demo = Demo(garner, "flaky", flaky={"fail": "ready"})
    up = demo.start().wait_ready()
    demo.wait_pids("flaky", 3)
    up.wait_line("role failed.*exit code 0", times=2)
    assert up.stop() == 0
    assert len(up.lines("role ready")) >= 2  # its last words are heard before it is buried
    assert up.lines("stranger") == []


def test_a_role_that_does_not_get_ready_in_time_holds_nobody_up(garner):
    demo = Demo(garner, "flaky tick", up={"ready_timeout": "100ms"}, flaky={"ready_delay": "1h"})
    up = demo.start()
    up.wait_line("did not get ready in time, killed.*role=flaky")
    up.wait_ready()
    assert demo.pids("tick")
    demo.wait_pids("flaky", 3, step="start")
    assert demo.pids("flaky") == []
    assert up.stop() == 0


def test_nobody_is_refused_while_a_role_is_killed_twenty_times(garner):
    demo = Demo(garner, "echo", up={"restart_max": "10ms"}, echo={"listen": "127.0.0.1:0"})
    up = demo.start().wait_ready()
    address = demo.address()
    done, answers, refused = threading.Event(), [], []

    def client():
        while not done.is_set():
            try:
                answers.append(ask(address))
            except OSError as e:
                refused.append(e)

    thread = threading.Thread(target=client)
    thread.start()
    try:
        for _ in range(20):
            demo.kill_role("echo")
    finally:
        done.set()
        thread.join()
    pids = {pid for _, pid, _ in answers if pid}
    assert refused == []
    assert len(set(demo.pids("echo"))) == 21
    assert len(pids) > 1 and pids <= set(demo.pids("echo"))
    assert ask(address, b"still there\n")[2] == b"still there\n"
    assert up.stop() == 0


def test_a_crash_loop_leaves_the_others_alone(garner):
    demo = Demo(garner, "flaky echo", flaky={"fail": "ready"}, echo={"listen": "127.0.0.1:0"})
    up = demo.start().wait_ready()
    address = demo.address()
    first = ask(address)[1]
    seen = len(demo.pids("flaky"))
    demo.wait_pids("flaky", seen + 4)
    assert ask(address)[1] == first
    assert demo.pids("echo") == [first]
    assert up.stop() == 0


def test_a_connection_that_kills_its_role_is_followed_by_one_that_is_answered(garner):
    demo = Demo(garner, "echo", echo={"listen": "127.0.0.1:0", "fail": "served"})
    up = demo.start().wait_ready()
    pids = [ask(demo.address())[1] for _ in range(3)]
    assert len(set(pids)) == 3
    up.wait_line("role failed.*signal ABRT")
    assert up.stop() == 0


def test_term_lets_the_roles_finish_in_reverse_order(garner):
    demo = Demo(garner, "tick flaky echo")
    up = demo.start().wait_ready()
    assert up.stop() == 0
    assert demo.trace(" end ") == ["echo end", "flaky end", "tick end"]


def test_int_stops_like_term(garner):
    demo = Demo(garner)
    up = demo.start().wait_ready()
    assert up.stop(number=signal.SIGINT) == 0
    assert demo.trace(" end ") == ["tick end", "echo end"]


def test_term_during_the_start_stops_what_has_begun_and_starts_no_more(garner):
    demo = Demo(garner, "echo flaky tick", flaky={"ready_delay": "1h"})
    up = demo.start()
    demo.wait_pids("flaky", 1, step="start")
    assert up.stop() == 0
    assert demo.trace() == ["echo start", "echo ready", "flaky start", "flaky end", "echo end"]
    assert up.lines("garner is up") == []


def test_term_during_a_crash_loop_ends_it(garner):
    demo = Demo(garner, "flaky echo", up={"stop_timeout": "300ms"}, flaky={"fail": "start"},
                echo={"ignore_term": "yes"})
    up = demo.start().wait_ready()
    up.wait_line("role failed", times=3)
    assert up.stop() == 3  # there was time for flaky to come back while echo was waited for
    assert "role started" not in up.text.partition("stopping signal=TERM")[2]


def test_a_role_that_ignores_term_is_killed_and_the_exit_code_says_so(garner):
    demo = Demo(garner, "echo tick", up={"stop_timeout": "100ms"}, tick={"ignore_term": "yes"})
    up = demo.start().wait_ready()
    assert up.stop() == 3
    assert demo.trace(" end ") == ["echo end"]
    up_lines = up.lines("did not stop in time, killed")
    assert len(up_lines) == 1 and "role=tick" in up_lines[0]


def test_a_second_term_kills_everybody_at_once(garner):
    stubborn = {"ignore_term": "yes"}
    demo = Demo(garner, "echo tick", up=NO_END, echo=stubborn, tick=stubborn)
    up = demo.start().wait_ready()
    up.send(signal.SIGTERM)
    up.wait_line("stopping")
    time.sleep(0.6)  # what comes earlier counts as the same request
    assert up.stop() == 3
    assert demo.trace(" end ") == []


def test_it_stops_when_its_terminal_is_closed(garner):
    demo = Demo(garner, "echo tick")
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(demo.g.program, demo.g.command("up"), demo.g.env)
    said = b""
    while b"garner is up" not in said:
        said += os.read(terminal, 4096)
    os.kill(pid, signal.SIGHUP)  # as long as the terminal is there it is a reload
    while b"reloaded" not in said:
        said += os.read(terminal, 4096)
    os.close(terminal)
    assert os.waitpid(pid, 0) == (pid, 0)
    assert demo.trace(" end ") == ["tick end", "echo end"]


def test_a_term_that_comes_twice_at_once_is_one(garner):
    demo = Demo(garner, "echo tick")
    up = demo.start().wait_ready()
    os.kill(demo.pids("tick")[-1], signal.SIGSTOP)  # the drain lasts until it goes on
    up.send(signal.SIGTERM)
    up.wait_line("stopping")
    up.send(signal.SIGTERM)
    up.send(signal.SIGINT)
    os.kill(demo.pids("tick")[-1], signal.SIGCONT)
    assert up.wait() == 0
    assert demo.trace(" end ") == ["tick end", "echo end"]


def test_hup_restarts_only_the_role_whose_setting_changed(garner):
    listen = {"listen": "127.0.0.1:0"}
    demo = Demo(garner, "echo tick", echo=listen)
    up = demo.start().wait_ready()
    address = demo.address()
    assert ask(address)[0] == "hello"
    demo.configure("echo tick", echo={**listen, "greeting": "good evening"})
    up.send(signal.SIGHUP)
    demo.wait_pids("echo", 2)
    greeting, pid, _ = ask(address)  # the same socket: it was handed on
    assert (greeting, pid) == ("good evening", demo.pids("echo")[-1])
    assert len(demo.pids("tick")) == 1
    assert up.stop() == 0


def test_hup_without_a_change_restarts_nobody(garner):
    demo = Demo(garner)
    up = demo.start().wait_ready()
    up.send(signal.SIGHUP)
    up.wait_line("reloaded")
    up.wait_note("RELOADING=1")
    assert up.stop() == 0
    assert len(demo.pids("echo")) == len(demo.pids("tick")) == 1


def test_debug_lines_go_on_and_off_with_a_reload(garner):
    demo = Demo(garner)
    config = demo.g.conf.read_text()
    up = demo.g.start("up").wait_ready()
    assert "debug up" not in up.text
    demo.g.configure("log = up:1\n" + config)
    up.send(signal.SIGHUP)
    up.wait_line("debug up")  # what the roles say when they are ready
    demo.wait_pids("tick", 2)
    demo.g.configure(config)
    up.send(signal.SIGHUP)
    demo.wait_pids("tick", 3)
    assert up.stop() == 0
    assert "debug" not in up.text[up.text.rindex("reloaded"):]


def test_debug_lines_asked_for_with_d_reach_the_roles(garner):
    demo = Demo(garner)
    up = demo.g.start("up", "-D3,5", "-Dup").wait_ready()
    assert "log = 3:5 up" in (demo.g.data / "run" / "up.conf").read_text()
    assert up.stop() == 0


def test_hup_with_a_broken_file_changes_nothing_and_names_the_line(garner):
    demo = Demo(garner, "echo tick", echo={"listen": "127.0.0.1:0", "greeting": "before"})
    up = demo.start().wait_ready()
    demo.g.configure("[up]\nroles = echo tick\n[echo]\ngreeting = after\nready_delay = soon\n")
    up.send(signal.SIGHUP)
    line = up.wait_line("reload refused")
    assert "garner.conf:5" in line and "ready_delay" in line
    assert ask(demo.address())[0] == "before"
    demo.kill_role("echo")  # it comes back with what was in force, not with what the file says
    assert ask(demo.address())[0] == "before"
    assert len(demo.pids("tick")) == 1
    assert up.stop() == 0


def test_hup_with_an_address_that_is_taken_changes_nothing(garner):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        demo = Demo(garner, "echo tick", echo={"listen": "127.0.0.1:0"})
        up = demo.start().wait_ready()
        port = taken.getsockname()[1]
        demo.configure("echo tick", echo={"listen": f"127.0.0.1:{port}"}, tick={"greeting": "new"})
        up.send(signal.SIGHUP)
        assert f":{port}" in up.wait_line("reload refused")
        assert ask(demo.address())[1] == demo.pids("echo")[0]
        assert up.stop() == 0
    assert len(demo.pids("tick")) == 1


def test_hup_stops_what_is_no_longer_listed_and_starts_what_is_new(garner):
    demo = Demo(garner, "echo tick")
    up = demo.start().wait_ready()
    demo.configure("flaky tick")
    up.send(signal.SIGHUP)
    demo.wait_pids("flaky", 1)
    assert demo.trace()[4:] == ["echo end", "flaky start", "flaky ready"]
    demo.configure("echo flaky tick")
    up.send(signal.SIGHUP)
    demo.wait_pids("echo", 2)
    assert len(demo.pids("tick")) == 1
    assert up.stop() == 0
    assert demo.trace(" end ")[1:] == ["tick end", "flaky end", "echo end"]


def test_hup_moves_a_role_to_another_address(garner):
    demo = Demo(garner, "echo")
    old, new = demo.g.dir / "old.sock", demo.g.dir / "new.sock"
    demo.configure("echo", echo={"listen": f"unix:{old}"})
    up = demo.start().wait_ready()
    assert ask(str(old))[1] == demo.pids("echo")[0]
    demo.configure("echo", echo={"listen": f"unix:{new}"})
    up.send(signal.SIGHUP)
    demo.wait_pids("echo", 2)
    assert ask(str(new))[1] == demo.pids("echo")[1]
    try:
        ask(str(old))
    except OSError:
        pass
    else:
        raise AssertionError("somebody still answers at the old address")
    assert up.stop() == 0


def test_hup_ends_a_crash_loop_by_a_better_setting(garner):
    demo = Demo(garner, "flaky tick", flaky={"fail": "start"}, up={"restart_max": "1h",
                                                                   "restart_min": "1h"})
    up = demo.start().wait_ready()
    up.wait_line("role failed.*delay=1h")
    demo.configure("flaky tick")
    up.send(signal.SIGHUP)
    demo.wait_pids("flaky", 1)
    assert len(demo.pids("tick")) == 1
    assert up.stop() == 0


def test_the_data_directory_cannot_change_while_it_runs(garner):
    demo = Demo(garner, "echo")
    text = demo.g.conf.read_text()
    demo.g.configure(f"data = {demo.g.data}\n{text}")
    del demo.g.env["GARNER_DATA"]
    up = demo.start().wait_ready()
    demo.g.configure(f"data = {demo.g.dir}/elsewhere\n{text}")
    up.send(signal.SIGHUP)
    assert "elsewhere" in up.wait_line("reload refused")
    assert up.stop() == 0


def test_a_killed_supervisor_takes_everything_with_it_and_the_next_starts_at_once(garner):
    demo = Demo(garner, "echo tick", echo={"listen": "127.0.0.1:0", "helper": "yes"},
                tick={"ignore_term": "yes"})
    up = demo.start().wait_ready()
    pids = demo.pids("echo") + demo.pids("tick") + demo.pids("echo", step="helper")
    assert len(pids) == 3 and all(map(lives, pids))
    up.kill()
    wait_for("the end of all processes", lambda: not any(map(lives, pids)))
    demo.configure("echo tick")
    assert demo.start().wait_ready().stop() == 0


def soon(*calls):
    """Does something while the supervisor that was just started waits for it."""
    timer = threading.Timer(0.3, lambda: [call() for call in calls])
    timer.start()
    return timer


def test_an_address_that_a_dying_role_still_holds_is_waited_for(garner):
    holder = socket.socket()
    holder.bind(("127.0.0.1", 0))
    holder.listen()
    demo = Demo(garner, "echo", echo={"listen": f"127.0.0.1:{holder.getsockname()[1]}"})
    up = demo.start()
    soon(holder.close).join()
    assert up.wait_ready().stop() == 0


def test_a_role_that_is_about_to_die_is_waited_for(garner):
    demo = Demo(garner, "echo tick")
    role = demo.g.start("tick").wait_ready()
    up = demo.start()
    soon(role.kill).join()
    up.wait_ready()
    assert up.stop() == 0
    assert up.lines(r"Z (error|warn) ") == []


def test_a_lock_that_outlives_its_supervisor_for_a_moment_is_waited_for(garner):
    demo = Demo(garner, "echo")
    first = demo.start().wait_ready()
    first.kill()
    wait_for("the end of all processes", lambda: not left_running(demo.g.dir))
    # By a process that has ended, as a child has it between fork and exec.
    held = os.open(demo.g.data / "run/locks/up", os.O_RDONLY)
    taker = os.fork()
    if taker == 0:
        fcntl.flock(held, fcntl.LOCK_EX)
        os._exit(0)
    os.waitpid(taker, 0)
    up = demo.start()
    soon(lambda: os.close(held)).join()
    assert up.wait_ready().stop() == 0


def test_an_address_that_stays_taken_is_an_error_that_names_it(garner):
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        address = f"127.0.0.1:{holder.getsockname()[1]}"
        result = Demo(garner, "tick echo", echo={"listen": address}).g.run("up")
    assert result.code == 5
    assert "echo.listen" in result.err and address in result.err


def test_inherited_descriptors_and_signals_do_no_harm(garner):
    demo = Demo(garner, "echo tick", echo={"listen": "127.0.0.1:0"})
    wrapper = demo.g.dir / "wrapper"
    wrapper.write_text(f'#!/bin/sh\nexec 9<{demo.g.dir} {demo.g.program} "$@"\n')
    wrapper.chmod(0o755)
    demo.g.program = wrapper
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # as some parents leave it behind
    try:
        up = demo.start()
    finally:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    up.wait_ready()
    demo.kill_role("echo")
    assert os.readlink(f"/proc/{up.pid}/fd/9") == str(demo.g.dir)
    held = [os.readlink(fd) for pid in (demo.pids("echo")[-1], demo.pids("tick")[-1])
            for fd in Path(f"/proc/{pid}/fd").iterdir()]
    assert str(demo.g.dir) not in held
    assert sum(path == "/dev/null" for path in held) == 2  # standard input of both
    assert up.stop() == 0


def test_a_second_supervisor_on_the_same_data_is_told_who_holds_it(garner):
    demo = Demo(garner)
    up = demo.start().wait_ready()
    second = demo.g.run("up")
    assert second.code == 5
    assert f"pid {up.pid} " in second.err and second.out == ""
    assert up.stop() == 0


def test_what_roles_and_supervisor_do_is_told_upwards(garner):
    demo = Demo(garner, "echo tick")
    up = demo.start().wait_ready()
    assert "STATUS=2 of 2 roles ready" in up.notes
    demo.configure("echo tick flaky", flaky={"fail": "start"})
    up.send(signal.SIGHUP)
    up.wait_note("RELOADING=1")
    up.wait_note("STATUS=2 of 3 roles ready")
    assert up.notes.count("READY=1") == 2
    demo.configure("echo tick", up=NO_END, tick={"ignore_term": "yes"})
    up.send(signal.SIGHUP)
    demo.wait_pids("tick", 2)
    up.send(signal.SIGTERM)
    up.wait_note("STOPPING=1")  # it waits for tick, so it is still there to be heard
    time.sleep(0.6)
    assert up.stop() == 3


def test_a_stranger_cannot_say_that_a_role_is_ready(garner):
    demo = Demo(garner, "echo tick", echo={"ready_delay": "1h"})
    up = demo.start()
    pid = demo.wait_pids("echo", 1, step="start")[0]
    env = dict(v.split(b"=", 1) for v in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
               if b"=" in v)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.sendto(b"READY=1", env[b"NOTIFY_SOCKET"].replace(b"@", b"\0", 1))
    assert f"pid={os.getpid()}" in up.wait_line("notice from a stranger")
    assert up.lines("role ready") == [] and demo.pids("tick", step="start") == []
    assert up.stop() == 0


def test_settings_of_environment_and_command_line_reach_the_roles(garner):
    demo = Demo(garner, "echo tick")
    listen = {"listen": "127.0.0.1:0"}
    demo.configure("echo tick", echo=listen, tick=listen)
    up = demo.up = demo.g.start("up", "-s", "tick.greeting=from the line",
                                env={"GARNER_ECHO_GREETING": "from around"})
    up.wait_ready()
    assert ask(demo.address("echo"))[0] == "from around"
    assert ask(demo.address("tick"))[0] == "from the line"
    assert up.stop() == 0


def test_the_configuration_that_roles_read_is_for_the_owner_alone(garner):
    demo = Demo(garner, "echo")
    up = demo.start().wait_ready()
    assert (demo.g.data / "run/up.conf").stat().st_mode & 0o777 == 0o600
    assert up.stop() == 0


@pytest.mark.parametrize("command", [["up"], ["config", "check"]])
def test_a_list_with_a_role_that_is_not_there_is_refused_by_file_and_line(garner, command):
    demo = Demo(garner, "echo nobody")
    result = demo.g.run(*command)
    assert result.code == 2
    assert "garner.conf:2: up.roles: there is no role nobody" in result.err
    demo.configure("echo tick echo")
    result = demo.g.run(*command)
    assert result.code == 2 and "named twice: echo" in result.err
    demo.configure("echo", up={"restart_min": "2s", "restart_max": "1s"})
    result = demo.g.run(*command)
    assert result.code == 2 and "restart_min: longer than up.restart_max" in result.err
    assert demo.trace() == []


def test_a_role_runs_alone_in_the_foreground(garner):
    demo = Demo(garner, echo={"listen": "127.0.0.1:0"})
    role = demo.g.start("echo").wait_ready()
    port = int(re.search(r"address=127\.0\.0\.1:(\d+)", role.wait_line("listening")).group(1))
    assert ask(("127.0.0.1", port), b"alone\n") == ("hello", role.pid, b"alone\n")
    second = demo.g.run("echo")
    assert second.code == 5 and f"pid {role.pid} " in second.err
    role.send(signal.SIGHUP)  # nothing to it: only the supervisor reloads
    assert ask(("127.0.0.1", port))[1] == role.pid
    assert role.stop() == 0


def test_an_idle_supervisor_sleeps(garner):
    demo = Demo(garner, "echo tick", echo={"listen": "127.0.0.1:0"})
    up = demo.start().wait_ready()

    def switches():
        status = Path(f"/proc/{up.pid}/status").read_text()
        return int(re.search(r"\nvoluntary_ctxt_switches:\s+(\d+)", status).group(1))

    def sleeps():
        seen = switches()
        time.sleep(0.3)
        return switches() == seen

    wait_for("it to go to sleep", sleeps)  # READY=1 reached us a moment before
    before = switches()
    time.sleep(2)
    assert switches() == before
    assert up.stop() == 0
