"""Ports: two garners on one machine, set apart by net.port and their data alone; what net.port moves,
and what it cannot."""
import os
import random
import re
import socket
import subprocess

import pytest

import garner as real
from web import Site

HERE = "127.0.0.1"
# those of make run, and two more that look for others or are looked for
ROLES = ("docs shepherd broker archie-getter archie-queuer archie-ng archie-telnet archie-prospero rs uns qm botm bot web "
         "spider archie-master")


def defaults(g, port):
    """Every setting with a port in it: whether it is one of UDP, the port."""
    found = {}
    for row in g.run("-s", f"net.port={port}", "config", "show", "--all", "--json").json():
        m = re.search(r"^(.*127\.0\.0\.1):(\d+)/?$", row["value"])
        if m and row["setting"] != "urlserver.spider_host":
            found[row["setting"]] = (m.group(1).startswith("udp:"), int(m.group(2)))
        elif row["setting"] == "urlserver.spider_port":
            found[row["setting"]] = (False, int(row["value"]))
    return found


def take(udp, port):
    """A socket there, or None where somebody has it."""
    s = socket.socket(type=socket.SOCK_DGRAM if udp else socket.SOCK_STREAM)
    try:
        s.bind((HERE, port))
        if s.type == socket.SOCK_STREAM:
            s.listen()
    except OSError:
        s.close()
        return None
    return s


@pytest.fixture
def usual_ports(garner):
    """Those default ports that are free are taken while a test runs, so that whatever needs one fails,
    and given back."""
    taken = [take(*at) for at in set(defaults(garner(), 8080).values())]
    yield
    for s in filter(None, taken):
        s.close()


def free_base(g):
    """A net.port all of whose ports are free, below those that the system hands out."""
    distances = {(udp, port - 8080) for udp, port in defaults(g, 8080).values()}
    least = int(open("/proc/sys/net/ipv4/ip_local_port_range").read().split()[0])
    for _ in range(100):
        base = random.randrange(9000, least - 500)
        tried = [take(udp, base + distance) for udp, distance in distances]
        for s in filter(None, tried):
            s.close()
        if all(tried):
            return base
    raise AssertionError("no free ports")


def first_byte(port):
    with socket.create_connection((HERE, port), 10) as s:
        return s.recv(1)


@pytest.mark.limit(60)
def test_two_garners_run_side_by_side(garner, usual_ports):
    both = []
    for name in ("one", "two"):
        g = garner()
        g.configure(f"disk_free = 0\n[up]\nroles = {ROLES}\n[docs]\nroot = {g.dir}/docs\n")
        (g.dir / "docs").mkdir()
        (g.dir / "docs" / "page.html").write_text(f"<title>{name}</title>")
        base = free_base(g)
        g.env["GARNER_NET_PORT"] = str(base)
        both.append((g, base, g.start("up"), name))
    for g, base, up, name in both:
        up.wait_ready()
        for line in ("queue manager connected", f"connected to the source.*:{base + 8193 - 8080}$",
                     f"connected to the botm.*:{base + 8191 - 8080}$"):
            up.wait_line(line)
        assert Site(up, base).ask("/readyz").status == 200
        assert name.encode() in Site(up, base + 1).ask("/page.html").body
        # which is told by no setting where the registration server is
        done = g.run("provider", "register", f"http://{HERE}:{base + 1}/")
        assert done.code == 0 and "secret" in done.out, done
        assert g.run("provider", "status").code == 0
        assert first_byte(base + 2323 - 8080)  # of a session by telnet
    for _, _, up, _ in both:  # each with all its processes at the first try
        assert up.wait_line(r"^garner is up: \d+ roles ready, ") and up.lines("role failed") == []
    for _, _, up, _ in both:
        assert up.stop() == 0


