"""A cache as a provider sees it: a notification server (doc/protocols/lococa.md) and a registration server
(doc/protocols/providers.md), in threads. It keeps what it was sent, and answers as it is told."""
import base64
import json
import re
import socket
import threading
import urllib.parse
import xml.etree.ElementTree as ET
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from xml.sax.saxutils import quoteattr

NAMESPACE = "http://www.lococa.org/1.0"
MIME = ["text/*", "application/pdf"]


class Uns:
    """sets: a list of {"set": "full"|"partial", "rows": [attributes]}. What is set on it holds for the next session."""

    def __init__(self, password="pw", provider=17):
        self.password, self.provider = password, provider
        self.sets, self.seq, self.sessions, self.stored = [], 0, 0, {}
        self.mime, self.free_files, self.free_space = list(MIME), 1000000, 1 << 40
        self.wanted, self.faults, self.processing = None, [], 0
        self.refuse = {}          # c -> (code, text)
        self.reject = None        # (code, text): after so many rows
        self.reject_after = 0
        self.cut = False          # hangs up in place of an answer to a set
        self.stalls = False       # never answers
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.socket.getsockname()[1]
        self.open = True
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self):
        if self.open:
            self.open = False
            self.socket.shutdown(socket.SHUT_RDWR)
            self.socket.close()

    def _serve(self):
        while self.open:
            try:
                peer, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self._session, args=(peer,), daemon=True).start()

    def _session(self, peer):
        try:
            self._talk(peer)
        except OSError:
            pass
        finally:
            peer.close()

    def _message(self, peer, text, end):
        while end not in text[0]:
            piece = peer.recv(65536)
            if not piece:
                raise OSError("the peer is gone")
            text[0] += piece
        at = text[0].index(end) + len(end)
        message, text[0] = text[0][:at], text[0][at:]
        return message

    def _talk(self, peer):
        text = [b""]
        init = ET.fromstring(self._message(peer, text, b"</lococa:init>"))
        who = init.find("provider")
        if who.get("id") != str(self.provider) or who.get("passwd") != self.password:
            peer.sendall(b'<lococa:init_rejected><reason code="101">wrong password</reason></lococa:init_rejected>')
            return
        self.sessions += 1
        while self.stalls and peer.recv(1):
            pass
        self.seq += 1
        peer.sendall(self._accepted().encode())
        self._set(peer, text)

    def _accepted(self):
        wanted = f'wanted="yes" reason="{self.wanted}"' if self.wanted else 'wanted="no"'
        faults = "".join(f'<url code="{code}" url={quoteattr(c)} c={quoteattr(c)} mime="{mime}" at="2026-11-18T10:00:00Z">'
                         f"{text}</url>" for code, c, mime, text in self.faults)
        return (f'<lococa:init_accepted><connect_info seq="{self.seq}" lastConnectIP="192.0.2.7"/>'
                + "".join(f"<mime>{m}</mime>" for m in self.mime)
                + f'<quota><files used="{len(self.stored)}" free="{self.free_files}"/>'
                f'<space used="0" free="{self.free_space}"/><fullset allowed="4" {wanted}/></quota>'
                f'<processing_status errors="{len(self.faults)}" processing="{self.processing}"><errors>{faults}</errors>'
                "</processing_status></lococa:init_accepted>")

    def _set(self, peer, text):
        head = self._message(peer, text, b">").decode()
        full = 'set="full"' in head
        peer.sendall(b"<lococa:set_result><errors>")
        rows, refused = [], 0
        while True:
            while b"\n" not in text[0]:
                piece = peer.recv(65536)
                if not piece:
                    return
                text[0] += piece
            line, text[0] = text[0].split(b"\n", 1)
            if line == b"</lococa:set>":
                break
            if not line:
                continue
            row = ET.fromstring(line).attrib
            if self.reject and len(rows) >= self.reject_after:
                peer.sendall(b'</errors><set_rejected code="%d">%s</set_rejected></lococa:set_result>'
                             % (self.reject[0], self.reject[1].encode()))
                while peer.recv(65536):
                    pass
                return
            if row["c"] in self.refuse:
                code, why = self.refuse[row["c"]]
                attrs = "".join(f" {k}={quoteattr(v)}" for k, v in row.items())
                peer.sendall(f'<url code="{code}" url={quoteattr(row["c"])}{attrs}>{why}</url>'.encode())
                refused += 1
            rows.append(row)
        if self.cut:
            return
        self.sets.append({"set": "full" if full else "partial", "rows": rows})
        if full:
            self.stored = {}
        for row in rows:
            if row["c"] in self.refuse:
                continue
            if row.get("op") == "remove":
                self.stored.pop((row["c"], row["mime"]), None)
            else:
                self.stored[row["c"], row["mime"]] = row
        self.faults = []
        self.wanted = None if full else self.wanted
        peer.sendall(f'</errors><set_accepted received="{len(rows) - refused}" set="{len(self.sets)}"/>'
                     "</lococa:set_result>".encode())


