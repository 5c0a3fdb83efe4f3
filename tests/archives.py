"""Archives for scenes: real servers that show one tree, and servers of our own that do what none should.

    site = archives.nginx(g, root)          # also lighttpd, apache, python, vsftpd, docs: a URL
    odd = Odd({"/ls-lR.gz": Reply(b"...", last_modified=1700000000)})
    ftp = Ftpd({"ls-lR.gz": (b"...", 1700000000)}, lists={"": "-rw-r--r-- ...\r\n"})
"""
import email.utils
import os
import socket
import socketserver
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import garner as real
import peers

HERE = "127.0.0.2"


def settings(*lines, **archie):
    """A configuration with which servers of this machine are asked at once."""
    keys = "".join(f"{k} = {v}\n" for k, v in archie.items())
    more = "".join(line + "\n" for line in lines)
    return ("disk_free = 0\n[robot]\nnetworks = 127.0.0.0/8\ndelay = 0\nidle_max = 2s\n"
            f"dns_servers = 127.0.0.1:9\ndns_timeout = 50ms\ndns_tries = 1\n{more}[archie]\n{keys}")


def wait_port(port, address=HERE):
    def there():
        with socket.socket() as s:
            return s.connect_ex((address, port)) == 0
    real.wait_for(f"a server on port {port}", there)


def tree(root):
    """A small archive: what is in it, as paths."""
    (root / "pub" / "sub dir" / "deep").mkdir(parents=True)
    (root / "empty").mkdir()
    (root / "README").write_text("hello\n" * 200)
    (root / "pub" / "a b+c%25&é.tar.gz").write_bytes(b"x" * 3000)
    (root / "pub" / "sub dir" / ("long" * 20 + ".txt")).write_text("x")
    (root / "pub" / "sub dir" / "deep" / "z").write_text("z")
    for folder, folders, files in os.walk(root):
        os.chmod(folder, 0o755)
        for name in folders + files:
            os.utime(os.path.join(folder, name), (1741064767, 1741064767))
    return sorted(str(p.relative_to(root)) for p in root.rglob("*"))


def nginx(g, root):
    peer, port = peers.need("nginx"), real.free_port(HERE)
    (g.dir / "nginx.conf").write_text(f"""
daemon off; pid {g.dir}/nginx.pid; error_log {g.dir}/error.log; worker_processes 1;
{"user root;" if os.getuid() == 0 else ""}
events {{ worker_connections 100; }}
http {{
    access_log {g.dir}/access.log;
    client_body_temp_path {g.dir}/t1; proxy_temp_path {g.dir}/t2; fastcgi_temp_path {g.dir}/t3;
    uwsgi_temp_path {g.dir}/t4; scgi_temp_path {g.dir}/t5;
    server {{ listen {HERE}:{port}; root {root}; autoindex on; }}
}}
""")
    peer.start(g, "nginx", "-e", g.dir / "error.log", "-c", g.dir / "nginx.conf")
    wait_port(port)
    return f"http://{HERE}:{port}/"


def lighttpd(g, root):
    peer, port = peers.need("lighttpd"), real.free_port(HERE)
    (g.dir / "lighttpd.conf").write_text(f"""
server.document-root = "{root}"
server.bind = "{HERE}"
server.port = {port}
server.modules = ("mod_dirlisting", "mod_staticfile")
server.compat-module-load = "disable"
dir-listing.activate = "enable"
server.errorlog = "{g.dir}/error.log"
""")
    peer.start(g, "lighttpd", "-D", "-f", g.dir / "lighttpd.conf", "-m",
               peer.root / "usr/lib/lighttpd")
    wait_port(port)
    return f"http://{HERE}:{port}/"


def apache(g, root):
    peer, port = peers.need("apache2-bin"), real.free_port(HERE)
    os.chmod(g.dir.parent, 0o711)  # it does not run as root
    modules = peer.root / "usr/lib/apache2/modules"
    load = "".join(f"LoadModule {m}_module {modules}/mod_{m}.so\n"
                   for m in ("mpm_event", "authz_core", "autoindex", "mime"))
    (g.dir / "apache.conf").write_text(f"""
ServerRoot {g.dir}
PidFile {g.dir}/apache.pid
ServerName localhost
Listen {HERE}:{port}
ErrorLog {g.dir}/error.log
{load}
TypesConfig /dev/null
{"User daemon" if os.getuid() == 0 else ""}
{"Group daemon" if os.getuid() == 0 else ""}
StartServers 1
DocumentRoot {root}
<Directory {root}>
Require all granted
Options +Indexes
IndexOptions FancyIndexing NameWidth=20
</Directory>
""")
    peer.start(g, "apache2", "-f", g.dir / "apache.conf", "-DFOREGROUND")
    wait_port(port)
    return f"http://{HERE}:{port}/"


def python(g, root):
    """http.server, as `python3 -m http.server` runs it."""
    port = real.free_port(HERE)
    log = g.dir / f"log{len(g.processes) + 1}"
    g.processes.append(real.Process(
        ["/usr/bin/python3", "-m", "http.server", "-b", HERE, "-d", str(root), str(port)],
        real.clean_environment(SCENE=str(g.dir)), g.dir, log))
    wait_port(port)
    return f"http://{HERE}:{port}/"


def docs(g, root):
    port = real.free_port(HERE)
    g.start("docs", "-s", f"docs.listen={HERE}:{port}", "-s", f"docs.root={root}").wait_ready()
    return f"http://{HERE}:{port}/"


