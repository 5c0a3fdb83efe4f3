"""cache.py BUILD FOLDER BASE URLS PROVIDERS PAGES PORT PASSWORD: what cache.sh measures, on a copy of the databases in
BASE. CPU and bytes are those that the kernel counts for the processes that are named, and for no other."""
import contextlib
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ET

SECONDS = 3600               # and a run is given up
ROUNDS = 3
TICKS = os.sysconf("SC_CLK_TCK")
ROBOT = "[robot]\nnetworks = 127.0.0.0/8\ndelay = 0\nconcurrent = 8\n"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def until(what, is_so, pause=0.2):
    end = time.monotonic() + SECONDS
    while not is_so():
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not after {SECONDS} s")
        time.sleep(pause)


class Processes:
    """Roles of one garner, each started by itself; ready when they say so."""

    def __init__(self, garner, folder, config):
        self.garner, self.folder, self.running = garner, folder, {}
        self.conf = f"{folder}/conf"
        with open(self.conf, "w", encoding="ascii") as f:
            f.write(f"data = {folder}/data\n{ROBOT}{config}")
        path = f"{folder}/notify"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notify.bind(path)
        self.notify.settimeout(SECONDS)

    def start(self, role):
        """Returns how long it took until it was ready, in seconds."""
        with open(f"{self.folder}/log", "ab") as log:
            begin = time.monotonic()
            self.running[role] = subprocess.Popen(
                [self.garner, "-c", self.conf, role], stdout=log, stderr=log,
                env={**os.environ, "NOTIFY_SOCKET": f"{self.folder}/notify"})
        self.notify.settimeout(1)
        while True:
            try:
                if b"READY=1" in self.notify.recv(4096):
                    break
            except TimeoutError:
                if self.running[role].poll() is not None or time.monotonic() > begin + SECONDS:
                    raise ChildProcessError(f"{role} does not start: see {self.folder}/log") from None
        return time.monotonic() - begin

    def cpu_s(self, *roles):
        total = 0
        for role in roles:
            with open(f"/proc/{self.running[role].pid}/stat", encoding="ascii") as f:
                fields = f.read().rpartition(") ")[2].split()
            total += int(fields[11]) + int(fields[12])
        return total / TICKS

    def written(self, *roles):
        total = 0
        for role in roles:
            with open(f"/proc/{self.running[role].pid}/io", encoding="ascii") as f:
                total += next(int(line.split()[1]) for line in f if line.startswith("write_bytes"))
        return total

    def kill(self, role):
        process = self.running.pop(role)
        process.kill()
        process.wait()

    def stop(self):
        for process in self.running.values():
            process.send_signal(signal.SIGTERM)
        for process in self.running.values():
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.running = {}

    def cache(self):
        out = subprocess.run([self.garner, "-c", self.conf, "cache", "status", "--json"], stdout=subprocess.PIPE,
                             check=True).stdout
        return json.loads(out)["cache"]


class Session:
    """Of provider 1 with uns, as doc/protocols/lococa.md has it."""

    def __init__(self, port, password):
        self.sock = socket.create_connection(("127.0.0.1", port))
        self.say(f'<lococa:init xmlns:lococa="http://www.lococa.org/1.0"><provider id="1" passwd="{password}"/>'
                 "</lococa:init>")
        self.heard = b""
        self.wait(b"</lococa:init_accepted>")

    def say(self, text):
        self.sock.sendall(text.encode())

    def wait(self, end):
        while end not in self.heard:
            piece = self.sock.recv(1 << 16)
            if not piece:
                raise ConnectionError(f"uns hung up: {self.heard[-500:]!r}")
            self.heard += piece
        self.heard, said = b"", self.heard
        return said

    def send(self, path):
        with open(path, "rb") as f:
            self.sock.sendfile(f)
        said = self.wait(b"</lococa:set_result>")
        if b"<set_accepted" not in said:
            raise ValueError(f"the set was not taken: {said[:500]!r}")


