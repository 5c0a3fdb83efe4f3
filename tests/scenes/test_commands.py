"""The face of the program: help, man pages, completion, version, status, doctor, old names."""
import json
import os
import pty
import re
import shutil
import socket
import sqlite3
import subprocess
import time

import pytest
import smalldb

from demo import PROGRAM, Demo
from garner import BUILD, ROOT, wait_for

GARNER = BUILD / "garner"


def names(program=GARNER):
    """Of all commands and roles, as the short help has them."""
    text = subprocess.run([program], capture_output=True, text=True).stderr
    return text.split("\n\n")[1].split()


def subcommands(name, program=GARNER):
    text = subprocess.run([program, "help", name], capture_output=True, text=True).stdout
    part = re.search(r"\nCommands\n((?:  .*\n)+)", text)
    return re.findall(r"^  (\S+)", part.group(1), re.M) if part else []


# help

def test_garner_alone_says_how_it_is_used_and_fails(garner):
    g = garner()
    done = subprocess.run([g.program], capture_output=True, text=True)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("usage: garner") and "garner --help" in done.stderr
    assert {"up", "status", "doctor", "config", "version"} <= set(names())


def test_help_is_the_same_by_option_and_by_command(garner):
    g = garner()
    assert subcommands("config")
    for name in names():
        by_option = g.run(name, "--help")
        assert by_option.code == 0 and by_option.err == ""
        assert by_option.out == g.run("help", name).out == g.run("-h", name).out
        assert by_option.out.startswith(f"usage: garner {name}")
        for sub in subcommands(name):
            by_option = g.run(name, sub, "--help")
            assert by_option.out == g.run("help", name, sub).out
            assert by_option.out.startswith(f"usage: garner {name} {sub}")
    assert g.run("--help").out == g.run("help").out


def test_help_fits_a_terminal_and_has_no_colours_in_a_pipe(garner):
    g = garner(program=PROGRAM)
    for args in [[]] + [[name] for name in names(BUILD / PROGRAM)]:
        text = g.run("help", *args).out
        assert max(map(len, text.splitlines())) <= 80, text
        assert "\x1b" not in text


@pytest.mark.parametrize("env, bold", [({"TERM": "xterm"}, True), ({"TERM": "dumb"}, False),
                                       ({"TERM": "xterm", "NO_COLOR": "1"}, False),
                                       ({"TERM": "xterm", "NO_COLOR": ""}, True)])
def test_headings_are_bold_on_a_terminal_unless_told_otherwise(garner, env, bold):
    g = garner()
    ours, theirs = pty.openpty()
    subprocess.run(g.command("--help"), env={**g.env, **env}, stdout=theirs, check=True)
    os.close(theirs)
    text = b""
    try:  # it comes in pieces, and ends in an error, as a terminal does
        while piece := os.read(ours, 65536):
            text += piece
    except OSError:
        pass
    os.close(ours)
    assert (b"\x1b[1mTools\x1b[0m" in text) == bold


def test_the_help_of_a_role_lists_its_settings(garner):
    g = garner(program=PROGRAM)
    text = g.run("echo", "--help").out
    assert "Settings of [echo]" in text
    assert re.search(r"^  greeting +The first word of each answer \(default hello\)$", text, re.M)


# what is wrong is said

@pytest.mark.parametrize("args, said", [
    (["statsu"], "unknown command 'statsu'; did you mean 'status'?"),
    (["xyzzy"], "unknown command 'xyzzy'"),
    (["config", "shwo"], "unknown command 'config shwo'; did you mean 'show'?"),
    (["status", "--jsno"], "unknown option '--jsno'; did you mean '--json'?"),
    (["status", "--js"], "unknown option '--js'; did you mean '--json'?"),
    (["status", "-z"], "unknown option '-z'"),
    (["status", "--json=1"], "option '--json' takes no value"),
    (["status", "-c"], "option '-c' needs a value"),
    (["status", "more"], "one argument too many: 'more'"),
    (["completion"], "an argument is missing: SHELL"),
    (["completion", "csh"], "not for 'csh'"),
    (["config"], "config: which command? "),
    (["help", "statsu"], "no command 'statsu'; did you mean 'status'?"),
    (["-D", "nonsense", "version"], "-D: "),
])
def test_a_wrong_word_is_named_with_what_was_meant(garner, args, said):
    done = garner().run(*args)
    assert done.code == 2 and done.out == "" and said in done.err