def vsftpd(g, root, recurse=True, address="127.0.0.3"):
    if os.getuid() != 0:
        pytest.skip("vsftpd drops privileges, which needs some")
    peer, port = peers.need("vsftpd"), real.free_port(address)
    (g.dir / "none").mkdir(exist_ok=True)
    (g.dir / "vsftpd.conf").write_text(f"""
listen=YES
listen_address={address}
listen_port={port}
background=NO
anonymous_enable=YES
anon_root={root}
ftp_username=daemon
nopriv_user=nobody
ls_recurse_enable={"YES" if recurse else "NO"}
seccomp_sandbox=NO
isolate=NO
isolate_network=NO
secure_chroot_dir={g.dir}/none
""")
    peer.start(g, "vsftpd", g.dir / "vsftpd.conf")
    wait_port(port, address)
    return f"ftp://{address}:{port}/"


class Reply:
    """What Odd says: status, headers and body; `length`: what it says the length is; `stay`: seconds
    of silence at the end of the body; `forever`: the body again and again."""

    def __init__(self, body=b"", status=200, type="application/octet-stream", last_modified=None,
                 length=None, stay=0, forever=False, headers=None):
        self.body, self.status, self.type = body, status, type
        self.last_modified, self.length = last_modified, length
        self.stay, self.forever, self.headers = stay, forever, headers or {}


class Odd:
    """An HTTP server whose answers are a table; what is not in it is 404. Remembers what it was asked."""

    def __init__(self, replies, address=HERE):
        self.replies, self.asked, self.since, self.times = replies, [], [], []
        self.over = threading.Event()
        odd = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                if self.path != "/robots.txt":
                    odd.asked.append(self.path)
                    odd.times.append(time.monotonic())
                    odd.since.append(self.headers.get("If-Modified-Since"))
                self.close_connection = True
                r = odd.replies.get(self.path, Reply(b"none", 404))
                try:
                    self.reply(r)
                except OSError:
                    pass

            def reply(self, r):
                self.send_response(r.status)
                self.send_header("Content-Type", r.type)
                if r.last_modified is not None:
                    self.send_header("Last-Modified", email.utils.formatdate(r.last_modified, usegmt=True))
                for name, value in r.headers.items():
                    self.send_header(name, value)
                if not r.forever:
                    length = len(r.body) if r.length is None else r.length
                    self.send_header("Content-Length", str(length))
                self.send_header("Connection", "close")
                self.end_headers()
                self.wfile.write(r.body)
                self.wfile.flush()
                while r.forever and not odd.over.is_set():
                    self.wfile.write(r.body)
                if r.stay:
                    odd.over.wait(r.stay)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer((address, 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://{address}:{self.server.server_port}/"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self):
        self.over.set()
        self.server.shutdown()
        self.server.server_close()


class Ftpd:
    """A small FTP server. files: path -> (bytes, seconds since 1970 or None: no MDTM); lists: folder
    -> text of LIST; all: text of LIST -lR, None: as LIST does. cut: bytes of a file after which its
    transfer breaks off. Remembers the commands."""

    def __init__(self, files=None, lists=None, all=None, cut=None, address="127.0.0.4"):
        self.files, self.lists, self.all, self.cut = files or {}, lists or {}, all, cut
        self.address, self.said, self.over = address, [], threading.Event()
        ftp = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                self.folder, self.data = "", None
                try:
                    self.say(220, "here")
                    for line in self.rfile:
                        words = line.decode("utf-8", "surrogateescape").rstrip("\r\n")
                        ftp.said.append(words)
                        verb, _, rest = words.partition(" ")
                        getattr(self, "do_" + verb.lower(), self.do_unknown)(rest)
                        if verb.lower() == "quit":
                            return
                except OSError:
                    pass

            def say(self, code, text):
                self.wfile.write(f"{code} {text}\r\n".encode())

            def do_unknown(self, _):
                self.say(502, "no")

            def do_user(self, _):
                self.say(331, "password")

            def do_pass(self, _):
                self.say(230, "in")

            def do_pwd(self, _):
                self.say(257, '"/"')

            def do_type(self, _):
                self.say(200, "so be it")

            def do_quit(self, _):
                self.say(221, "bye")

            def do_cwd(self, path):
                self.folder = f"{self.folder}/{path}".strip("/") if path.strip("/") else ""
                self.say(250, "there")

            def name(self, rest):
                return f"{self.folder}/{rest}".strip("/")

            def do_mdtm(self, rest):
                found = ftp.files.get(self.name(rest))
                if not found or found[1] is None:
                    self.say(550, "none")
                else:
                    self.say(213, time.strftime("%Y%m%d%H%M%S", time.gmtime(found[1])))

            def do_size(self, rest):
                found = ftp.files.get(self.name(rest))
                self.say(213, len(found[0])) if found else self.say(550, "none")

            def do_epsv(self, _):
                self.data = socket.create_server((ftp.address, 0))
                self.say(229, f"Entering (|||{self.data.getsockname()[1]}|)")

            def send(self, content, cut=None):
                self.say(150, "here it comes")
                conn, _ = self.data.accept()
                with conn:
                    conn.sendall(content[:cut])
                self.data.close()
                self.say(426 if cut is not None else 226, "done")

            def do_retr(self, rest):
                found = ftp.files.get(self.name(rest))
                self.send(found[0], ftp.cut) if found else self.say(550, "none")

            def do_list(self, rest):
                text = ftp.all if rest == "-lR" and ftp.all is not None else ftp.lists.get(self.folder)
                if text is None:
                    self.say(550, "none")
                else:
                    self.send(text if isinstance(text, bytes) else text.encode())

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address = daemon_threads = True

        self.server = Server((address, 0), Handler)
        self.url = f"ftp://{address}:{self.server.server_address[1]}/"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
