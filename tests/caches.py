"""A whole cache on loopback, and owners of sites that push what changed:

    c = Cache(garner)                  # configured; c.start() starts rs, uns, qm, botm and bot
    owner = c.owner(); c.register(owner)   # a site of its own, registered and verified
    owner.write("/a", 2)               # pages have versions
    told = owner.push(["/a"])          # a set: Told; told.accepted, told.set, told.received
    c.settle(owner, told.set)          # until all of it is final
    c.check()                          # rows, files, garner cache check
"""
import base64
import hashlib
import json
import re
import select
import socket
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from xml.sax.saxutils import quoteattr

from garner import free_port, wait_for

ROLES = ("rs", "uns", "qm", "botm", "bot")
FINAL = {"stored", "unchanged", "failed", "removed"}


def content(site, path, version):
    return f"<html><title>{path}</title><p>version {version} of {path} at {site}\n".encode() * (1 + version % 3)


class Told:
    """How a session went: accepted, or `code` and text of the rejection, or neither: it broke off, before or after
    the set's end tag was sent (`ended`)."""

    def __init__(self):
        self.said, self.accepted, self.ended = b"", False, False
        self.received = self.set = self.code = self.processing = 0

    def __repr__(self):
        return f"<{'accepted' if self.accepted else 'refused' if self.code else 'broken off'} {self.said[-300:]}>"

    def hear(self, sock, until):
        """Until it has said one of these; whether it has."""
        try:
            while not re.search(until, self.said):
                piece = sock.recv(1 << 16)
                if not piece:
                    return False
                self.said += piece
        except OSError:
            return False
        return True


def init(owner):
    return (f'<lococa:init xmlns:lococa="http://www.lococa.org/1.0"><provider id="{owner.id}" '
            f"passwd={quoteattr(owner.password)}/></lococa:init>\n").encode()


def a_set(rows, full=False):
    urls = "".join("<url" + "".join(f" {k}={quoteattr(str(v))}" for k, v in row.items()) + "/>\n" for row in rows)
    return f'<lococa:set set="{"full" if full else "partial"}">\n{urls}</lococa:set>\n'.encode()


def push(address, owner, rows, full=False, timeout=20):
    told = Told()
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=timeout) as sock:
            sock.sendall(init(owner))
            if told.hear(sock, b"</lococa:init_(accepted|rejected)>") and b"init_accepted" in told.said:
                told.ended = True  # from here on it may have all of it
                sock.sendall(a_set(rows, full))
                told.hear(sock, b"</lococa:set_result>")
    except OSError:
        pass
    if processing := re.search(rb' processing="(\d+)"', told.said):
        told.processing = int(processing[1])
    result = told.said.rpartition(b"</lococa:init_accepted>")[2]
    if accepted := re.search(rb'<set_accepted received="(\d+)" set="(\d+)"/>', result):
        told.accepted, told.received, told.set = True, int(accepted[1]), int(accepted[2])
    elif refused := re.search(rb'<(?:set_rejected|reason) code="(\d+)"', result):
        told.code = int(refused[1])
    return told