def test_a_wrong_option_shows_the_usage_and_where_to_read_more(garner):
    lines = garner().run("status", "--bogus").err.splitlines()
    assert len(lines) == 3
    assert lines[1].startswith("usage: garner status [-v]")
    assert lines[2] == "Try 'garner status --help'."


@pytest.mark.parametrize("words", [["search", "--json", "--urls", "x"],
                                   ["status", "--json", "--metrics"]])
def test_two_forms_at_once_are_refused(garner, words):
    done = garner().run(*words)
    assert (done.code, done.out) == (2, "")
    assert done.err == f"garner: {words[1]} and {words[2]} cannot be combined\n"


TALKERS = [["--help"], ["--version"], ["version"], ["completion", "bash"], ["config", "show"],
           ["status", "--json"], ["check"], ["url", "http://a/"], ["url", "--batch", "list"],
           ["robots", "test", "list", "http://a/"], ["soif", "check", "list"], ["extract", "list"],
           ["why", "http://a/"], ["fetch", "http://127.0.0.1:9/"]]


def test_output_that_cannot_be_written_is_an_error(garner):
    g = garner()
    (g.dir / "list").write_text("http://a/\n")
    wrong = []
    for words in TALKERS:
        for to, why in (">/dev/full", "No space left on device"), (">&-", "Bad file descriptor"):
            done = subprocess.run(["bash", "-c", f'exec "$@" {to}', "-", *g.command(*words)],
                                  env=g.env, cwd=g.dir, stdin=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True)
            said = done.stderr.splitlines()[-1:]
            if done.returncode != 7 or said[0] not in (
                    f"garner: standard output: {why}",
                    "garner: standard output: not all could be written"):
                wrong.append((words, to, done.returncode, done.stderr))
    assert not wrong, wrong


def test_a_reader_that_left_is_no_error(garner):
    g = garner()
    r, w = os.pipe()
    os.close(r)
    done = subprocess.run(g.command("--help"), env=g.env, stdout=w, stderr=subprocess.PIPE)
    os.close(w)
    assert (done.returncode, done.stderr) == (0, b"")


def test_closed_standard_descriptors_do_no_harm(garner):
    g = garner()
    for closed, code in ("0<&- 2>&-", 0), ("0<&- 1>&- 2>&-", 7):
        script = f"exec {closed}; '{g.program}' version -v"
        done = subprocess.run(["bash", "-c", script], env=g.env, stdout=subprocess.DEVNULL)
        assert done.returncode == code


def test_a_wrong_fault_specification_is_refused(garner):
    done = garner().run("version", env={"GARNER_FAULTS": "nonsense"})
    assert done.code == 2 and "nonsense" in done.err


# old names

def test_a_link_by_another_name_is_that_command(garner):
    g = garner(program=PROGRAM)
    link = g.dir / "garner-version"
    link.symlink_to(g.program)
    assert re.fullmatch(r"garner \S+\n", subprocess.check_output([link], text=True))
    role = g.dir / "echo"
    role.symlink_to(g.program)
    assert "usage: garner echo" in subprocess.check_output([role, "--help"], text=True)
    other = g.dir / "whatever"
    other.symlink_to(g.program)
    assert subprocess.run([other], capture_output=True).returncode == 2


def test_the_names_for_links_are_listed(garner):
    g = garner(program=PROGRAM)
    # not tick: it was no program of old
    assert g.run("help", "--links").out.split() == ["dumpregistry", "brkclient", "archie", "echo"]


# man pages

def lint(text):
    done = subprocess.run(["mandoc", "-Tlint", "-W", "style"], input=text, capture_output=True,
                          text=True)
    # the pages refer to each other before they are installed; "[up]" may end a heading
    fine = ("STYLE: referenced manual not found", "STYLE: trailing delimiter: Ss Section [")
    return [line for line in done.stdout.splitlines() if not any(f in line for f in fine)]