def set_write(path, port, numbers, new=""):
    with open(path, "w", encoding="ascii") as f:
        f.write(f'<lococa:set set="partial" urlprefix="http://127.1.1.1:{port}/u/">\n')
        f.writelines(f'<url c="{new}{k}/1k.html" mime="text/html" mtime="1790000000" size="1000"/>\n' for k in numbers)
        f.write("</lococa:set>")


class Source:
    """A source of URLs that keeps nothing: it says what is to be fetched, and that each file is kept."""

    def __init__(self, port, urls):
        self.urls, self.total = urls, 0
        self.out = self.done = self.capacity = 0
        self.failed = None
        self.server = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self.run, daemon=True).start()

    def fill(self, sock):
        room = self.capacity + self.capacity // 10 - self.out
        lines = [f'<fetch id="b{n}" url="{url}" within="{url.rpartition("/u/")[0]}/u/" mime="text/html" delay="0" '
                 'robots="no"/>\n' for n, url in itertools.islice(self.urls, max(room, 0))]
        self.out += len(lines)
        if lines:
            sock.sendall("".join(lines).encode())

    def answer(self, element, said):
        if element.tag == "botm":
            self.capacity = int(element.get("capacity"))
        elif element.tag == "fetched":
            if element.get("outcome") != "ok":
                self.failed = dict(element.attrib)
            said.append(f'<kept id="{element.get("id")}" file="{element.get("file")}" '
                        f'machine="{element.get("machine")}"/>\n')
            self.out -= 1
            self.done += 1
        element.clear()

    def run(self):
        sock, _ = self.server.accept()
        parser = ET.XMLPullParser(["end"])
        parser.feed("<stream>")
        while piece := sock.recv(1 << 18):
            said = []
            parser.feed(piece)
            for _, element in parser.read_events():
                self.answer(element, said)
            if said:
                sock.sendall("".join(said).encode())
            self.fill(sock)


def fabric(below, source):
    return f"[botm]\nlisten = 127.0.0.1:{below}\nsource = 127.0.0.1:{source}\nmachine = m\n" \
           f"[bot]\nbotm = 127.0.0.1:{below}\n"


def bare_fetch_us(garner, folder, urls):
    """CPU a URL of a botm and two bots with a source that does nothing."""
    os.makedirs(folder)
    below, port = free_port(), free_port()
    source = Source(port, iter(enumerate(urls)))
    p = Processes(garner, folder, fabric(below, port))
    try:
        for role in ("botm", "bot@1", "bot@2"):
            p.start(role)
        until("bare botm and bots", lambda: source.done == len(urls) or source.failed)
        if source.failed:
            raise ValueError(f"a page could not be had: {source.failed}")
        return p.cpu_s("botm", "bot@1", "bot@2") / len(urls) * 1e6
    finally:
        p.stop()


def fetch(p, pages, left):
    """CPU a URL from queue to stored, by role."""
    roles = ("qm", "botm", "bot@1", "bot@2")
    for role in roles:
        p.start(role)
    before = p.cpu_s("qm")
    p.notify.settimeout(0.01)
    begin = p.cache()["stored"]
    until("the queue is fetched", lambda: p.cache()["queued"] <= left, 0.5)
    stored = p.cache()["stored"] - begin
    if stored < pages:
        print(f"  {stored} pages in place of {pages} were stored meanwhile")
    us = {role: p.cpu_s(role) / pages * 1e6 for role in roles}
    p.stop()
    return us, before


def absorbed(p):
    s = p.cache()
    return s["open_sets"] == 0 and s["unsdb_bytes"] < 4096


def intake(p, session_port, password, path, urls):
    for role in ("qm", "uns"):
        p.start(role)
    session = Session(session_port, password)
    cpu = {role: p.cpu_s(role) for role in ("qm", "uns")}
    written = {role: p.written(role) for role in ("qm", "uns")}
    begin = time.monotonic()
    session.send(path)
    accepted = time.monotonic() - begin
    until("the set is absorbed", lambda: absorbed(p))
    wall = time.monotonic() - begin
    time.sleep(1)
    cpu = {role: (p.cpu_s(role) - cpu[role]) / urls * 1e6 for role in cpu}
    written = {role: (p.written(role) - written[role]) / urls for role in written}
    print(f"  intake: accepted after {accepted:.1f} s, absorbed after {wall:.1f} s; CPU a URL: " +
          ", ".join(f"{role} {us:.2f} us" for role, us in cpu.items()) + "; written: " +
          ", ".join(f"{role} {n:.0f} bytes" for role, n in written.items()), flush=True)
    return sum(cpu.values()), sum(written.values())


