"""HTTP as scenes speak it: whole requests, and raw bytes for those that are none."""
import http.client
import os
import re
import socket
import threading
import time

DEMO = "tests/garner-http"


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def __repr__(self):
        return f"<{self.status} {dict(self.headers)} {self.body[:200]!r}>"


class Site:
    """A server that runs, by its address; g is the Garner it belongs to."""

    def __init__(self, process, port):
        self.process, self.port = process, port

    def ask(self, path, method="GET", body=None, connection=None, **headers):
        """Names of headers with _ for -."""
        c = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        c.request(method, path, body, {k.replace("_", "-"): v for k, v in headers.items()})
        r = c.getresponse()
        answer = Answer(r.status, r.headers, r.read())
        if not connection:
            c.close()
        return answer

    def keep(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)

    def raw(self, data=b"", timeout=20.0, source="127.0.0.1"):
        s = socket.create_connection(("127.0.0.1", self.port), timeout, (source, 0))
        s.sendall(data)
        return s

    def say(self, data):
        """Sends bytes and reads until the server closes; what came is returned."""
        with self.raw(data) as s:
            return everything(s)

    def counter(self, name):
        """One of its counters."""
        found = re.search(rf"^garner_\w+?_{name}{{.*}} (\d+)$", self.g.run("status", "--metrics").out, re.M)
        return int(found.group(1))

    def memory(self, what="VmRSS"):
        """Bytes that the process holds; 0 with the sanitizers, which keep what was given back."""
        if os.environ.get("GARNER_BUILD"):
            return 0
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as f:
            return int(re.search(rf"{what}:\s+(\d+)", f.read()).group(1)) * 1024


def everything(s):
    got = bytearray()
    try:
        while part := s.recv(65536):
            got += part
    except ConnectionError:
        pass
    return bytes(got)


def until(s, end):
    """Reads up to these bytes."""
    got = bytearray()
    while end not in got[-65536 - len(end):]:
        part = s.recv(65536)
        assert part, f"closed before {end!r}: {bytes(got[-1000:])!r}"
        got += part
    return bytes(got)


def alone(g, role, env=None):
    """A role that serves HTTP in a process of its own."""
    process = g.start(role, env=env).wait_ready()
    line = process.wait_line("listening")
    site = Site(process, int(re.search(r"address=127\.0\.0\.1:(\d+)", line).group(1)))
    site.g = g
    return site


def demo(garner, **settings):
    """The demonstration server alone, on a port of its own."""
    text = "".join(f"{k} = {v}\n" for k, v in settings.items())
    return alone(garner(config=f"[demo]\nlisten = 127.0.0.1:0\n{text}", program=DEMO), "demo")


def web(garner, roles="web", **settings):
    """garner up with the role web."""
    text = "".join(f"{k} = {v}\n" for k, v in settings.items())
    g = garner(config=f"[up]\nroles = {roles}\n[web]\nlisten = 127.0.0.1:0\n{text}")
    up = g.start("up").wait_ready()
    line = up.wait_line("garner is up")
    site = Site(up, int(re.search(r"web on http://127\.0\.0\.1:(\d+)/", line).group(1)))
    site.g = g
    return site


def closes(s, timeout=20.0):
    """Waits until the server has closed it."""
    s.settimeout(timeout)
    return everything(s)


def drip(send, byte):
    """A client that goes on for ever, a byte at a time: sends until the server has closed it. Returns
    the thread to join."""
    def run():
        try:
            while True:
                send(byte)
                time.sleep(0.02)
        except OSError:
            pass
    thread = threading.Thread(target=run)
    thread.start()
    return thread
