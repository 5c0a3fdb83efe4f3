"""A spider written from document 003 alone: it listens, takes `TRANS_ID DOC_ID HOST_IP URL` lines, and
says WORKING and DONE. It fetches nothing: `work(job)` says what becomes of a URL. It notes what it
was told, so that a test can look whether the URL server kept its manners."""
import socket
import threading
import time
from dataclasses import dataclass, field


@dataclass
class Job:
    trans: str
    doc: str
    ip: str
    url: str
    at: float = field(default_factory=time.monotonic)
    conn: object = None
    done_at: float = None


class Spider:
    """`work(spider, job)` is called in a thread of the connection for each line; by default DONE at
    once. say() sends a line; cut() ends the connection."""

    def __init__(self, work=None, address=("127.0.0.1", 0)):
        self.work = work or (lambda s, job: s.done(job))
        self.jobs = []
        self.bad = []  # lines that are not what the document says
        self.lock = threading.Lock()
        self.conns = set()
        self.connections = 0
        self.listener = socket.create_server(address)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                conn, _ = self.listener.accept()
            except OSError:
                return
            with self.lock:
                self.conns.add(conn)
                self.connections += 1
            threading.Thread(target=self._serve, args=(conn,), daemon=True).start()

    def _serve(self, conn):
        try:
            with conn.makefile("rb") as lines:
                for line in lines:
                    words = line.decode().split(" ")
                    if len(words) != 4 or not line.endswith(b"\n"):
                        self.bad.append(line)
                        continue
                    job = Job(*words[:3], words[3][:-1], conn=conn)
                    with self.lock:
                        self.jobs.append(job)
                    self.work(self, job)
        except OSError:
            pass
        with self.lock:
            self.conns.discard(conn)

    def say(self, line, conn=None):
        try:
            (conn or next(iter(self.conns))).sendall(line.encode() + b"\n")
        except (OSError, StopIteration):
            pass

    def done(self, job, word=""):
        job.done_at = time.monotonic()
        self.say(f"{job.trans} DONE{' ' + word if word else ''}", job.conn)

    def working(self, job):
        self.say(f"{job.trans} WORKING", job.conn)

    def cut(self):
        with self.lock:
            for conn in self.conns:
                try:
                    conn.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def close(self):
        """As if it had been killed: nobody listens there any more."""
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.cut()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.listener.fileno() >= 0:
            self.close()
