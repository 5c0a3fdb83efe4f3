"""garner fetch against real servers: nginx, lighttpd and vsftpd out of their packages; robots.txt,
politeness, addresses that must not be reached."""
import hashlib
import http.server
import json
import os
import signal
import socket
import socketserver
import subprocess
import threading
import time

import pytest

import garner as real
import peers
import replay

HERE = "127.0.0.2"  # where servers listen; all else is refused, loopback too


def settings(**more):
    keys = {"networks": HERE, "delay": "0", "idle_max": "2s", "dns_servers": "127.0.0.1:9",
            "dns_timeout": "50ms", "dns_tries": 1, **more}
    return "[robot]\n" + "".join(f"{k} = {v}\n" for k, v in keys.items())


def free_port():
    return real.free_port(HERE)


def wait_port(port):
    def answers():
        with socket.socket() as s:
            return s.connect_ex((HERE, port)) == 0
    real.wait_for(f"port {port}", answers)


def fetch(g, *args, code=0):
    """Results by URL."""
    done = g.run("fetch", "--json", *args)
    assert done.code == code, done
    return {r["url"]: r for r in map(json.loads, done.out.splitlines())}


def one(g, *args, code=0):
    (result,) = fetch(g, *args, code=code).values()
    return result


class Pages(http.server.BaseHTTPRequestHandler):
    """Pages that are functions of (handler) -> (status, headers, body), by path."""
    protocol_version = "HTTP/1.1"
    pages = {}

    def do_GET(self):
        self.server.seen.append((time.monotonic(), self.path, dict(self.headers)))
        path = self.path.split("?")[0]
        page = self.server.pages.get(path, (404, {}, b""))
        status, headers, body = page(self) if callable(page) else page
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 100

    def __init__(self, pages, address=HERE):
        self.pages, self.seen = pages, []
        super().__init__((address, 0), Pages)
        self.url = f"http://{address}:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def paths(self):
        return [path for _, path, _ in self.seen]


@pytest.fixture
def serve():
    made = []

    def make(pages, address=HERE):
        made.append(Server(pages, address))
        return made[-1]
    yield make
    for s in made:
        s.shutdown()
        s.server_close()


@pytest.fixture
def nginx(garner):
    g = garner(settings())
    peer = peers.need("nginx")
    port = free_port()
    www = g.dir / "www"
    (www / "pub").mkdir(parents=True)
    (www / "page.html").write_text("<p>hello</p>" * 1000)
    (www / "robots.txt").write_text("User-agent: *\nDisallow: /private\n")
    (www / "private.html").write_text("not for robots")
    os.chmod(g.dir, 0o755)
    (g.dir / "nginx.conf").write_text(f"""
daemon off; pid {g.dir}/nginx.pid; error_log {g.dir}/error.log; worker_processes 1;
{"user root;" if os.getuid() == 0 else ""}
events {{ worker_connections 100; }}
http {{
    access_log {g.dir}/access.log;
    types {{ text/html html; text/plain txt; }} charset utf-8;
    gzip on; gzip_min_length 100; gzip_types text/html;
    client_body_temp_path {g.dir}/t1; proxy_temp_path {g.dir}/t2; fastcgi_temp_path {g.dir}/t3;
    uwsgi_temp_path {g.dir}/t4; scgi_temp_path {g.dir}/t5;
    server {{
        listen {HERE}:{port}; root {www};
        location = /busy {{ add_header Retry-After 120 always; return 503; }}
        location = /moved {{ return 301 /page.html; }}
        location = /away {{ return 302 http://169.254.169.254/latest/meta-data/; }}
        location = /hidden {{ return 302 /private.html; }}
        location = /noindex {{ add_header X-Robots-Tag "noindex, otherbot: nofollow"; return 200 "x"; }}
    }}
}}
""")
    peer.start(g, "nginx", "-e", g.dir / "error.log", "-c", g.dir / "nginx.conf")
    wait_port(port)
    g.url = f"http://{HERE}:{port}"
    g.www = www
    return g


def test_a_page_comes_unpacked_with_its_hashes_and_validators(nginx):
    r = one(nginx, "-o", "out", nginx.url + "/page.html")
    body = (nginx.www / "page.html").read_bytes()
    assert (r["outcome"], r["status"], r["type"], r["charset"]) == ("ok", 200, "text/html", "utf-8")
    assert r["size"] == len(body) and r["wire"] < len(body) / 10
    assert r["md5"] == hashlib.md5(body).hexdigest()
    assert r["sha256"] == hashlib.sha256(body).hexdigest()
    assert (nginx.dir / r["file"]).read_bytes() == body
    assert not list((nginx.dir / "out").rglob("*.part"))
    again = one(nginx, "--etag", r["etag"], nginx.url + "/page.html")
    assert (again["outcome"], again["status"], again["size"]) == ("unchanged", 304, 0)
    again = one(nginx, "--last-modified", r["last_modified"], nginx.url + "/page.html")
    assert again["outcome"] == "unchanged"
    again = one(nginx, "--etag", '"another"', nginx.url + "/page.html")
    assert again["outcome"] == "ok"