@pytest.mark.parametrize("program", ["garner", PROGRAM])
def test_all_man_pages_are_clean(garner, program):
    g = garner(program=program)
    assert g.run("help", "--write-man", g.dir / "man").code == 0
    pages = {p.name: p.read_text() for p in (g.dir / "man").glob("man?/*")}
    expected = {f"garner-{name}.1" for name in names(g.program)} | {"garner.1", "garner.conf.5"}
    assert set(pages) == expected
    for name, text in pages.items():
        assert lint(text) == [], name
        assert text.isascii()


def test_a_man_page_says_what_help_says(garner):
    g = garner()
    page = g.run("help", "--man", "status").out
    text = subprocess.run(["mandoc", "-Tascii"], input=page, capture_output=True, text=True).stdout
    text = re.sub(r".\x08", "", text)
    for word in ["garner status [-v] [--json] [--metrics]", "EXIT STATUS", "nothing runs", "EXAMPLES",
                 "-v, --verbose"]:
        assert word in text
    assert lint(g.run("help", "--man", "config", "show").out) == []


def test_man_pages_are_not_written_where_they_cannot_be(garner):
    g = garner()
    (g.dir / "file").write_text("")
    done = g.run("help", "--write-man", g.dir / "file")
    assert done.code == 7 and "file" in done.err


# completion

COMPLETE = r"""
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
_garner
printf '%s\n' "${COMPREPLY[@]}"
"""


def complete(g, *words):
    script = g.dir / "completion"
    script.write_text(g.run("completion", "bash").out)
    done = subprocess.run(["bash", "-c", COMPLETE, "-", script, *words], capture_output=True,
                          text=True, cwd=g.dir)
    assert done.stderr == ""
    return sorted(filter(None, done.stdout.split("\n")))