class Server(ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True

    def handle_error(self, *_):
        pass  # clients that were killed


class Owner:
    """Who has a site: `pages` path -> version (0: it is gone), and what was asked of it."""

    def __init__(self, slow_every=0, slow_s=0.3):
        self.pages, self.files, self.asked = {}, {}, []
        self.flying, self.together = [], []
        self.lock = threading.Lock()
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                if self.path in owner.files:
                    return self.answer(200, owner.files[self.path].encode(), "text/plain")
                with owner.lock:
                    owner.asked.append(self.path)
                    owner.meet(self.connection)
                    owner.flying.append(self.connection)
                    slow = slow_every and len(owner.asked) % slow_every == 0
                try:
                    if slow:
                        time.sleep(slow_s)
                    version = owner.pages.get(self.path.partition("?")[0], 0)
                    if version:
                        self.answer(200, content(owner.url, self.path.partition("?")[0], version), "text/html")
                    else:
                        self.answer(404, b"gone\n", "text/html")
                finally:
                    owner.land(self.connection)

            def answer(self, status, body, mime):
                self.send_response(status)
                self.send_header("Content-Type", mime)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                owner.land(self.connection)  # from here on its client may ask for the next
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self.server.server_port}"
        self.url = f"http://{self.host}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def land(self, connection):
        with self.lock:
            if connection in self.flying:
                self.flying.remove(connection)

    def meet(self, me):
        """Remembers a fetch that others are in the middle of, but for those whose client is gone."""
        for other in self.flying:
            if other is None or other is me:
                continue
            try:
                readable = select.select([other], [], [], 0)[0]
                if readable and not other.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT):
                    continue
            except (OSError, ValueError):
                continue
            self.together.append((time.monotonic(), self.asked[-2:]))

    def write(self, path, version=None):
        self.pages[path] = self.pages.get(path, 0) + 1 if version is None else version

    def row(self, path, **more):
        """Attributes of a notice for the page as it is."""
        return {"c": self.url + path, "mime": "text/html", **more}

    def md5(self, path):
        return hashlib.md5(content(self.url, path, self.pages[path])).hexdigest()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Cache:
    def __init__(self, garner, g=None, **sections):
        """sections: more lines of them, name -> text. g: a garner that is configured by others, with text()."""
        self.g = g or garner()
        self.rs, self.uns = (f"127.0.0.1:{free_port()}" for _ in range(2))
        self.sections, self.members, self.owners = sections, {}, []
        if not g:
            self.configure()

    def text(self, **more):
        """The sections of the cache's roles."""
        sections = {
            "cache": "",
            "rs": f"listen = {self.rs}\nregisters_per_day = 1000\n",
            "uns": f"listen = {self.uns}\nqm = unix:{self.g.dir}/qm\n",
            "qm": f"listen = unix:{self.g.dir}/qm\nbotm_listen = unix:{self.g.dir}/qm-botm\n"
                  "retry_wait = 1s\nsite_wait = 1s\nwheel_step = 100ms\n",
            "botm": f"listen = unix:{self.g.dir}/botm\nsource = unix:{self.g.dir}/qm-botm\nmachine = m1\nfolder = cache/files\n",
            "bot": f"botm = unix:{self.g.dir}/botm\nparallel = 8\n",
        }
        for name, lines in {**self.sections, **more}.items():
            sections[name] = sections.get(name, "") + lines
        return "".join(f"[{name}]\n{lines}" for name, lines in sections.items())

    def configure(self, **more):
        self.g.configure("[robot]\nnetworks = 127.0.0.1\ndelay = 10ms\nidle_max = 2s\ntime_max = 10s\n" + self.text(**more))

    def begin(self, role, faults="", env=None):
        more = {**({"GARNER_FAULTS": faults} if faults else {}), **(env or {})}
        self.members[role] = self.g.start(role, env=more or None)
        return self.members[role]

    def start(self, *roles, env=None):
        for role in roles or ROLES:
            self.begin(role, env=env).wait_ready()
        return self

    def stop(self):
        for role, process in self.members.items():
            assert process.stop() == 0, f"{role} did not end well:\n{process.text[-2000:]}"

    def owner(self, **how):
        self.owners.append(Owner(**how))
        return self.owners[-1]

    def close(self):
        for owner in self.owners:
            owner.close()

    # rs

    def ask(self, path, owner=None, timeout=20, **form):
        """JSON of a route; form: POST (also _=None alone)."""
        data = urllib.parse.urlencode({k: v for k, v in form.items() if v is not None}).encode() if form else None
        request = urllib.request.Request(f"http://{self.rs}{path}", data=data)
        if owner:
            both = base64.b64encode(f"{owner.id}:{owner.password}".encode()).decode()
            request.add_header("Authorization", f"Basic {both}")
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return json.load(answer)

    def register(self, owner):
        told = self.ask("/api/providers", site=owner.url)
        owner.id, owner.password = told["provider"], told["password"]
        owner.files["/secret.txt"] = told["secret"] + "\n"
        self.ask(f"/api/providers/{owner.id}/verify", owner, url=f"{owner.url}/secret.txt")
        return owner

    def receipts(self, owner, number=0):
        """All of a set: URL -> row; and the state of the set."""
        rows, after = {}, 0
        while True:
            got = self.ask(f"/api/receipts?set={number}&after={after}&n=1000", owner)
            for row in got.get("receipts", []):
                rows[row["url"]] = row
            after += len(got.get("receipts", []))
            if not got.get("more") or not got.get("receipts"):
                return rows, got["state"]

    def receipt(self, owner, path):
        """Of one URL; None: nothing is known."""
        url = urllib.parse.quote(owner.url + path, safe="")
        rows = self.ask(f"/api/receipts?url={url}&mime=text/html", owner).get("receipts", [])
        return rows[0] if rows else None

    # sessions

    def push(self, owner, rows, full=False, timeout=20):
        return push(self.uns, owner, rows, full, timeout)

    def settle(self, owner, number, seconds=60):
        """Until all URLs of the set are final: their receipts."""
        def is_final():
            rows, state = self.receipts(owner, number)
            done = state == "absorbed" and all(r["state"] in FINAL for r in rows.values())
            return [rows] if done else None
        return wait_for(f"the end of set {number}", is_final, seconds, every=0.1)[0]

    # what is stored

    def files(self):
        folder = Path(self.g.data) / "cache" / "files"
        return {str(p.relative_to(folder)): p for p in folder.glob("*/*")}