def test_robots_txt_is_asked_once_and_obeyed_also_after_a_redirect(nginx):
    got = fetch(nginx, nginx.url + "/private.html", nginx.url + "/page.html", nginx.url + "/hidden",
                code=3)
    assert got[nginx.url + "/private.html"]["outcome"] == "robots"
    assert got[nginx.url + "/hidden"]["outcome"] == "robots"
    assert got[nginx.url + "/page.html"]["outcome"] == "ok"
    assert fetch(nginx, nginx.url + "/page.html")  # another process knows it, too
    asked = (nginx.dir / "access.log").read_text()
    assert asked.count("GET /robots.txt") == 1
    assert "private" not in asked


def test_what_a_server_says_of_itself_is_told(nginx):
    got = fetch(nginx, *(nginx.url + p for p in ("/noindex", "/moved", "/none", "/busy")), code=3)
    assert got[nginx.url + "/noindex"]["robots"] == ["noindex"]
    moved = got[nginx.url + "/moved"]
    assert moved["final_url"] == nginx.url + "/page.html" and moved["redirects"] == 1
    assert got[nginx.url + "/none"]["outcome"] == "permanent"
    busy = got[nginx.url + "/busy"]
    assert (busy["outcome"], busy["retry_after_s"]) == ("site-temporary", 120)
    stays = one(nginx, "--no-follow", "-s", "robot.idle_max=2s", "http://127.0.0.1/", code=6)
    assert stays["outcome"] == "address"


def test_a_user_agent_with_a_contact_is_sent(nginx):
    one(nginx, "-s", "robot.agent=testbot", "-s", "robot.contact=https://example.org/bot",
        nginx.url + "/page.html")
    assert '"testbot/0.1.0 (+https://example.org/bot)"' in (nginx.dir / "access.log").read_text()


def test_lighttpd_serves_pages_and_refuses_as_nginx_does(garner):
    g = garner(settings())
    peer = peers.need("lighttpd")
    port = free_port()
    www = g.dir / "www"
    www.mkdir()
    (www / "a.txt").write_text("hello\n")
    os.chmod(g.dir, 0o755)
    (g.dir / "lighttpd.conf").write_text(f"""
server.document-root = "{www}"
server.bind = "{HERE}"
server.port = {port}
server.modules = ("mod_staticfile")
server.compat-module-load = "disable"
mimetype.assign = (".txt" => "text/plain; charset=utf-8")
server.errorlog = "{g.dir}/error.log"
""")
    peer.start(g, "lighttpd", "-D", "-f", g.dir / "lighttpd.conf", "-m",
               peer.root / "usr/lib/lighttpd")
    wait_port(port)
    url = f"http://{HERE}:{port}"
    got = fetch(g, url + "/a.txt", url + "/none", code=3)
    assert got[url + "/a.txt"]["md5"] == hashlib.md5(b"hello\n").hexdigest()
    assert got[url + "/none"]["outcome"] == "permanent"
    etag = got[url + "/a.txt"]["etag"]
    assert one(g, "--etag", etag, url + "/a.txt")["outcome"] == "unchanged"


def certificate(g):
    """key and cert for HERE, in the folder of g."""
    made = subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                           "-subj", f"/CN={HERE}", "-addext", f"subjectAltName=IP:{HERE}", "-keyout",
                           g.dir / "key", "-out", g.dir / "cert"], capture_output=True)
    if made.returncode != 0:
        pytest.skip("no openssl program to make a certificate with")