def test_every_default_port_moves_and_what_is_set_stays(garner):
    g = garner(config="[qm]\nlisten = 127.0.0.1:8192\n")
    before, after, none = (defaults(g, port) for port in (8080, 18080, 0))
    stays = {"qm.listen"}
    assert len(before) >= 19 and before.keys() == after.keys()
    for name, (udp, port) in before.items():
        assert after[name] == (udp, port + (0 if name in stays else 10000)), name
    listeners = {name for name in before if name.endswith("listen")}
    assert {name for name, (_, port) in none.items() if port} == stays
    assert none.keys() == listeners | {"urlserver.spider_port"}  # the others are empty
    for port in ("7599", "65001", "1"):
        assert g.run("-s", f"net.port={port}", "config", "show").code == 2
    assert max(port for _, port in defaults(garner(), 65000).values()) == 65421
    assert min(port for _, port in defaults(garner(), 7600).values()) == 1045


@pytest.mark.parametrize("role, setting, told", [
    ("uns", "uns.qm", "uns.qm=127.0.0.1:9"), ("bot", "bot.botm", "bot.botm=unix:botm"),
    ("botm", "botm.source", "botm.source=unix:source"), ("bot@2", "bot.botm", "bot@2.listen=127.0.0.1:0"),
    ("urlserver", "urlserver.spider_host", "urlserver.spider_host=127.0.0.1:9")])
def test_without_a_port_peers_have_to_be_told(garner, role, setting, told):
    g = garner(config=f"[up]\nroles = {role}\n")
    section, key = setting.split(".")
    for command in ((role,), ("up",), ("config", "check")):
        done = g.run(*command)
        assert done.code == 2 and key in done.err and "net.port = 0" in done.err, done
    done = g.run("-s", told, "config", "check")
    assert done.code == 0 and done.err == "", done
    # nobody is asked of a role that is not to run
    assert g.run("-s", "up.roles=web", "config", "check").code == 0


def test_without_a_port_a_provider_has_to_be_told(garner):
    done = garner().run("provider", "register", "http://127.0.0.1:1/")
    assert done.code == 2 and "provider.rs" in done.err and "net.port = 0" in done.err


def test_without_a_port_an_archie_server_has_to_be_told(garner):
    g = garner()
    done = g.run("archie", "find", "x")
    assert done.code == 2 and "archie.servers" in done.err and "net.port = 0" in done.err, done
    with socket.create_server((HERE, 0)) as s:
        port = s.getsockname()[1]
    done = g.run("-s", f"archie.servers={HERE}:{port}", "archie", "find", "x")
    assert done.code == 6 and f"{HERE}:{port}" in done.err and f"{HERE}:0" not in done.err, done


def test_explain_names_every_role_that_differs(garner):
    g = garner(config="[uns]\nidle = 5min\n[net]\ndrain = 3s\n")
    said = " ".join(g.run("config", "explain", "net.idle").out.split())
    assert re.search(r"differs in spider 0s \(default\), qm 0s \(default\), uns 5min \(\S+garner.conf:2\)$", said), said
    said = " ".join(g.run("config", "explain", "net.drain").out.split())
    assert "docs" in said and "differs" not in said  # it was set, and no role's own default is
    said = " ".join(g.run("-s", "net.idle=7s", "config", "explain", "qm.idle", "uns.idle").out.split())
    assert "inherits net.idle" in said and "default 0 value 7s (-s)" in said and "value 5min (" in said
    rows = g.run("-s", "net.idle=7s", "config", "show", "--json", "qm.idle", "net.drain", "uns.idle").json()
    assert [(r["value"], r["from"]) for r in rows[:2]] == [("7s", "-s"), ("3s", rows[1]["from"])]
    assert len(rows) == 3 and g.run("config", "show", "qm.idle", "qm.idl").code == 2
    for more in ({"env": {"GARNER_UNS_IDLE": "7s"}}, {}):
        done = g.run(*([] if more else ["-s", "uns.idle=7s"]), "config", "explain", "net.idle", **more)
        assert re.search(r"uns 7s \((GARNER_UNS_IDLE|-s)\)", done.out), done
    # a file that is wrong can be read about
    g.configure("nonsense = 1\n")
    assert "qm 0s (default)" in g.run("config", "explain", "net.idle").out.replace("\n", " ")


