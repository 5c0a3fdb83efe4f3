"""garner broker CONF: a file of the old Broker starts one."""
import re
import subprocess

from garner import free_port, wait_for
from web import Site

OBJECT = ("@FILE { http://a.test/\nGatherer-Name{3}:\tlib\nGatherer-Host{6}:\tg.test\nGatherer-Version{3}:\t1.0\n"
          "Update-Time{10}:\t1000000000\nTime-to-Live{10}:\t3000000000\nTitle{11}:\twalnut tree\n}\n")


def broker(garner, conf):
    """A broker whose data directory only CONF names, with one object to find."""
    g = garner(config="[broker]\nsources = soif:in\nlisten = 127.0.0.1:0\n")
    (g.dir / "old/in").mkdir(parents=True)
    (g.dir / "old/in/1.soif").write_text(OBJECT)
    (g.dir / "broker.conf").write_text(conf)
    return g


def ask(g, port, line):
    return g.run("brkclient", "127.0.0.1", str(port), line)


def found(g, port):
    return "120 - http://a.test/\n" in ask(g, port, "#USER #END walnut").out


def test_a_file_of_the_old_broker_starts_one(garner):
    port = free_port()
    g = broker(garner, f"# ours\nDirectory old\nPORT {port}\nGlimpseIndex-Option -n\nMystery x\n"
                       f"Home-Page http://h.test/broker/\nGlimpse-MaxLife 30\nCollection-Interval 3600\n")
    role = g.start("broker", "broker.conf", "-nocol", "-D77").wait_ready()
    role.wait_line(r'warn .*"broker.conf:4: GlimpseIndex-Option: garner has no such part')
    role.wait_line(r'''warn .*"broker.conf:5: unknown name 'Mystery'; the line is passed over"''')
    role.wait_line("the broker starts")
    wait_for("it is found", lambda: found(g, port), every=0.1)
    assert ask(g, port, "#USER #END walnut").out.endswith("126 - http://h.test/broker/\n")
    assert (g.dir / "old/broker/registry").exists() and not (g.data / "broker/registry").exists()
    assert role.stop() == 0


def test_password_and_log_file_are_taken_and_restart_reads_the_file_again(garner):
    port = free_port()
    conf = f"Directory old\nPort {port}\nPassword Secret1\nLog-File events.log\nHome-Page http://one.test/\n"
    g = broker(garner, conf)
    role = g.start("broker", "broker.conf").wait_ready()
    role.wait_line(r'warn .*"broker.conf:3: the password is in plain text; garner password makes a line')
    wait_for("it is found", lambda: found(g, port), every=0.1)
    assert ask(g, port, "#ADMIN #password wrong #flush-log").code == 1
    assert ask(g, port, "#ADMIN #Password Secret1 #flush-log").code == 0
    assert "walnut" in (g.dir / "old/events.log").read_text()
    (g.dir / "broker.conf").write_text(conf.replace("one", "two"))
    assert ask(g, port, "#ADMIN #Password Secret1 #restart").code == 0
    wait_for("it has the other home", lambda: ask(g, port, "#USER #END walnut").out.endswith("126 - http://two.test/\n"),
             every=0.1)
    assert role.stop() == 0
    assert "Secret1" not in role.text
    assert not any(b"Secret1" in path.read_bytes() for path in (g.dir / "old").rglob("*") if path.is_file())


def test_the_program_answers_to_its_old_name(garner):
    port = free_port()
    g = broker(garner, f"Directory old\nPort {port}\n")
    assert "broker" in g.run("help", "--links").out.split()
    (g.dir / "broker").symlink_to(g.program)
    done = subprocess.run([g.dir / "broker", "--help"], capture_output=True, text=True, timeout=30)
    assert "usage: garner broker [--new] [--nocol] [CONF]" in done.stdout
    for option in ("-new", "-nocol"):
        assert f"also {option}" in re.sub(r"\s+", " ", done.stdout)


def test_what_cannot_be_is_refused_with_file_and_line(garner):
    g = broker(garner, "")
    for conf, said in (("\nPort x\n", "broker.conf:2: Port: expected 0 to 65535, got 'x'"),
                       ("Glimpse-MaxLife 5\n", "broker.conf:1: broker.max_lifetime: "),
                       ("Collection-Interval soon\n", "broker.conf:1: broker.collect_every: expected a time"),
                       ("Port 1\nport 2\n", "broker.conf:2: Port: given on line 1 already")):
        (g.dir / "broker.conf").write_text(conf)
        done = g.run("broker", "broker.conf")
        assert done.code == 2 and said in done.err, conf
    done = g.run("broker", "nowhere.conf")
    assert done.code == 2 and "nowhere.conf: no such file" in done.err
    assert g.run("web", "broker.conf").code == 2
    (g.dir / "broker.conf").write_text("Port 1\n")
    done = g.run("broker", "broker.conf", "-D70,12")
    assert done.code == 2 and "-D" in done.err


def test_s_is_stronger_than_the_file(garner):
    port = free_port()
    g = broker(garner, "Directory nowhere\nPort 1\n")
    role = g.start("broker", "-s", f"broker.listen=127.0.0.1:{port}", "broker.conf", "-s", "data=old").wait_ready()
    wait_for("it is found", lambda: found(g, port), every=0.1)
    assert role.stop() == 0


def test_status_and_metrics_have_the_numbers_of_the_port(garner):
    g = garner(config="[up]\nroles = broker web\n[broker]\nlisten = 127.0.0.1:0\nsources =\n"
                      "[web]\nlisten = 127.0.0.1:0\n")
    up = g.start("up").wait_ready()
    port = re.search(r"broker on 127\.0\.0\.1:(\d+)", up.wait_line("garner is up"))
    site = Site(up, int(re.search(r"web on http://127\.0\.0\.1:(\d+)/", up.text).group(1)))
    assert "Queries of the broker" not in site.ask("/status").body.decode()
    assert ask(g, port.group(1), "#USER #END walnut").code == 0
    assert ask(g, port.group(1), "#USER #unknown #END walnut").code == 1
    wait_for("both are counted", lambda: 'kind="user"} 2' in site.ask("/metrics").body.decode(), every=0.1)
    page = site.ask("/status").body.decode()
    assert "Queries of the broker" in page and "Cut by time" in page and "queries_took" in page
    assert up.stop() == 0