def test_nginx_is_asked_in_http2_where_it_speaks_that(garner):
    g = garner(settings())
    peer = peers.need("nginx")
    certificate(g)
    port = free_port()
    www = g.dir / "www"
    www.mkdir()
    for i in range(5):
        (www / f"{i}.html").write_text(f"<p>{i}</p>" * 3000)
    os.chmod(g.dir, 0o755)
    (g.dir / "nginx.conf").write_text(f"""
daemon off; pid {g.dir}/nginx.pid; error_log {g.dir}/error.log; worker_processes 1;
{"user root;" if os.getuid() == 0 else ""}
events {{ worker_connections 100; }}
http {{
    log_format how '$server_protocol $request_uri $status';
    access_log {g.dir}/access.log how;
    types {{ text/html html; }} gzip on; gzip_types text/html;
    client_body_temp_path {g.dir}/t1; proxy_temp_path {g.dir}/t2; fastcgi_temp_path {g.dir}/t3;
    uwsgi_temp_path {g.dir}/t4; scgi_temp_path {g.dir}/t5;
    server {{
        listen {HERE}:{port} ssl http2; root {www};
        ssl_certificate {g.dir}/cert; ssl_certificate_key {g.dir}/key;
        location = /moved {{ return 301 /0.html; }}
        location = /busy {{ add_header Retry-After 1 always; return 503; }}
    }}
}}
""")
    peer.start(g, "nginx", "-e", g.dir / "error.log", "-c", g.dir / "nginx.conf")
    wait_port(port)
    g.configure(settings(ca_file=f"{g.dir}/cert"))
    url = f"https://{HERE}:{port}"
    paths = [f"/{i}.html" for i in range(5)] + ["/moved", "/none", "/busy"]
    got = fetch(g, "-o", "out", *(url + p for p in paths), code=3)
    for i in range(5):
        r = got[f"{url}/{i}.html"]
        assert (r["outcome"], r["type"]) == ("ok", "text/html"), r
        assert r["size"] == len(f"<p>{i}</p>") * 3000 and r["wire"] < r["size"] / 10
        assert (g.dir / r["file"]).read_text() == f"<p>{i}</p>" * 3000
    assert got[url + "/moved"]["final_url"] == url + "/0.html"
    assert got[url + "/none"]["outcome"] == "permanent"
    assert (got[url + "/busy"]["outcome"], got[url + "/busy"]["retry_after_s"]) == ("site-temporary", 1)
    etag = got[url + "/0.html"]["etag"]
    assert one(g, "--etag", etag, url + "/0.html")["outcome"] == "unchanged"
    asked = (g.dir / "access.log").read_text().splitlines()
    assert len(asked) >= 10 and all(line.startswith("HTTP/2.0 ") for line in asked), asked


@pytest.fixture
def vsftpd(garner):
    if os.getuid() != 0:
        pytest.skip("vsftpd drops privileges, which needs some")
    g = garner(settings())
    peer = peers.need("vsftpd")
    port = free_port()
    ftp = g.dir / "ftp"
    (ftp / "pub" / "deep").mkdir(parents=True)
    (ftp / "pub" / "a.txt").write_text("hello\n")
    (ftp / "pub" / "deep" / "b.txt").write_text("deep\n")
    empty = g.dir / "empty"
    empty.mkdir()
    os.chmod(g.dir, 0o755)
    (g.dir / "vsftpd.conf").write_text(f"""
listen=YES
listen_address={HERE}
listen_port={port}
background=NO
anonymous_enable=YES
anon_root={ftp}
ftp_username=daemon
nopriv_user=nobody
ls_recurse_enable=YES
seccomp_sandbox=NO
isolate=NO
isolate_network=NO
secure_chroot_dir={empty}
vsftpd_log_file={g.dir}/vsftpd.log
xferlog_enable=YES
""")
    peer.start(g, "vsftpd", g.dir / "vsftpd.conf")
    wait_port(port)
    g.url = f"ftp://{HERE}:{port}"
    return g


def test_ftp_files_and_folders_are_fetched(vsftpd):
    g = vsftpd
    got = fetch(g, "-o", "out", g.url + "/pub/a.txt", g.url + "/pub/none", g.url + "/pub/", code=3)
    r = got[g.url + "/pub/a.txt"]
    assert (r["outcome"], r["md5"]) == ("ok", hashlib.md5(b"hello\n").hexdigest())
    assert (g.dir / r["file"]).read_text() == "hello\n"
    assert got[g.url + "/pub/none"]["outcome"] == "permanent"
    listing = (g.dir / got[g.url + "/pub/"]["file"]).read_text()
    assert "a.txt" in listing and "deep" in listing and "b.txt" not in listing
    same = one(g, "--last-modified", r["last_modified"], g.url + "/pub/a.txt")
    assert same["outcome"] == "unchanged"


def test_a_whole_ftp_tree_is_listed_at_once(vsftpd):
    r = one(vsftpd, "--list-all", "-o", "out", vsftpd.url + "/")
    listing = (vsftpd.dir / r["file"]).read_text()
    assert "./pub/deep:" in listing and "b.txt" in listing


