"""archie.py BUILD FOLDER DATA SCALE: the interfaces of an archive, asked by clients whose own work does not count. The
CPU of a search is that of all garner's processes, as the scheduler says, less what the names library takes for the
same queries in one process of its own (`garner index names query --batch`). For archie.sh."""
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
import telnet_memory  # noqa: E402

REPEATS = 3
QUERIES = 1000                  # with so many hits as are asked for
RATE, EXACT_S = 200, 20         # exact searches a second, for so long
HEAVY = 20                      # expressions without literals that wait meanwhile
SESSIONS = 1000                 # of telnet, idle
SECONDS = 600                   # and an answer is given up


def free_port(kind=socket.SOCK_STREAM):
    with socket.socket(type=kind) as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def median(values):
    return sorted(values)[len(values) // 2]


class Garner:
    """garner up with its roles, over the database of DATA."""

    def __init__(self, build, folder, data, roles):
        self.program = f"{build}/garner"
        self.ng = ("127.0.0.1", free_port())
        self.telnet = free_port()
        self.prospero = free_port(socket.SOCK_DGRAM)
        self.log = f"{folder}/garner.log"
        conf = f"{folder}/garner.conf"
        Path(conf).write_text(f"data = {data}\n[up]\nroles = {roles}\n[archie-ng]\nlisten = 127.0.0.1:{self.ng[1]}\n"
                              f"max_per_address = 1000\n[archie-telnet]\nlisten = 127.0.0.1:{self.telnet}\n"
                              f"max_sessions = {2 * SESSIONS}\nmax_per_address = {2 * SESSIONS}\n"
                              f"[archie-prospero]\nlisten = udp:127.0.0.1:{self.prospero}\nunacked = 1G\n",
                              encoding="ascii")
        with open(self.log, "wb") as log:
            self.up = subprocess.Popen([self.program, "-c", conf, "up"], stdout=log, stderr=log)

    def pids(self):
        """All processes below it."""
        found, todo = [], [self.up.pid]
        while todo:
            pid = todo.pop()
            found.append(pid)
            try:
                for task in Path(f"/proc/{pid}/task").iterdir():
                    todo += map(int, (task / "children").read_text().split())
            except FileNotFoundError:
                pass
        return found

    def cpu_us(self):
        """Of all of them."""
        total = 0
        for pid in self.pids():
            for task in Path(f"/proc/{pid}/task").iterdir():
                total += int((task / "schedstat").read_text().split()[0]) / 1000
        return total

    def role(self, name):
        """The process id of a role."""
        for pid in self.pids():
            if name in Path(f"/proc/{pid}/cmdline").read_text().split("\0"):
                return pid
        raise RuntimeError(f"no {name}")

    def stop(self):
        self.up.send_signal(signal.SIGTERM)
        self.up.wait(60)


class Ng:
    """A client of the line protocol."""

    def __init__(self, address, source="127.0.0.1", tries=100):
        for left in range(tries, 0, -1):
            try:
                self.socket = socket.create_connection(address, SECONDS, (source, 0))
                break
            except ConnectionRefusedError:
                if left == 1:
                    raise
                time.sleep(0.1)
        self.file = self.socket.makefile("rb", 1 << 16)

    def say(self, line):
        self.socket.sendall(line.encode() + b"\n")

    def answer(self):
        """Its last line, and how many came before it."""
        n = 0
        while True:
            line = self.file.readline()
            if line.startswith((b"OK ", b"ERROR ")):
                return line.decode().rstrip("\n"), n
            if not line:
                raise ConnectionError("the server hung up")
            n += 1

    def ask(self, line):
        self.say(line)
        return self.answer()

    def good(self, line):
        said, n = self.ask(line)
        if not said.startswith("OK "):
            raise RuntimeError(f"{line}: {said}")
        return n


def patterns(folder, kind):
    lines = Path(f"{folder}/queries/{kind}.tsv").read_text(encoding="utf-8").splitlines()
    return [line.split("\t")[1] for line in lines]


def library_us(program, data, asked, hits):
    """What the library takes for these, on average: the best of some rounds of each. Also which have all their hits."""
    done = subprocess.run([program, "index", "names", "query", "--batch", "--type", "sub", "-k", str(hits),
                           f"{data}/archie"], input="".join(f"{a}\n" for a in asked * REPEATS), text=True, check=True,
                          stdout=subprocess.PIPE)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    n = len(asked)
    if len(answers) != n * REPEATS:
        raise RuntimeError("the library has not answered all")
    return [(min(a["us"] for a in answers[i::n]), len(answers[i]["hits"])) for i in range(n)]


def with_hits(program, data, folder, hits, most):
    """Queries with so many hits, and the library's time for all of them."""
    asked = patterns(folder, "sub")
    took = library_us(program, data, asked, hits)
    chosen = [(a, us) for a, (us, n) in zip(asked, took) if n == hits][:most]
    if len(chosen) < most / 4:
        raise RuntimeError(f"only {len(chosen)} queries have {hits} hits")
    return [a for a, _ in chosen], sum(us for _, us in chosen)


def measure(garner, name, queries, library, ask_all):
    """CPU of a query beyond the library: the median of some rounds, after one that does not count."""
    rounds = []
    for i in range(REPEATS + 1):
        before = garner.cpu_us()
        ask_all()
        rounds.append((garner.cpu_us() - before) / len(queries))
        print(f"  {name}: round {i} of {REPEATS}, {rounds[-1]:.0f} us a query", flush=True)
    all_us, names_us = median(rounds[1:]), library / len(queries)
    print(f"  {name}: {len(queries)} queries, {all_us:.1f} us of CPU each, of which the names library takes {names_us:.1f}")
    print(f"figure archie.{name}_us {all_us - names_us:.1f} us")


def ng_queries(garner, data, folder, scale):
    queries, library = with_hits(garner.program, data, folder, 100, int(QUERIES * min(1, scale)))
    client = Ng(garner.ng)

    def ask_all():
        for q in queries:
            if client.good(f"FIND {q}") != 100:
                raise RuntimeError(f"{q}: not 100 hits")
    measure(garner, "ng", queries, library, ask_all)


def prospero_queries(garner, build, data, folder, scale):
    """One after the other by one process, as those of archie-ng: 1000 programs that begin would empty the caches of
    the processor between them. At the end it says what it costs to send packets of these sizes to nobody."""
    queries, library = with_hits(garner.program, data, folder, 95, int(QUERIES * min(1, scale)))
    bare = []

    def ask_all():
        done = subprocess.run([f"{build}/tests/prospero-ask", f"127.0.0.1:{garner.prospero}", "version=1",
                               "name=ARCHIE/MATCH(95,0,S)/", "lines=1", "bare=3"], capture_output=True, text=True,
                              input="".join(f"{q}\n" for q in queries), timeout=SECONDS)
        if done.returncode:
            raise RuntimeError(done.stderr)
        bare.append(json.loads(done.stdout)["bare_us"])
    measure(garner, "prospero", queries, library, ask_all)
    print(f"  prospero: bare sending of the same packets, {sum(bare) / len(bare):.1f} us a reply")
    print(f"figure archie.prospero_bare_us {sum(bare) / len(bare):.1f} us")


def exact_among_heavy(garner, folder, scale):
    """Exact searches at fixed times, each on the next of some connections; late is counted from its time."""
    heavy, exact, took, ended = patterns(folder, "regex0"), patterns(folder, "exact"), [], threading.Event()
    done = [0]

    def burden(i):
        client = Ng(garner.ng, source="127.0.0.2")
        for line in ("SET search regex", "SET syntax extended", "SET maxhits 10000"):
            client.good(line)
        for n in range(len(heavy)):
            if ended.is_set():
                return
            said, _ = client.ask(f"FIND {heavy[(i + n * HEAVY) % len(heavy)]}")
            if said.startswith("OK "):
                done[0] += 1
            elif not ended.is_set():
                raise RuntimeError(said)

    clients = [Ng(garner.ng) for _ in range(8)]
    for c in clients:
        c.good("SET search exact")
    threads = [threading.Thread(target=burden, args=(i,), daemon=True) for i in range(HEAVY)]
    for t in threads:
        t.start()
    time.sleep(1)
    total = int(RATE * EXACT_S * min(1, scale))
    begin = time.monotonic() + 0.1

    def light(k):
        for i in range(k, total, len(clients)):
            at = begin + i / RATE
            time.sleep(max(0, at - time.monotonic()))
            clients[k].good(f"FIND {exact[i % len(exact)]}")
            took.append(time.monotonic() - at)

    lights = [threading.Thread(target=light, args=(k,)) for k in range(len(clients))]
    for t in lights:
        t.start()
    for t in lights:
        t.join(SECONDS)
    if len(took) != total:
        raise RuntimeError(f"{len(took)} of {total} exact searches were answered")
    ended.set()
    took.sort()
    print(f"  exact: {total} searches, {RATE} a second, while {done[0]} expressions were searched: median "
          f"{took[total // 2] * 1000:.1f} ms, worst {took[-1] * 1000:.1f} ms")
    print(f"figure archie.exact_p99_ms {took[int(total * 0.99)] * 1000:.1f} ms")


def idle_sessions(garner, scale):
    if os.geteuid():
        print("  sessions: only root sees what they take, not measured")
        return
    n = int(SESSIONS * min(1, scale))
    mean, most, own, parent, took = telnet_memory.measure(garner.role("archie-telnet"), garner.telnet, n)
    print(f"  sessions: {n} idle ones, PSS {mean:.0f} KiB each, at most {most}, of which {own:.0f} are its own; the role "
          f"{parent} KiB; begun in {took:.1f} s")
    print(f"figure archie.session_kb {mean:.0f} KiB")


def main(build, folder, data, scale):
    garner = Garner(build, folder, data, "archie-queuer archie-ng archie-telnet archie-prospero")
    try:
        ng_queries(garner, data, folder, scale)
        prospero_queries(garner, build, data, folder, scale)
        exact_among_heavy(garner, folder, scale)
        idle_sessions(garner, scale)
    finally:
        garner.stop()


main(sys.argv[1], sys.argv[2], os.path.abspath(sys.argv[3]), float(sys.argv[4]))
