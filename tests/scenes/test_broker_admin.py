"""The administrator of a broker, over its port, as brkclient and BrokerRestart spoke to it."""
import os
import pty
import re
import select
import subprocess

from brokers import ask, broker, documents, serve, soif, urls
from garner import clean_environment, free_port, wait_for

SECRET = "hunter2-Xyzzy"


def line_of(g, password=SECRET):
    return g.run("password", input=password + "\n").out.strip()


def administered(garner, *objects, more=""):
    line = garner().run("password", input=SECRET + "\n").out.strip()
    return serve(garner, *objects, more=f"password = {line}\n{more}")


def admin(g, command, password=SECRET):
    return ask(g, f"#ADMIN #Password {password} {command}\n").decode()


def found(g, query="#allb"):
    return len(urls(ask(g, f"#USER #opaque #END {query}\n")))


def events(g):
    return (g.data / "broker/LOG").read_text()


def test_a_password_is_made_from_standard_input_alone(garner):
    g = garner()
    line = line_of(g)
    assert re.fullmatch(r"\$argon2id\$v=19\$m=32768,t=2,p=1\$[\w+/]+\$[\w+/]+", line)
    assert line_of(g) != line
    for bad in ("", "two words", "x" * 2000):
        assert g.run("password", input=bad + "\n").code == 2
    assert g.run("password", SECRET).code == 2
    g.conf.write_text(f"[broker]\npassword = {line}\n")
    assert g.run("config", "check").code == 0
    g.conf.write_text(f"[broker]\npassword = {SECRET}\n")
    refused = g.run("config", "check")
    assert refused.code == 2 and "broker.password: this is not a line" in refused.err
    assert SECRET not in refused.err


def test_without_a_password_nobody_is_the_administrator(garner):
    g = serve(garner, soif("http://a.test/1", "apple"))
    answer = admin(g, "#shutdown")
    assert answer.startswith("111 - ERROR: ") and "garner password" in answer
    assert found(g) == 1


def test_a_wrong_password_is_slowed_and_in_no_log(garner):
    g = administered(garner, soif("http://a.test/1", "apple"))
    answer = admin(g, "#shutdown", password="Guess-4711")
    assert answer.startswith("111 - ERROR: the password is wrong")
    # the answer waited as long as nothing of this address is looked at
    assert admin(g, "#flush-log").startswith("101 - ")
    assert admin(g, f"#set password {SECRET}").startswith("111 - ERROR: ")
    assert ask(g, f"#ADMIN #password {SECRET}\n").startswith(b"111 - ERROR: ")
    assert g.role.stop() == 0
    assert 'Admin 127.0.0.1 command="#flush-log"' in events(g)
    for kept in (events(g), g.role.text):
        assert "Guess-4711" not in kept and SECRET not in kept


def test_objects_are_added_and_deleted(garner):
    g = administered(garner, soif("http://a.test/1", "apple"), soif("http://a.test/2", "pear"))
    (g.data / "broker/add/more.soif").write_text(soif("http://b.test/1", "an apple more"))
    (g.data / "broker/other.soif").write_text(soif("http://b.test/2", "an apple outside"))
    assert admin(g, "#add-object more.soif") == "101 - 1 object was taken, 0 left out\n"
    assert found(g, "apple") == 2
    assert admin(g, "#add-object ../other.soif").startswith("111 - ERROR: ")
    oid = re.search(rb"125 - (\S+)", ask(g, "#USER #opaque #END pear\n")).group(1).decode()
    assert admin(g, f"#rem-object-path {oid}").startswith("101 - object ")
    assert found(g, "pear") == 0
    assert admin(g, "#rem-object-query apple").startswith("101 - 2 objects were deleted")
    assert found(g) == 0
    assert admin(g, "#full-index").startswith("101 - ")
    assert admin(g, "#clean-broker").startswith("101 - ")
    assert "101 - objects: 0 - " in admin(g, "#do-stats")
    assert re.search(r'101 - queries\{kind="admin"\}: [1-9]', admin(g, "#do-stats"))
    assert admin(g, "#rotate-log").startswith("101 - ")
    assert list((g.data / "broker").glob("LOG.[0-9][0-9][0-9][0-9][0-9][0-9]"))
    assert g.role.stop() == 0


def test_a_restart_reads_the_configuration_in_the_same_process(garner):
    g = administered(garner, soif("http://a.test/1", "apple"))
    text = g.conf.read_text()
    g.conf.write_text(text + "[broker]\nmax_lifetime = soon\n")
    assert admin(g, "#restart").startswith("111 - ERROR: ")
    assert found(g) == 1
    g.conf.write_text(text.replace("http://home.test/", "http://other.test/"))
    assert admin(g, "#restart").startswith("101 - the broker starts again")
    homes = []
    while not homes or homes[-1] == b"home":
        answer = ask(g, "#USER #opaque #END apple\n")
        if answer == b"111 - ERROR: the broker is stopping\n":  # it was let in, and not heard any more
            continue
        assert len(urls(answer)) == 1
        homes.append(re.search(rb"126 - http://(home|other)\.test/\n$", answer).group(1))
    assert g.role.alive and len(g.role.lines("listening setting=listen")) == 1
    (g.data / "in/2.soif").write_text(soif("http://a.test/2", "another apple"))
    wait_for("it collects again", lambda: found(g, "apple") == 2, every=0.1)
    assert g.role.stop() == 0


def test_a_shutdown_ends_the_role_in_order(garner):
    g = administered(garner, soif("http://a.test/1", "apple"))
    assert admin(g, "#SHUTDOWN") == "101 - the broker ends\n"
    assert g.role.wait() == 0
    assert g.run("check").code == 0


def test_garner_up_starts_it_again_and_says_so(garner):
    line = line_of(garner())
    g = broker(garner, soif("http://a.test/1", "apple"), more=f"password = {line}\nlisten = 127.0.0.1:{free_port()}\n")
    g.port = int(re.search(r"^listen = 127\.0\.0\.1:(\d+)", g.conf.read_text(), re.M).group(1))
    up = g.start("-s", "up.roles=broker", "up").wait_ready()
    wait_for("it is indexed", lambda: documents(g) == 1, every=0.1)
    assert "SIGHUP" in admin(g, "#restart")
    up.wait_line("starts again")
    assert "garner up starts it again" in admin(g, "#shutdown")
    up.wait_line("role ready", times=2)
    assert found(g) == 1
    assert up.stop() == 0


def typed(g, *lines):
    """What `garner password` does on a terminal where this is typed: code, output, what was to be seen."""
    above, below = pty.openpty()
    with subprocess.Popen(g.command("password"), env=clean_environment(), cwd=g.dir, stdin=below,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as asking:
        for line in lines:
            asked = b""
            while not asked.endswith(b": "):
                some = asking.stderr.read(1)
                assert some, asked
                asked += some
            os.write(above, line.encode() + b"\n")
        out, said = asking.communicate(timeout=30)
    os.close(below)
    shown = b""
    while select.select([above], [], [], 0)[0]:
        try:
            shown += os.read(above, 1000)
        except OSError:  # all is read
            break
    os.close(above)
    return asking.returncode, out.decode(), shown + said


def test_a_terminal_shows_no_password_and_asks_twice(garner):
    g = garner()
    code, out, seen = typed(g, SECRET, SECRET)
    assert code == 0 and out.startswith("$argon2id$") and SECRET.encode() not in seen
    code, out, seen = typed(g, SECRET, "other")
    assert code == 2 and out == "" and b"not the same" in seen and SECRET.encode() not in seen