def test_requests_to_one_server_start_a_delay_apart_also_by_other_processes(garner, serve):
    server = serve({f"/{i}": (200, {}, b"x") for i in range(4)})
    g = garner(settings(delay="1s", concurrent=4))
    first = g.start("fetch", *(f"{server.url}/{i}" for i in range(2)))
    second = g.start("fetch", *(f"{server.url}/{i}" for i in range(2, 4)))
    assert first.wait(20) == 0 and second.wait(20) == 0
    starts = sorted(at for at, _, _ in server.seen)
    assert len(starts) >= 5  # robots.txt at least once
    # the lease counts from before the connection: on a busy machine what arrives may be closer
    assert min(b - a for a, b in zip(starts, starts[1:])) > 0.5


def test_a_killed_fetch_leaves_no_server_unprotected(garner, serve):
    server = serve({"/slow": lambda _: (time.sleep(3), (200, {}, b"x"))[1], "/x": (200, {}, b"x")})
    g = garner(settings(delay="500ms"))
    victim = g.start("fetch", server.url + "/slow")
    real.wait_for("the request", lambda: "/slow" in server.paths())
    victim.send(signal.SIGKILL)
    assert victim.wait() == -signal.SIGKILL
    assert one(g, server.url + "/x")["outcome"] == "ok"  # its lease is free again
    at = {path: when for when, path, _ in server.seen}
    assert at["/x"] - at["/slow"] > 0.45


@pytest.mark.parametrize("status,outcome", [(404, "ok"), (500, "site-temporary"), (429, "site-temporary")])
def test_a_robots_txt_that_cannot_be_had_allows_or_forbids(garner, serve, status, outcome):
    server = serve({"/robots.txt": (status, {}, b""), "/x": (200, {}, b"x")})
    r = one(garner(settings()), server.url + "/x", code=0 if outcome == "ok" else 6)
    assert r["outcome"] == outcome
    assert ("/x" in server.paths()) == (outcome == "ok")


def test_robots_txt_may_be_elsewhere_and_holds_for_its_own_site(garner, serve):
    there = serve({"/rules": (200, {}, b"User-agent: garner\nDisallow: /x\n"),
                   "/x": (200, {}, b"x")})
    here = serve({"/robots.txt": (301, {"Location": there.url + "/rules"}, b""),
                  "/x": (200, {}, b"x"), "/y": (200, {}, b"y")})
    got = fetch(garner(settings()), here.url + "/x", here.url + "/y", there.url + "/x", code=3)
    assert got[here.url + "/x"]["outcome"] == "robots"
    assert got[here.url + "/y"]["outcome"] == "ok"
    assert got[there.url + "/x"]["outcome"] == "ok"


def test_a_crawl_delay_holds(garner, serve):
    server = serve({"/robots.txt": (200, {}, b"User-agent: *\nCrawl-delay: 1\n"),
                    "/x": (200, {}, b"x"), "/y": (200, {}, b"y")})
    fetch(garner(settings()), server.url + "/x", server.url + "/y")
    (_, _, _), (x, _, _), (y, _, _) = server.seen
    assert y - x > 0.95


def test_connections_are_kept_while_more_is_wanted(garner, serve):
    ports = set()

    def page(handler):
        ports.add(handler.client_address[1])
        return 200, {}, b"x"
    server = serve({f"/{i}": page for i in range(20)})
    g = garner(settings())
    fetch(g, *(f"{server.url}/{i}" for i in range(20)))
    assert len(ports) <= 3
    assert server.seen[-1][2].get("Connection") == "close"  # nothing more was to come


REFUSED = ["http://127.0.0.1/", "http://localhost/", "http://2130706433/", "http://0x7f.1/",
           "http://[::1]/", "http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/",
           "http://169.254.169.254/latest/meta-data/", "http://10.0.0.1/", "http://192.168.1.1/",
           "http://[fe80::1]/", "http://[fd00:ec2::254]/", "http://0.0.0.0/", "ftp://127.0.0.1/",
           "http://[64:ff9b::7f00:1]/"]


def test_addresses_that_are_not_public_are_refused_however_they_are_written(garner):
    done = garner(settings()).run("fetch", "--json", *REFUSED)
    assert [json.loads(line)["outcome"] for line in done.out.splitlines()] == (
        ["address"] * len(REFUSED))
    assert done.code == 6


