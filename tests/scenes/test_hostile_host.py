"""Who asks by a name that is not ours gets 421: a page whose name was pointed here must not read from it."""
import json
import re
import socket

from web import alone, demo, everything, web

FOREIGN = ["evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example", "127.1",
           "a.search.example", "search.example.evil", "search.example:x", ""]
OURS = ["localhost", "LOCALHOST:80", "127.0.0.1:1", "192.0.2.7", "[::1]:80", "search.example",
        "Search.Example.:443", "second.example:8080"]
NAMES = {"url": "https://search.example/", "names": "second.example"}


def refused(answer):
    return answer.status == 421 and b"web.names" in answer.body


def test_a_foreign_name_is_answered_with_421_and_what_to_change(garner):
    site = web(garner, **NAMES)
    for path in ("/", "/status", "/healthz", "/metrics", "/api/events", "/api/status", "/style.css", "/nothing"):
        for host in FOREIGN:
            a = site.ask(path, Host=host)
            assert refused(a), (path, host, a)
            assert a.headers["Access-Control-Allow-Origin"] is None
    for host in OURS:
        assert site.ask("/healthz", Host=host).status == 200, host
    for host in ("evil.example", "evil.example:8080"):  # named as web.names takes it
        assert json.loads(site.ask("/", Host=host).body)["error"].startswith("'evil.example' is not a name"), host
    a = site.ask("/", Host="evil.example", Accept="text/html")
    assert refused(a) and a.headers["Content-Type"].startswith("text/html")
    assert refused(site.ask("/healthz", "POST", body=b"x", Host="evil.example"))


def test_a_name_with_a_port_is_refused_with_what_to_write(garner):
    said = garner(config="[web]\nnames = search.example:8080\n").run("doctor").out
    assert "without a port" in " ".join(said.split())


def test_the_role_docs_is_known_by_the_same_names(garner, tmp_path):
    (tmp_path / "a.txt").write_text("text")
    g = garner(config=f"[web]\nurl = https://search.example\n[docs]\nlisten = 127.0.0.1:0\nroot = {tmp_path}\n")
    site = alone(g, "docs")
    for host in ("evil.example", ""):
        assert refused(site.ask("/a.txt", Host=host)), host
    for host in ("localhost", "127.0.0.1", "search.example"):
        assert site.ask("/a.txt", Host=host).body == b"text", host


def test_one_request_of_a_connection_says_nothing_about_the_next(garner):
    site = demo(garner)
    ask = "GET /big?n=1 HTTP/1.1\r\nHost: {}\r\n\r\n"
    hosts = ["x", "evil.example", "localhost", "x.evil"]
    got = site.say("".join(map(ask.format, hosts)).encode() + b"GET /big?n=1 HTTP/1.0\r\n\r\n")
    assert re.findall(rb"HTTP/1\.[01] (\d+)", got) == [b"200", b"421", b"200", b"421", b"200"], got


def test_a_unix_socket_asks_for_a_name_as_well(garner, tmp_path):
    path = tmp_path / "socket"
    g = garner(config=f"[demo]\nlisten = unix:{path}\n", program="tests/garner-http")
    g.start("demo").wait_ready()
    for host, status in (("localhost", b"200"), ("evil.example", b"421")):
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(str(path))
            s.sendall(f"GET /big?n=1 HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
            assert everything(s)[9:12] == status


def test_links_to_here_begin_with_the_url(garner):
    assert "servers" not in json.loads(web(garner).ask("/api/openapi.json").body)
    document = json.loads(web(garner, **NAMES).ask("/api/openapi.json").body)
    assert document["servers"] == [{"url": "https://search.example"}]


def test_a_setting_that_is_no_name_is_refused_and_named(garner):
    for setting, value in (("url", "search.example"), ("url", "https://search.example/below/"),
                           ("names", "https://search.example/"), ("names", "*.example")):
        g = garner(config=f"[web]\nlisten = 127.0.0.1:0\n{setting} = {value}\n")
        role = g.run("web")
        assert role.code == 2 and f"web.{setting}" in role.err, role.err
        doctor = g.run("doctor")
        assert doctor.code == 2 and f"web.{setting}" in doctor.out, doctor.out


def test_the_doctor_says_by_which_names_it_may_be_asked(garner):
    g = garner(config="[web]\nurl = https://search.example/\nnames = second.example\n")
    found = {c["name"]: c for c in g.run("doctor", "--json").json()["checks"]}["names"]
    assert found["level"] == "ok" and "search.example" in found["reason"] and "second.example" in found["reason"]
    g.configure("")
    found = {c["name"]: c for c in g.run("doctor", "--json").json()["checks"]}["names"]
    assert "localhost" in found["reason"] and "web.url" in found["mend"]