def ready(p, session_port, password, folder, port, urls, round_):
    """Killed while it absorbs a set: seconds until the next one is ready."""
    path = f"{folder}/more"
    set_write(path, port, range(urls), f"r{round_}-")
    Session(session_port, password).send(path)
    time.sleep(0.5)
    p.kill("qm")
    return p.start("qm")


def main(build, folder, base, urls, providers, pages, port, password):
    garner, urls, providers, pages = f"{build}/garner", int(urls), int(providers), int(pages)
    many = [f"http://127.0.{1 + i // 250}.{1 + i % 250}:{port}/u/{k}/1k.html" for k in range(pages)
            for i in range(1, providers)]
    ours = f"{folder}/ours"
    os.makedirs(f"{ours}/data")
    begin = time.monotonic()
    subprocess.run(["cp", "-r", "--reflink=auto", base, f"{ours}/data/cache"], check=True)
    size = os.path.getsize(f"{base}/cache.db")
    print(f"  {size / 1e6:.0f} MB of databases copied in {time.monotonic() - begin:.0f} s", flush=True)
    ports = {name: free_port() for name in ("uns", "qm", "botm", "below")}
    p = Processes(garner, ours, f"[uns]\nlisten = 127.0.0.1:{ports['uns']}\nqm = 127.0.0.1:{ports['qm']}\n"
                                f"[qm]\nlisten = 127.0.0.1:{ports['qm']}\nbotm_listen = 127.0.0.1:{ports['botm']}\n"
                                + fabric(ports["below"], ports["botm"]))
    try:
        bare = [bare_fetch_us(garner, f"{folder}/bare{i}", many) for i in range(ROUNDS)]
        bare_us = sorted(bare)[ROUNDS // 2]
        print(f"  fetch: bare botm and bots {bare_us:.1f} us a URL ({', '.join(f'{us:.1f}' for us in bare)})",
              flush=True)
        us, start_s = fetch(p, len(many), urls // 3)
        print("  fetch: " + ", ".join(f"{role} {v:.1f} us" for role, v in us.items()) +
              f" a URL, of which qm's start is {start_s / len(many) * 1e6:.1f} us", flush=True)
        ratio = sum(us.values()) / bare_us
        path = f"{folder}/set"
        set_write(path, port, range(urls))
        cpu, written = intake(p, ports["uns"], password, path, urls)
        times = [ready(p, ports["uns"], password, folder, port, urls // 3, i) for i in range(ROUNDS)]
        print(f"  ready after kill -9: {', '.join(f'{s:.2f}' for s in times)} s", flush=True)
        until("the sets are absorbed", lambda: absorbed(p))
    except Exception:
        with open(f"{ours}/log", encoding="utf-8", errors="replace") as log:
            print("".join(log.readlines()[-40:]), end="")
        raise
    finally:
        p.stop()
    rival = subprocess.run([f"{build}/bench/cache-fill", "--bare", f"{ours}/data/cache", str(urls)],
                           stdout=subprocess.PIPE, check=False).stdout.split()
    shutil.rmtree(f"{ours}/data")
    if rival:
        print(f"  bare SQLite: {float(rival[0]):.2f} us and {float(rival[1]):.0f} bytes a row of the same set")
    print(f"figure cache.intake_us {cpu:.2f} us")
    print(f"figure cache.intake_bytes {written:.0f} bytes")
    if rival:
        print(f"ratio cache.intake_sqlite {cpu / float(rival[0]):.2f}")
    print(f"ratio cache.fetch {ratio:.3f}")
    print(f"figure cache.ready_s {sorted(times)[ROUNDS // 2]:.2f} s")


main(*sys.argv[1:])