def test_redirects_inside_are_refused(garner, serve):
    secret = serve({"/": (200, {}, b"secret")}, address="127.0.0.1")
    pages = {f"/{i}": (302, {"Location": to}, b"")
             for i, to in enumerate([*REFUSED, secret.url + "/"])}
    server = serve(pages)
    got = fetch(garner(settings()), *(server.url + path for path in pages), code=6)
    assert {r["outcome"] for r in got.values()} == {"address"}
    assert not secret.seen


def test_a_name_that_leads_inside_is_refused_also_when_it_changes_its_mind(garner, serve):
    secret = serve({"/": (200, {}, b"secret")}, address="127.0.0.1")
    public = serve({"/": (200, {}, b"public")})
    port = int(public.url.rsplit(":", 1)[1])
    asked = []

    def addresses(name, kind):
        asked.append(name)
        if name == "inside.test":
            return ["127.0.0.1", "::1", "::ffff:127.0.0.1"]
        if name == "both.test":
            return ["127.0.0.1", HERE]
        if name == "changes.test":  # the second question is answered otherwise
            return [HERE] if asked.count(name) <= 2 else ["127.0.0.1"]
        return None
    with replay.Dns(addresses) as dns:
        g = garner(settings(dns_servers=dns.setting, dns_ttl_min="0s"))
        secret_port = int(secret.url.rsplit(":", 1)[1])
        got = fetch(g, f"http://inside.test:{secret_port}/", f"http://both.test:{port}/",
                    f"http://changes.test:{port}/", f"http://none.test:{port}/", code=3)
    assert got[f"http://inside.test:{secret_port}/"]["outcome"] == "address"
    assert got[f"http://both.test:{port}/"]["address"] == HERE
    changes = got[f"http://changes.test:{port}/"]
    assert changes.get("address", HERE) == HERE and changes["outcome"] in ("ok", "address")
    assert got[f"http://none.test:{port}/"]["outcome"] == "site-permanent"
    assert not secret.seen


def test_https_is_verified_unless_told_otherwise(garner, serve):
    g = garner(settings())
    certificate(g)
    import ssl
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(g.dir / "cert", g.dir / "key")
    server = serve({"/": (200, {}, b"x")})
    server.socket = context.wrap_socket(server.socket, server_side=True)
    url = server.url.replace("http:", "https:") + "/"
    r = one(g, url, code=6)
    assert (r["outcome"], r["cause"]) == ("site-temporary", "robots-unreachable")
    g = garner(settings(ca_file=f"{g.dir}/cert"))
    assert one(g, url)["outcome"] == "ok"
    g = garner(settings(verify="no"))
    assert one(g, url)["outcome"] == "ok"


def test_through_a_proxy_names_are_the_proxys_business(garner, serve):
    seen = []

    def page(handler):
        seen.append(handler.path)
        return 200, {}, b"by proxy"
    proxy = serve({})
    proxy.pages = type("Any", (dict,), {"get": lambda self, key, other: page})()
    g = garner(settings(proxy=proxy.url))
    got = fetch(g, "http://anywhere.test/x", "http://169.254.169.254/", code=3)
    assert got["http://anywhere.test/x"]["size"] == len("by proxy")
    assert got["http://169.254.169.254/"]["outcome"] == "address"
    assert "http://anywhere.test/x" in seen and "http://anywhere.test/robots.txt" in seen


def test_a_list_is_read_and_summed_up(garner, serve):
    server = serve({"/x": (200, {}, b"x")})
    g = garner(settings())
    (g.dir / "list").write_text(f"# pages\n{server.url}/x\n\n{server.url}/none\nnot a url\n")
    done = g.run("fetch", "--from", "list")
    assert done.code == 3
    assert "3 of 3 URLs, 1 ok, 2 permanent" in done.out
    assert "(url: relative" in done.out or "not a url" in done.out
    assert g.run("fetch").code == 2
    assert g.run("fetch", "--delay", "often", server.url + "/x").code == 2
    assert g.run("fetch", "-s", "robot.agent=a b", server.url + "/x").code == 2
    assert g.run("fetch", "--from", "absent").code == 2


def test_an_interrupt_ends_it_with_what_was_done(garner, serve):
    server = serve({"/x": (200, {}, b"x"), "/slow": lambda _: (time.sleep(5), (200, {}, b""))[1]})
    g = garner(settings(idle_max="30s"))
    p = g.start("fetch", server.url + "/x", server.url + "/slow")
    real.wait_for("the slow one", lambda: "/slow" in server.paths())
    p.send(signal.SIGINT)
    assert p.wait() == 3
    assert "1 of 2 URLs, 1 ok" in p.text


