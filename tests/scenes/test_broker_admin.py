"""The administrator of a broker, over its port, as brkclient and BrokerRestart spoke to it."""
import os
import pty
import re
import select
import subprocess

from garner import clean_environment, wait_for
from gatherd import soif
from port import Broker, urls_of, with_identity

SECRET = "hunter2-Xyzzy"


def line_of(g, password=SECRET):
    return g.run("password", input=password + "\n").out.strip()


def administered(garner, objects, **more):
    return Broker(garner, objects, password=line_of(garner()), more="home = http://home.test/\n", **more)


def admin(broker, command, password=SECRET):
    return broker.told(f"#ADMIN #Password {password} {command}").decode()


def found(broker, query="#allb"):
    return len(broker.urls(f"#USER #opaque #END {query}"))


def events(broker):
    return (broker.g.data / "broker/LOG").read_text()


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
    broker = Broker(garner, {"http://a.test/1": "apple"})
    answer = admin(broker, "#shutdown")
    assert answer.startswith("111 - ERROR: ") and "garner password" in answer
    assert found(broker) == 1


def test_a_wrong_password_is_slowed_and_in_no_log(garner):
    broker = administered(garner, {"http://a.test/1": "apple"})
    answer = admin(broker, "#shutdown", password="Guess-4711")
    assert answer.startswith("111 - ERROR: the password is wrong")
    # the answer waited as long as nothing of this address is looked at
    assert admin(broker, "#flush-log").startswith("101 - ")
    assert admin(broker, f"#set password {SECRET}").startswith("111 - ERROR: ")
    assert broker.told(f"#ADMIN #password {SECRET}").startswith(b"111 - ERROR: ")
    assert broker.process.stop() == 0
    assert 'Admin 127.0.0.1 command="#flush-log"' in events(broker)
    for kept in (events(broker), broker.process.text):
        assert "Guess-4711" not in kept and SECRET not in kept


def test_objects_are_added_and_deleted(garner):
    broker = administered(garner, {"http://a.test/1": "apple", "http://a.test/2": "pear"})
    folder = broker.g.data / "broker"
    (folder / "add/more.soif").write_bytes(soif("http://b.test/1", with_identity("an apple more")))
    (folder / "other.soif").write_bytes(soif("http://b.test/2", with_identity("an apple outside")))
    assert admin(broker, "#add-object more.soif") == "101 - 1 object was taken, 0 left out\n"
    assert found(broker, "apple") == 2
    assert admin(broker, "#add-object ../other.soif").startswith("111 - ERROR: ")
    oid = re.search(rb"125 - (\S+)", broker.told("#USER #opaque #END pear")).group(1).decode()
    assert admin(broker, f"#rem-object-path {oid}").startswith("101 - object ")
    assert found(broker, "pear") == 0
    assert admin(broker, "#rem-object-query apple").startswith("101 - 2 objects were deleted")
    assert found(broker) == 0
    assert admin(broker, "#full-index").startswith("101 - ")
    assert admin(broker, "#clean-broker").startswith("101 - ")
    assert "101 - objects: 0 - " in admin(broker, "#do-stats")
    assert re.search(r'101 - queries\{kind="admin"\}: [1-9]', admin(broker, "#do-stats"))
    assert admin(broker, "#rotate-log").startswith("101 - ")
    assert list(folder.glob("LOG.[0-9][0-9][0-9][0-9][0-9][0-9]"))
    assert broker.process.stop() == 0


def test_a_restart_reads_the_configuration_in_the_same_process(garner):
    broker = administered(garner, {"http://a.test/1": "apple"})
    text = broker.g.conf.read_text()
    broker.g.conf.write_text(text + "[broker]\nmax_lifetime = soon\n")
    assert admin(broker, "#restart").startswith("111 - ERROR: ")
    assert found(broker) == 1
    broker.g.conf.write_text(text.replace("http://home.test/", "http://other.test/"))
    assert admin(broker, "#restart").startswith("101 - the broker starts again")
    homes = []
    while not homes or homes[-1] == b"home":
        answer = broker.told("#USER #opaque #END apple")
        if answer == b"111 - ERROR: the broker is stopping\n":  # it was let in, and not heard any more
            continue
        assert len(urls_of(answer)) == 1
        homes.append(re.search(rb"126 - http://(home|other)\.test/\n$", answer).group(1))
    assert broker.process.alive and len(broker.process.lines("listening setting=listen")) == 1
    broker.put({"http://a.test/2": "another apple"})
    wait_for("it collects again", lambda: found(broker, "apple") == 2, every=0.1)
    assert broker.process.stop() == 0


def test_a_shutdown_ends_the_role_in_order(garner):
    broker = administered(garner, {"http://a.test/1": "apple"})
    assert admin(broker, "#SHUTDOWN") == "101 - the broker ends\n"
    assert broker.process.wait() == 0
    assert broker.g.run("check").code == 0


def test_garner_up_starts_it_again_and_says_so(garner):
    broker = administered(garner, {"http://a.test/1": "apple"}, up=True)
    up = broker.process
    assert "SIGHUP" in admin(broker, "#restart")
    up.wait_line("restarting")
    assert "garner up starts it again" in admin(broker, "#shutdown")
    up.wait_line("role ready", times=2)
    assert found(broker) == 1
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