def test_bash_takes_the_completion(garner):
    g = garner(program=PROGRAM)
    done = subprocess.run(["bash", "-n"], input=g.run("completion", "bash").out, text=True,
                          capture_output=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_words_are_completed(garner):
    g = garner(program=PROGRAM)
    everything = sorted(names(g.program))
    assert complete(g, "garner", "") == everything
    assert complete(g, "garner", "sta") == ["status"]
    assert complete(g, "garner", "ec") == ["echo"]
    assert complete(g, "garner", "config", "") == sorted(subcommands("config"))
    assert complete(g, "garner", "status", "--j") == ["--json"]
    assert "--metrics" in complete(g, "garner", "status", "--json", "--")
    assert "--config" in complete(g, "garner", "--")
    assert "--metrics" not in complete(g, "garner", "--")
    assert complete(g, "garner", "completion", "") == ["bash"]
    assert complete(g, "garner", "help", "sta") == ["status"]
    assert complete(g, "garner", "zzz") == []


def test_settings_and_log_sections_are_completed(garner):
    g = garner(program=PROGRAM)
    assert complete(g, "garner", "-s", "echo.gr") == ["echo.greeting="]
    assert complete(g, "garner", "status", "--set", "echo.gr") == ["echo.greeting="]
    assert complete(g, "garner", "--set", "=", "echo.gr") == ["echo.greeting="]
    assert "data=" in complete(g, "garner", "-s", "")
    assert complete(g, "garner", "config", "explain", "echo.gr") == ["echo.greeting"]
    assert complete(g, "garner", "-D", "reg") == ["registry"]


def test_files_are_completed_and_values_are_stepped_over(garner):
    g = garner(program=PROGRAM)
    (g.dir / "a b.conf").write_text("")
    assert complete(g, "garner", "-c", "a") == ["a b.conf"]
    assert complete(g, "garner", "dump", "a") == ["a b.conf"]
    # a value that is called like a command is no command
    assert complete(g, "garner", "-c", "config", "sta") == ["status"]
    assert complete(g, "garner", "status", "--", "--j") == []
    assert complete(g, "garner-config", "sh") == ["show"]


# version

def test_the_version_is_one_line(garner):
    g = garner()
    assert re.fullmatch(r"garner \d+\.\d+\.\d+\n", g.run("--version").out)
    assert g.run("--version").out == g.run("version").out == g.run("status", "--version").out


def test_the_version_tells_what_the_program_is_made_of(garner):
    g = garner()
    text = g.run("version", "-v").out
    told = g.run("version", "--json").json()
    for library in ["libc", "libevent", "OpenSSL", "xxHash"]:
        assert re.search(rf"^library {library} +\d", text.replace("inside", "0"), re.M), text
        assert next(x for x in told["libraries"] if x["name"] == library)["found"]
    assert told["commands"] == len(names()) - told["roles"]
    assert any(f["name"] == "counters" for f in told["formats"])
    if told["faults"]:
        points = g.run("version", "--faults").out.split()
        assert "up.ready" in points and points == sorted(points)


def test_the_parse_worker_is_not_for_hands(garner):
    g = garner()
    worker = BUILD / "garner-parse"
    assert re.fullmatch(r"garner-parse \d+\.\d+\.\d+\n",
                        subprocess.check_output([worker, "--version"], text=True))
    assert "document worker" in subprocess.check_output([worker, "--help"], text=True)
    done = subprocess.run([worker], capture_output=True, text=True, cwd=g.dir)
    assert done.returncode == 2 and "started by garner" in done.stderr and done.stdout == ""


# status

def test_status_says_when_nothing_runs(garner):
    g = garner()
    done = g.run("status")
    assert done.code == 1 and done.out == f"Nothing runs in {g.data}. Start it: garner up\n"
    assert g.run("status", "--json").json() == {"data": str(g.data), "running": False, "roles": [],
                                               "points": []}
    assert not g.data.exists()


def test_status_shows_what_runs(garner):
    demo = Demo(garner, echo={"listen": "127.0.0.1:0"})
    up = demo.start().wait_ready()
    g = demo.g
    done = g.run("status")
    assert done.code == 0, done
    lines = done.out.splitlines()
    assert lines[0].split() == ["ROLE", "STATE", "PID", "SINCE", "RESTARTS", "CPU", "RSS"]
    assert [line.split()[:2] for line in lines[1:]] == [["up", "running"], ["echo", "ready"],
                                                       ["tick", "ready"]]
    assert int(lines[1].split()[2]) == up.pid
    roles = {r["name"]: r for r in g.run("status", "--json").json()["roles"]}
    assert roles["flaky"]["state"] == "stopped" and roles["flaky"]["pid"] is None
    assert roles["echo"]["pid"] == demo.pids("echo")[-1]
    assert roles["echo"]["rss_bytes"] > 100_000
    assert roles["echo"]["counters"] == [{"name": "answers", "labels": "", "value": 0}]
    assert "flaky" in g.run("status", "-v").out and "answers" in g.run("status", "-v").out
    metrics = g.run("status", "--metrics").out
    assert 'garner_echo_answers_total{instance="echo"} 0\n' in metrics
    assert metrics.endswith("# EOF\n")


def test_status_counts_restarts_and_knows_the_dead(garner):
    demo = Demo(garner)
    demo.start().wait_ready()
    demo.kill_role("echo")
    wait_for("echo to be ready again", lambda: state(demo.g, "echo")["state"] == "ready")
    assert state(demo.g, "echo")["restarts"] == 1
    demo.up.kill()
    wait_for("all to be gone", lambda: demo.g.run("status").code == 1)
    assert state(demo.g, "echo")["state"] == "ended"


def state(g, role):
    return next(r for r in g.run("status", "--json").json()["roles"] if r["name"] == role)


def test_status_shows_a_role_that_runs_alone(garner):
    g = garner(program=PROGRAM)
    echo = g.start("echo").wait_ready()
    done = g.run("status")
    assert done.code == 0
    assert done.out.splitlines()[1].split()[:3] == ["echo", "running", str(echo.pid)]
    assert echo.stop() == 0
    assert g.run("status").code == 1


def test_a_damaged_counter_file_hides_nothing_else(garner):
    g = garner(program=PROGRAM)
    g.start("echo").wait_ready()
    (g.data / "run/counters/bad").write_bytes(b"no counters at all")
    done = g.run("status")
    assert done.code == 3 and "echo" in done.out and "counters/bad" in done.err


# doctor

def findings(g, *args):
    done = g.run(*args, "doctor", "--json")
    told = json.loads(done.out)
    assert told["code"] == done.code
    return done.code, {c["name"]: c for c in told["checks"]}


def test_the_doctor_looks_and_changes_nothing(garner):
    g = garner()
    code, checks = findings(g)
    assert code in (0, 3)
    assert checks["configuration"]["level"] == checks["clock"]["level"] == "ok"
    assert checks["data directory"]["level"] == "note"
    assert checks["supervisor"]["mend"] == "garner up"
    assert not g.data.exists()
    text = g.run("doctor").out
    for name, check in checks.items():
        assert re.search(rf"^{check['level']} +{name} ", text, re.M)


def test_the_doctor_sees_the_supervisor(garner):
    demo = Demo(garner)
    up = demo.start().wait_ready()
    _, checks = findings(demo.g)
    assert checks["supervisor"] == {"name": "supervisor", "level": "ok", "mend": None,
                                    "reason": f"garner up runs as process {up.pid}"}
    assert checks["data directory"]["level"] == "ok"


def test_the_doctor_and_a_start_say_what_to_do_about_a_port_in_use(garner):
    with socket.create_server(("127.0.0.1", 0)) as s:
        where = f"127.0.0.1:{s.getsockname()[1]}"
        g = garner(config=f"[up]\nroles = web\n[web]\nlisten = {where}\n")
        ports = findings(g)[1]["ports"]
        assert ports["level"] == "warn" and f"{where} (web.listen)" in ports["reason"]
        done = g.run("up")
        assert done.code == 5 and "in use; stop what listens there, or set net.port" in done.err
    assert findings(g)[1]["ports"]["level"] == "ok"
    up = g.start("up").wait_ready()
    assert up.wait_line("^search at ") == f"search at http://{where}/"
    assert "ports" not in findings(g)[1]  # this garner has them
    assert up.stop() == 0


def test_the_doctor_names_a_wrong_configuration_and_goes_on(garner):
    g = garner(config="data = x\nnonsense = 1\n")
    code, checks = findings(g)
    assert code == 2
    assert checks["configuration"]["level"] == "fail"
    assert "nonsense" in checks["configuration"]["reason"]
    assert checks["configuration"]["mend"] == "garner config check"
    assert checks["kernel"]["level"] in ("ok", "note") and "space" not in checks


def test_the_doctor_finds_what_is_damaged_or_left_behind(garner):
    g = garner()
    counters = g.data / "run/counters"
    counters.mkdir(parents=True)
    (counters / "web").write_bytes(b"\0" * 100)
    code, checks = findings(g)
    assert code == 4 and checks["counters"]["level"] == "fail"
    assert "counters/web" in checks["counters"]["reason"]
    (counters / "web").unlink()
    words = g.data / "broker/words"
    words.mkdir(parents=True)
    (words / "manifest").write_bytes(b"\0" * 100)
    code, checks = findings(g)
    assert code == 4 and "manifest" in checks["index"]["reason"]
    assert f"rm -r {words}" in checks["index"]["mend"]
    shutil.rmtree(words)
    left_socket(g.data / "run/old.sock")
    code, checks = findings(g)
    assert checks["sockets"]["level"] == "note" and "old.sock" in checks["sockets"]["reason"]


BRAKE = " ".join(["time=time:0", *(f"{name}=uint:1000000" for name in (
    "gathered", "lost", "site", "dead_site", "fresh", "server", "section", "performance", "space", "active"))])


def test_the_doctor_says_what_the_brake_holds_back(garner):
    g = garner()
    crawl = g.data / "shepherd"
    crawl.mkdir(parents=True)
    assert "brake" not in findings(g)[1]
    row = [1790000000 * 10**6, 80000, 12345, 12000, 0, 0, 0, 0, 0, 0, 345]
    smalldb.write(g.data / "garner.db", "brake", 0, BRAKE, [row])
    code, checks = findings(g)
    assert code == 3 and checks["brake"]["level"] == "warn"
    assert "12345 of 80000 gathered pages" in checks["brake"]["reason"]
    assert "(site 12000, active 345)" in checks["brake"]["reason"]
    assert "let through" not in checks["brake"]["reason"]
    assert checks["brake"]["mend"].endswith(f"touch {crawl}/disable-brake")
    (crawl / "disable-brake").touch()
    assert "the next one is let through" in findings(g)[1]["brake"]["reason"]
    with sqlite3.connect(g.data / "garner.db") as db:
        db.execute("UPDATE brake SET lost=1")  # and its sum is as before
    db.close()
    code, checks = findings(g)
    assert code == 4 and "garner.db: table brake: a row is not what was written" in checks["brake"]["reason"]
    assert g.run("check").code == 4


def left_socket(path):
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(str(path))
        s.listen()


def test_the_doctor_warns_of_few_descriptors(garner):
    g = garner()
    line = f"ulimit -n 256; exec '{g.program}' -c '{g.conf}' doctor --json"
    done = subprocess.run(["bash", "-c", line], env=g.env, capture_output=True, text=True)
    check = next(c for c in json.loads(done.stdout)["checks"] if c["name"] == "descriptors")
    assert done.returncode in (3, 7) and check["level"] == "warn"
    assert check["mend"].startswith("ulimit -n 4096")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can write as somebody else")
def test_the_doctor_names_files_of_the_archive_that_another_user_wrote(garner):
    g = garner()
    assert "owners" not in {k for k, c in findings(g)[1].items() if c["reason"]}
    for name in ("newsites/1.site", "etc/archierc", "sites"):
        (g.data / "archie" / name).parent.mkdir(parents=True, exist_ok=True)
        (g.data / "archie" / name).write_text("")
    os.chown(g.data / "archie/etc", 64990, 64990)      # an operator's: it is only read
    assert findings(g)[1]["owners"]["level"] == "ok"
    os.chown(g.data / "archie/newsites/1.site", 64990, 64990)
    told = findings(g)[1]["owners"]
    assert told["level"] == "warn" and "archie/newsites/1.site to user 64990" in told["reason"], told
    assert told["mend"].startswith(f"chown -R root {g.data}/archie {g.data}/garner.db*")
    os.chown(g.data / "archie/newsites/1.site", 0, 0)
    (g.data / "garner.db-wal").write_text("")
    os.chown(g.data / "garner.db-wal", 64990, 64990)  # of a command that is interrupted
    assert "garner.db-wal to user 64990" in findings(g)[1]["owners"]["reason"]


def test_the_doctor_fails_where_the_data_directory_is_no_folder(garner):
    g = garner()
    g.data.write_text("")
    code, checks = findings(g)
    assert code == 7 and checks["data directory"]["level"] == "fail"


# the unit

@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_the_unit_is_taken_by_systemd(garner):
    unit = garner().dir / "garner.service"
    text = (BUILD / "etc/garner.service").read_text()
    unit.write_text(re.sub(r"ExecStart=\S+", f"ExecStart={GARNER}", text))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True,
                          text=True)
    assert [x for x in done.stderr.splitlines() if "garner.service" in x] == [], done.stderr


@pytest.mark.skipif(not shutil.which("systemd-sysusers") or os.geteuid() != 0, reason="systemd is not installed, or not for us")
def test_the_user_of_the_unit_is_made_by_systemd(garner):
    root = garner().dir / "root"
    (root / "etc").mkdir(parents=True)
    made = subprocess.run(["systemd-sysusers", f"--root={root}", str(ROOT / "etc/sysusers.conf")], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    user, *_, home, shell = (root / "etc/passwd").read_text().strip().split(":")
    unit = (BUILD / "etc/garner.service").read_text()
    assert f"\nUser={user}\n" in unit and home == "/var/lib/garner" and shell.endswith("nologin")
