"""A site for scenes."""
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Web:
    """A site whose pages a scene changes as it likes, path -> text or (status, headers, text), and that
    remembers what it was asked."""

    def __init__(self, port=0):
        self.pages, self.asked, self.held, self.times = {}, [], {}, []
        self.answered = []
        web = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                web.asked.append(self.path)
                if self.path != "/robots.txt":
                    web.times.append(time.monotonic())
                if self.path in web.held:
                    web.held[self.path].wait(60)
                page = web.pages.get(self.path, (404, {}, "gone"))
                status, headers, text = page if isinstance(page, tuple) else (200, {}, page)
                body = text.encode()
                self.send_response(status)
                for name, value in {"Content-Type": "text/html", **headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
                web.answered.append(self.path)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.host = f"127.0.0.1:{self.server.server_port}"
        self.url = f"http://{self.host}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def hold(self, path):
        """Answers for this path wait until the event that is returned is set."""
        return self.held.setdefault(path, threading.Event())

    def count(self, path):
        return self.asked.count(path)