class Rs:
    """asked: (method, path, parameters) of each request."""

    def __init__(self, provider=17, password="pw"):
        self.provider, self.password, self.asked, self.receipts = provider, password, [], []
        self.state = "absorbed"  # of a set
        rs = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *args):
                pass

            def do_GET(self):
                url = urllib.parse.urlsplit(self.path)
                self.go("GET", url.path, dict(urllib.parse.parse_qsl(url.query)))

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"] or 0)).decode()
                self.go("POST", self.path, dict(urllib.parse.parse_qsl(body, keep_blank_values=True)))

            def go(self, method, path, params):
                rs.asked.append((method, path, params))
                known = base64.b64encode(f"{rs.provider}:{rs.password}".encode()).decode()
                if path != "/api/providers" and self.headers["Authorization"] != f"Basic {known}":
                    status, answer = 401, {"error": "wrong password", "status": 401}
                else:
                    status, answer = rs.answer(method, path, params)
                body = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d/" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, method, path, params):
        what = re.sub(rf"^/api/providers/{self.provider}(/|$)", "", path)
        if path == "/api/providers":
            return 201, {"provider": self.provider, "password": self.password, "secret": "s" * 32,
                         "expires": "2026-11-25T10:00:00Z", "mailed": False, "not_mailed": "the mail server is away"}
        if what == "verify" and params["url"].endswith("/no.txt"):
            return 422, {"error": "there is no such file", "status": 422}
        if what == "verify":
            return 200, {"provider": self.provider, "prefix": params["url"].rsplit("/", 1)[0] + "/"}
        if what == "secrets":
            return 201, {"secret": "t" * 32, "expires": "2026-11-25T10:00:00Z"}
        if what == "password":
            self.password = "new-" + self.password
            return 200, {"password": self.password}
        if what == "deregister":
            return 200, {"provider": self.provider}
        if path == "/api/receipts":
            after = int(params.get("after", 0))
            rows = self.receipts[after:after + int(params.get("n", 100))]
            return 200, {"set": int(params.get("set") or 1), "state": self.state if rows else "unknown",
                         "at": "2026-11-18T10:00:00Z", "urls": len(self.receipts), "receipts": rows, "more": after + len(rows) < len(self.receipts)}
        return 200, {"provider": self.provider, "site": "http://h.example/", "mail": "", "verified": True,
                     "prefixes": ["http://h.example/"],
                     "contract": {"bandwidth": 51200, "hours": "0-8", "priority": 0, "quota_files": None, "quota_space": 1 << 20},
                     "stored": {"files": 3, "bytes": 1000}, "queued": 2, "errors": 1, "wanted": "old", "fullsets_left": 4,
                     "sessions": 5, "last_address": "192.0.2.7", "mime": MIME}
