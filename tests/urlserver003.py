"""A URL server written from document 003 alone, to try a spider with.

    with Urlserver(path) as us:                 # a Unix socket, or (host, port)
        us.send("1.1", "doc-1", "127.10.0.1", "http://h0.sim.test:8000/")
        us.wait_done("1.1")                     # us.done: TRANS_ID to what follows DONE
"""
import collections
import socket
import threading

from docindex import connect
from garner import wait_for


class Urlserver:
    def __init__(self, where, reads=True):
        self.socket = connect(where)
        self.done, self.working, self.strange = {}, collections.Counter(), []
        self.closed = False
        if reads:
            threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        try:
            for line in self.socket.makefile("rb"):
                self._heard(line)
        except OSError:
            pass
        self.closed = True

    def _heard(self, line):
        words = line.decode("ascii", "replace").split(" ")
        if not line.endswith(b"\n"):
            self.strange.append(line)
        elif words[1:] == ["WORKING\n"]:
            self.working[words[0]] += 1
        elif len(words) in (2, 3) and words[1].strip() == "DONE" and words[0] not in self.done:
            self.done[words[0]] = words[2].strip() if len(words) == 3 else ""
        else:
            self.strange.append(line)

    def raw(self, data):
        self.socket.sendall(data)

    def send(self, trans, doc, ip, url):
        self.raw(f"{trans} {doc} {ip} {url}\n".encode())

    def wait_done(self, *trans, seconds=30):
        wait_for(f"DONE of {trans[:5]}", lambda: set(trans) <= set(self.done), seconds)

    def close(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