def test_links_share_keys_that_providers_do_not_get(garner):
    g = garner(config="[net]\ntls_shared_key = a\ntls_cert = b\ntls_key = c\ntls_ca = d\n")
    (g.dir / "garner.conf").touch()
    rows = {r["setting"]: r["value"] for r in g.run("config", "show", "--all", "--json").json()}
    said = " ".join(g.run("config", "explain", "net.tls_shared_key").out.split())
    for role in ("shepherd", "reapd", "bot", "botm", "urlserver", "spider", "qm", "uns.qm_tls_shared_key"):
        assert re.search(rf"shared by .*\b{role}\b", said), role
    assert {k: v for k, v in rows.items() if ".tls_" in k and not k.startswith("net.")} == {
        "uns.tls_shared_key": "", "uns.tls_ca": "", "provider.tls_shared_key": "", "provider.tls_cert": "",
        "provider.tls_key": "", "provider.tls_ca": ""}
    assert "uns" in " ".join(g.run("config", "explain", "net.tls_cert").out.split()).split("shared by")[1]


STUB = """#!/bin/sh
case $1 in
config) exec {real} "$@" ;;
esac
echo "$GARNER_NET_PORT|$GARNER_DATA|$*" >> {log}
"""


@pytest.mark.parametrize("where, usual", [({}, "{dir}/.local/share"), ({"XDG_DATA_HOME": "{dir}/xdg"}, "{dir}/xdg"),
                                          ({"GARNER_DATA": "{dir}/a b/data"}, "{dir}/a b"),
                                          ({"GARNER_DATA": '{dir}/a  "b"/data'}, '{dir}/a  "b"'),
                                          ({"GARNER_CONFIG": "{dir}/c d/garner.conf"}, "{dir}/e f")])
def test_make_run_has_a_port_and_data_next_to_the_usual_ones(garner, where, usual):
    g = garner()
    log = g.dir / "log"
    for folder in ("script", "build"):
        (g.dir / folder).mkdir()
    (g.dir / "script" / "run").write_text((real.ROOT / "script" / "run").read_text())
    stub = g.dir / "build" / "garner"
    stub.write_text(STUB.format(real=g.program, log=log))
    stub.chmod(0o755)
    (g.dir / "c d").mkdir()
    (g.dir / "c d" / "garner.conf").write_text(f"data = {g.dir}/e f/data\n")
    env = {k: v for k, v in g.env.items() if not k.startswith("GARNER_")}
    env |= {k: v.format(dir=g.dir) for k, v in where.items()}
    # as make says it where nobody does
    for port, docs in (("", "8081"), ("18080", "18081")):
        log.unlink(missing_ok=True)
        subprocess.run(["sh", "script/run"], cwd=g.dir, env={**env, "PORT": port}, check=True, timeout=30)
        said = [line.split("|") for line in log.read_text().splitlines()]
        data = f"{usual.format(dir=g.dir)}/garner-18080" if port else env.get("GARNER_DATA", "")
        assert {tuple(line[:2]) for line in said} == {(port, data)}
        assert said[0][2] == f"add http://127.0.0.1:{docs}/"
        assert said[-1][2].endswith(" up") and ".listen" not in said[-1][2]
        assert f"shepherd.no_delay=127.0.0.1:{docs} " in said[-1][2]
    log.unlink()
    for port in ("0", "7599", "65001", "x", "123456"):
        assert subprocess.run(["sh", "script/run"], cwd=g.dir, env={**env, "PORT": port}).returncode == 2
    assert not log.exists()
    assert "PORT=$(PORT) exec script/run" in (real.ROOT / "Makefile").read_text()
    assert os.access(real.ROOT / "script" / "run", os.X_OK)