def test_a_full_disk_or_a_folder_that_cannot_be_made_is_said(garner, serve):
    server = serve({"/x": (200, {}, b"x")})
    g = garner(settings())
    (g.dir / "file").write_text("")
    done = g.run("fetch", "-o", "file", server.url + "/x")
    assert done.code == 7 and "file" in done.err and not server.seen


def test_documents_are_on_disk_at_the_end_by_one_sync(garner, serve):
    servers = [serve({"/x": (200, {}, b"x"), "/y": (200, {}, b"y")}) for _ in range(2)]
    urls = [s.url + p for s in servers for p in ("/x", "/y")]
    g = garner(settings())
    done = g.run("fetch", "-o", "kept-pages", *urls, env={"GARNER_FAULTS": "file.sync/kept-pages=eio@2"})
    assert done.code == 0, done
    done = g.run("fetch", "-o", "kept-pages", *urls, env={"GARNER_FAULTS": "file.sync/kept-pages=eio"})
    assert done.code == 7 and "sync" in done.err


def test_what_is_remembered_of_robots_txt_can_be_looked_at(garner, serve):
    server = serve({"/robots.txt": (200, {}, b"User-agent: *\nDisallow: /y\n"), "/x": (200, {}, b"")})
    g = garner(settings())
    fetch(g, server.url + "/x")
    dump = g.run("dump", g.data / "run" / "robots.db")
    assert dump.code == 0 and server.url in dump.out
    assert g.run("check").code == 0


def test_no_variable_leads_past_the_proxy(garner, serve):
    inside = serve({"/": (200, {}, b"secret")}, address="127.0.0.1")
    proxy = serve({})
    proxy.pages = type("Any", (dict,), {"get": lambda *_: (200, {}, b"by proxy")})()
    g = garner(settings(proxy=proxy.url))
    url = inside.url.replace("127.0.0.1", "localhost") + "/"
    done = g.run("fetch", "--json", url, env={"no_proxy": "*", "NO_PROXY": "*"})
    assert done.json()["size"] == len("by proxy")
    assert not inside.seen


def test_no_variable_leads_to_a_proxy(garner, serve):
    server, proxy = serve({"/": (200, {}, b"x")}), serve({})
    names = ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY")
    done = garner(settings()).run("fetch", server.url + "/", env=dict.fromkeys(names, proxy.url))
    assert done.code == 0, done
    assert not proxy.seen


def test_rules_for_one_product_token_are_not_those_of_another(garner, serve):
    server = serve({"/robots.txt": (200, {}, b"User-agent: badbot\nDisallow: /\n"),
                    "/x": (200, {}, b"x")})
    g = garner(settings())
    assert one(g, server.url + "/x")["outcome"] == "ok"
    assert one(g, "--agent", "badbot", server.url + "/x", code=6)["outcome"] == "robots"


def test_documents_of_different_urls_are_different_files(garner, serve):
    names = ["/", "/index", "/a", "/a.part", "/.", "/%2E%2E/x", "/..%2fx", "/" + "y" * 300,
             "/" + "y" * 301, "/a%00b", "/.hidden"]
    page = lambda h: (404, {}, b"") if h.path == "/robots.txt" else (200, {}, h.path.encode())
    server = serve({})
    server.pages = type("Any", (dict,), {"get": lambda *_: page})()
    g = garner(settings())
    got = fetch(g, "-o", "out", *(server.url + n for n in reversed(names)))
    assert {r["outcome"] for r in got.values()} == {"ok"}
    files = [p for p in g.dir.rglob("*") if p.is_file() and (g.dir / "out") in p.parents]
    want = {url[len(server.url):].encode() for url in
            (r.get("final_url", r["url"]) for r in got.values())}
    assert {p.read_bytes() for p in files} == want
    assert all(p.parent.parent == g.dir / "out" for p in files)


def test_the_same_url_twice_at_once_is_kept(garner, serve):
    def slow(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nx")
        time.sleep(0.5)
        handler.wfile.write(b"x")
        return 200, {}, b""  # which nobody reads
    server = serve({"/x": slow})
    g = garner(settings(concurrent=4))
    done = g.run("fetch", "--json", "-o", "out", *[server.url + "/x"] * 4)
    assert done.code == 0, done
    assert done.out.count('"ok"') == 4


def test_a_delay_longer_than_any_is_refused(garner, serve):
    server = serve({"/x": (200, {}, b"x")})
    done = garner(settings()).run("fetch", "--delay", "2d", server.url + "/x")
    assert done.code == 2 and "--delay" in done.err


def test_an_interrupt_while_the_list_comes_ends_it(garner, serve):
    g = garner(settings())
    os.mkfifo(g.dir / "list")
    p = g.start("fetch", "--from", "list")
    end = os.open(g.dir / "list", os.O_WRONLY)  # waits until it is read
    time.sleep(0.2)
    p.send(signal.SIGINT)
    assert p.wait() == -signal.SIGINT
    os.close(end)


def test_an_interrupt_while_names_are_asked_for_ends_it_clean(garner, serve):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mute:
        mute.bind(("127.0.0.1", 0))
        g = garner(settings(dns_servers="127.0.0.1:%d" % mute.getsockname()[1], dns_timeout="10s"))
        p = g.start("fetch", *(f"http://h{i}.test/" for i in range(20)))
        mute.settimeout(30)
        mute.recv(512)
        p.send(signal.SIGINT)
        assert p.wait() == 3


def test_interrupted_urls_are_not_said_to_have_failed(garner, serve):
    server = serve({"/robots.txt": lambda _: (time.sleep(3), (404, {}, b""))[1]})
    g = garner(settings(idle_max="30s"))
    p = g.start("fetch", *(f"{server.url}/{i}" for i in range(5)), "-s", "robot.concurrent=5")
    real.wait_for("robots.txt", lambda: "/robots.txt" in server.paths())
    time.sleep(0.2)
    p.send(signal.SIGTERM)
    assert p.wait() == 3
    assert "robots-unreachable" not in p.text


def test_a_full_disk_is_our_failure_and_not_the_servers(garner, serve):
    server = serve({f"/{i}": (200, {}, b"x" * 1000) for i in range(3)})
    g = garner(settings())
    out = g.dir / "out" / f"{HERE},{server.url.rsplit(':', 1)[1]}"
    out.mkdir(parents=True)
    for i in range(3):
        (out / f"{i}").mkdir()
    done = g.run("fetch", "-o", "out", *(f"{server.url}/{i}" for i in range(3)))
    assert done.code == 7, done
    assert [p for p in server.paths() if p != "/robots.txt"] == ["/0"]


def test_a_standard_output_that_takes_nothing_ends_it_before_it_begins(garner, serve):
    server = serve({"/x": (200, {}, b"x")})
    g = garner(settings())
    with open("/dev/full", "w") as full:
        done = subprocess.run(g.command("fetch", "not a url", server.url + "/x"), stdout=full,
                              stderr=subprocess.DEVNULL, env=g.env, cwd=g.dir, timeout=10)
    assert done.returncode == 7 and not server.seen


def test_urls_that_nobody_is_asked_for_do_not_wait(garner, serve):
    server = serve({"/robots.txt": (200, {}, b"User-agent: *\nDisallow: /\n")})
    dead = f"http://{HERE}:{free_port()}"
    g = garner(settings(delay="3s"))  # with it, they would take longer than a scene may
    got = fetch(g, *(f"{server.url}/{i}" for i in range(30)), code=6)
    assert {r["outcome"] for r in got.values()} == {"robots"}
    got = fetch(g, *(f"{dead}/{i}" for i in range(30)), code=6)
    assert {r["cause"] for r in got.values()} == {"robots-unreachable"}
    assert server.paths() == ["/robots.txt"]


def test_a_retry_after_counts_only_where_it_is_a_wish_to_be_left_alone(garner, serve):
    day = {"Retry-After": "86400"}
    server = serve({"/robots.txt": (404, day, b""), "/x": (200, day, b"x"), "/gone": (410, day, b""),
                    "/y": (200, {}, b"y")})
    got = fetch(garner(settings()), *(server.url + p for p in ("/x", "/gone", "/y")), code=3)
    assert [got[server.url + p]["outcome"] for p in ("/x", "/gone", "/y")] == ["ok", "permanent", "ok"]


def test_a_server_that_wants_a_long_pause_is_given_up_on_and_a_shorter_one_is_said(garner, serve):
    busy = (503, {"Retry-After": "3600"}, b"")
    server = serve({"/busy": busy, "/x": (200, {}, b"x"), "/y": (200, {}, b"y")})
    g = garner(settings())
    got = fetch(g, *(server.url + p for p in ("/busy", "/x", "/y")), code=6)
    assert got[server.url + "/busy"]["retry_after_s"] == 3600
    for path in ("/x", "/y"):
        r = got[server.url + path]
        assert (r["outcome"], r["cause"]) == ("site-temporary", "not-now"), r
        assert "left alone for 59min" in r["why"]
    # another process knows it, and robots.txt is not asked for either
    (g.data / "run" / "robots.db").unlink()
    again = one(g, server.url + "/x", code=6)
    assert (again["outcome"], again["cause"]) == ("site-temporary", "not-now")
    assert server.paths() == ["/robots.txt", "/busy"]
    waiting = g.start("fetch", "--wait", "2h", server.url + "/x")
    real.wait_for("the words", lambda: f"{HERE} is to be left alone for 59min" in waiting.text)
    waiting.send(signal.SIGINT)
    assert waiting.wait() == 3
    assert g.run("fetch", "--wait", "often", server.url + "/x").code == 2


def test_of_an_endless_robots_txt_the_beginning_holds(garner, serve):
    rules = b"User-agent: *\nDisallow: /x\n" + b"# filler, of which there is very much\n" * 400_000
    assert len(rules) > 12_000_000
    server = serve({"/robots.txt": (200, {}, rules), "/x": (200, {}, b"x"), "/y": (200, {}, b"y")})
    got = fetch(garner(settings()), server.url + "/x", server.url + "/y", code=3)
    assert got[server.url + "/x"]["outcome"] == "robots"
    assert got[server.url + "/y"]["outcome"] == "ok"


def test_names_and_passwords_in_urls_are_not_said_again(garner, serve):
    server = serve({"/x": (200, {}, b"x"), "/moved": (302, {"Location": "/x"}, b"")})
    host = server.url[len("http://"):]
    for name, there in (("named", f"http://me:secret@{host}/x"), ("odd", "gopher://me:secret@host/x"),
                        ("wrong", "http://me:secret@host:99999/x")):
        server.pages[f"/{name}"] = (302, {"Location": there}, b"")
    urls = [f"http://me:secret@{host}/x", f"http://me:secret@{host}/none",
            f"http://me:secret@{host}/moved", "http://me:secret@host:99999/",
            "gopher://me:secret@host/", "http:\\\\me:secret@host:99999/"]
    moved = [f"{server.url}/{name}" for name in ("named", "odd", "wrong")]
    g = garner(settings())
    for json_too in ([], ["--json"]):
        done = g.run("fetch", "--no-follow", *json_too, *urls)
        assert done.code == 3 and f"{server.url}/x" in done.out, done
        assert "secret" not in done.out + done.err
        assert not any("secret" in str(h) for _, _, h in server.seen)
    done = g.run("fetch", "--no-follow", *moved)
    assert "secret" not in done.out + done.err
    assert "gopher://host/x" in done.out and "http://host:99999/x" in done.out
    told = g.run("fetch", "--no-follow", "--json", *moved)  # what a server says to everybody is no secret to programs
    assert "gopher://me:secret@host/x" in told.out
    for args in (("extract", urls[1]), ("extract", urls[3]), ("add", urls[3], urls[4]), ("why", urls[3]),
                 ("fetch", f"{server.url}/odd"), ("robots", "test", "-", urls[3])):
        done = g.run(*args, input="")
        assert done.code and "secret" not in done.out + done.err, done


def test_a_killed_fetch_leaves_no_part_of_a_document(garner, serve):
    def slow(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n" + b"x" * 100_000)
        time.sleep(3)
        return 200, {}, b""
    server = serve({"/slow": slow})
    g = garner(settings(idle_max="30s"))
    for _ in range(2):
        victim = g.start("fetch", "-o", "out", server.url + "/slow")
        before = len(server.paths())
        real.wait_for("the request", lambda: server.paths()[before:].count("/slow"))
        time.sleep(0.3)
        victim.send(signal.SIGKILL)
        assert victim.wait() == -signal.SIGKILL
    assert [p for p in (g.dir / "out").rglob("*") if p.is_file()] == []
    server.pages["/slow"] = (200, {}, b"first")
    assert (g.dir / one(g, "-o", "out", server.url + "/slow")["file"]).read_text() == "first"
    server.pages["/slow"] = (200, {}, b"second")
    r = one(g, "-o", "out", server.url + "/slow")
    assert [p.read_text() for p in (g.dir / "out").rglob("*") if p.is_file()] == ["second"], r


def test_a_table_of_politeness_that_is_cut_ends_it_with_words(garner, serve):
    server = serve({"/x": (200, {}, b"x"), "/slow": lambda _: (time.sleep(1), (200, {}, b""))[1]})
    g = garner(settings())
    p = g.start("fetch", server.url + "/slow", server.url + "/x")
    real.wait_for("the slow one", lambda: "/slow" in server.paths())
    os.truncate(g.data / "run" / "polite", 0)
    assert p.wait() == 7
    assert "table of politeness was cut" in p.text
    assert "/x" not in server.paths()
