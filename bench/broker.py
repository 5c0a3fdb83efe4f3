"""broker.py GARNER FOLDER OBJECTS: a broker of its own that collects so many objects from a folder of SOIF files, and
clients of its port. What clients and glimpse take does not count. For broker.sh."""
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time

SEED = 20
A_FILE = 1000           # objects
DISTINCT = 60000        # words
QUERIES, REPEATS = 2000, 3
HEAVY = 16              # from as many addresses
LIGHT_S = 120           # that light ones are measured among them, at most
GLIMPSE_QUERIES = 200
SECONDS = 3600          # and it is given up
TICKS = os.sysconf("SC_CLK_TCK")
LIGHT = "#USER #desc #opaque #END "
# What it finds has no letter of its own and is not within one word, so all text is read.
HEAVY_LINE = '#USER #opaque #END full-text regexp "[a-z][.][a-z]"'


# The objects

def vocabulary(dice):
    """The most frequent first. Every fifth is a longer form of another."""
    words = {}
    while len(words) < DISTINCT:
        word = "".join(dice.choices("eeeetaoinshrdlucmfwypvbgk", k=dice.randint(3, 9)))
        words[word] = None
        if dice.random() < 0.2:
            words[word + dice.choice(["s", "er", "ing", "ed"])] = None
    words = list(words)[:DISTINCT]
    dice.shuffle(words)
    return words


def make(folder, objects, dice, words):
    """Objects of about 1 KB with words of the frequencies that words have."""
    pool = dice.choices(words, [1 / (n + 10) for n in range(DISTINCT)], k=1 << 20)
    now = int(time.time())
    os.makedirs(f"{folder}/data/in")
    for first in range(0, objects, A_FILE):
        with open(f"{folder}/data/in/{first // A_FILE + 1}.soif", "w", encoding="ascii") as out:
            for n in range(first, min(objects, first + A_FILE)):
                at = dice.randrange(len(pool) - 200)
                text = "\n".join(" ".join(pool[i:i + 12]).capitalize() + "." for i in range(at + 20, at + 128, 12))
                attributes = {"Gatherer-Name": "bench", "Gatherer-Host": "localhost", "Gatherer-Version": "1",
                              "Update-Time": now, "Time-to-Live": 100000000, "MD5": f"{n:032x}", "Type": "HTML",
                              "File-Size": len(text), "Title": " ".join(pool[at:at + 5]).title(),
                              "Description": " ".join(pool[at + 5:at + 20]).capitalize(), "Full-Text": text}
                lines = "".join(f"{k}{{{len(str(v))}}}:\t{v}\n" for k, v in attributes.items())
                out.write(f"@FILE {{ http://host{n % 997}.example/{n}\n{lines}}}\n")
        if first % (100 * A_FILE) == 0:
            print(f"  {first} of {objects} objects are made", flush=True)


def middling(dice, words):
    """Words as people ask for them, of middle frequency: in about 50 to 10,000 of a million objects."""
    return dice.sample([w for w in words[1000:30000] if len(w) >= 5], QUERIES)


# The broker

def cpu_of(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


class Broker:
    def __init__(self, garner, folder, objects):
        self.folder, self.objects = folder, objects
        self.env = {**os.environ, "GARNER_DATA": f"{folder}/data"}
        with open(f"{folder}/log", "wb") as log:
            self.process = subprocess.Popen(
                [garner, "-s", "broker.sources=soif:in", "-s", "broker.listen=127.0.0.1:0", "-s",
                 "web.url=http://pages.test", "broker"], cwd=folder, env=self.env, stdout=log, stderr=log)
        self.pid, self.begin = self.process.pid, time.monotonic()

    def log(self):
        with open(f"{self.folder}/log", encoding="utf-8", errors="replace") as f:
            return f.read()

    def look(self):
        if self.process.poll() is not None or time.monotonic() - self.begin > SECONDS:
            sys.exit(f"broker: it ended, or took more than {SECONDS} s:\n{self.log()}")

    def wait(self):
        """Until all objects are found and nothing is merged any more."""
        while not (m := re.search(r"listening.*address=127\.0\.0\.1:(\d+)", self.log())):
            self.look()
            time.sleep(0.1)
        self.address = "127.0.0.1", int(m.group(1))
        told = 0
        while told < self.objects:
            time.sleep(1)
            self.look()
            told = self.documents()
            took = time.monotonic() - self.begin
            print(f"  {took:6.1f} s: {told} of {self.objects} objects are indexed", flush=True)
        quiet, last = 0, cpu_of(self.pid)
        while quiet < 6:
            time.sleep(1)
            self.look()
            now = cpu_of(self.pid)
            quiet = quiet + 1 if now - last < 0.03 else 0
            last = now
        print(f"  {time.monotonic() - self.begin:6.1f} s: it is quiet, after {last:.1f} s of CPU", flush=True)

    def documents(self):
        done = subprocess.run([GARNER, "status", "--json"], cwd=self.folder, env=self.env, capture_output=True,
                              text=True)
        m = re.search(r'"documents"[^}]*?"value":\s*(\d+)', done.stdout)
        return int(m.group(1)) if m else 0

    def stop(self):
        self.process.terminate()
        self.process.wait()


def ask(address, line, source="127.0.0.1"):
    with socket.socket() as s:
        s.bind((source, 0))
        s.connect(address)
        s.sendall(line.encode() + b"\n")
        parts = []
        while piece := s.recv(1 << 18):
            parts.append(piece)
    return b"".join(parts)


def objects_in(answer):
    if b"\n126 - " not in answer:
        sys.exit(f"broker: not a whole answer: {answer[-300:]!r}")
    return answer.count(b"\n130 - object end\n")


def median(values):
    return sorted(values)[len(values) // 2]


# What is measured

def queries(broker, words, flags):
    """CPU and wall seconds for each, objects in each; the median of several rounds, after one to warm up."""
    spent, walls, found = [], [], 0
    for turn in range(REPEATS + 1):
        before, start, found = cpu_of(broker.pid), time.monotonic(), 0
        for word in words:
            found += objects_in(ask(broker.address, flags + word))
        if turn:
            spent.append((cpu_of(broker.pid) - before) / len(words))
            walls.append((time.monotonic() - start) / len(words))
    return median(spent), median(walls), found / len(words)


def heavy(host, port):
    """Clients from addresses of their own that ask again and again, until they are ended; a line for each answer."""
    def go(number):
        while True:
            answer = ask((host, int(port)), HEAVY_LINE, f"127.0.0.{number + 2}")
            print("cut" if b"lifetime" in answer else "whole" if b"\n126 - " in answer else "refused", flush=True)
    for number in range(HEAVY):
        threading.Thread(target=go, args=(number,), daemon=True).start()
    threading.Event().wait()


def among_heavy(broker, words):
    """Sorted wall seconds of light ones, one after the other, how many processors the broker took, and what the heavy
    ones came to."""
    child = subprocess.Popen([sys.executable, "-B", __file__, "heavy", *map(str, broker.address)],
                             stdout=subprocess.PIPE, text=True)
    try:
        time.sleep(3)
        before, begin, walls = cpu_of(broker.pid), time.monotonic(), []
        for word in words:
            start = time.monotonic()
            if start - begin > LIGHT_S:
                break
            objects_in(ask(broker.address, LIGHT + word))
            walls.append(time.monotonic() - start)
            time.sleep(0.01)
        busy = (cpu_of(broker.pid) - before) / (time.monotonic() - begin)
    finally:
        child.terminate()
        told = child.communicate()[0].split()
    return sorted(walls), busy, told


def bulk(broker):
    """Bytes and CPU seconds of a whole transfer, read as fast as it comes."""
    into, total, last = bytearray(1 << 20), 0, b""
    before = cpu_of(broker.pid)
    with socket.create_connection(broker.address) as s:
        s.sendall(b"#BULK #since 0 #END #allb\n")
        while n := s.recv_into(into):
            total += n
            last = (last + into[max(0, n - 100):n])[-100:]
    if b"\n099 - " not in last:
        sys.exit(f"broker: not a whole transfer: {bytes(last)!r}")
    return total, cpu_of(broker.pid) - before


def glimpse(folder, words):
    """CPU and wall seconds for each query over the same files."""
    sys.path.insert(0, "tests")
    import peers  # noqa: PLC0415
    try:
        peer = peers.get("glimpse")
        programs = [str(peer.program(p)) for p in ("glimpseindex", "glimpse")]
    except peers.Absent as e:
        print(f"rival glimpse: absent ({e})")
        return
    index, env = f"{folder}/glimpse", peer.environment()
    if not os.path.exists(f"{index}/.glimpse_index"):
        os.makedirs(index, exist_ok=True)
        start = time.monotonic()
        subprocess.run([programs[0], "-H", index, "-o", "-n", f"{folder}/data/in"], env=env, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        print(f"  glimpseindex took {time.monotonic() - start:.0f} s", flush=True)
    spent, walls, lines = [], [], 0
    for word in words:
        start = time.monotonic()
        child = subprocess.Popen([programs[1], "-H", index, "-y", "-h", "-L", "50", word], env=env,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        lines += child.stdout.read().count(b"\n")
        _, _, used = os.wait4(child.pid, 0)
        child.returncode = 0
        spent.append(used.ru_utime + used.ru_stime)
        walls.append(time.monotonic() - start)
    print(f"glimpse, {A_FILE} objects in a file: {median(spent) * 1e6:.0f} us of CPU and {median(walls) * 1e6:.0f} us "
          f"at the median, {sum(spent) / len(spent) * 1e6:.0f} us of CPU on average, {lines // len(words)} lines each")


def main(folder, objects):
    dice = random.Random(SEED)
    words = vocabulary(dice)
    if not os.path.exists(f"{folder}/made"):
        print(f"broker: making {objects} objects", flush=True)
        subprocess.run(["rm", "-rf", folder], check=True)
        make(folder, objects, random.Random(SEED + 1), words)
        open(f"{folder}/made", "w").close()
    asked = middling(dice, words)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # nothing is left running
    broker = Broker(GARNER, folder, objects)
    try:
        broker.wait()
        cost, wall, found = queries(broker, asked, LIGHT)
        print(f"queries: {QUERIES}, {found:.1f} objects each, {cost * 1e6:.0f} us of CPU and {wall * 1e6:.0f} us of "
              f"wall time with the client", flush=True)
        word_cost, _, _ = queries(broker, asked, LIGHT.replace("#END", "#index case insensitive #index matchword #END"))
        print(f"as the classic form asks (capitals do not count, whole words): {word_cost * 1e6:.0f} us of CPU",
              flush=True)
        walls, busy, told = among_heavy(broker, asked)
        print(f"{len(walls)} light ones among {HEAVY} heavy: {walls[len(walls) // 2] * 1e3:.1f} ms at the median, "
              f"{walls[-1] * 1e3:.1f} ms at most; the broker took {busy:.1f} processors; heavy ones: "
              + ", ".join(f"{told.count(k)} {k}" for k in ("whole", "cut", "refused")), flush=True)
        rates = [(n / 1e6 / spent, n) for n, spent in (bulk(broker) for _ in range(REPEATS))]
        print(f"bulk: {rates[0][1] / 1e6:.0f} MB a transfer")
    finally:
        broker.stop()
    glimpse(folder, asked[:GLIMPSE_QUERIES])
    print(f"figure broker.query_cpu_us {cost * 1e6:.0f} us")
    print(f"figure broker.light_p99_ms {walls[len(walls) * 99 // 100] * 1e3:.1f} ms")
    print(f"figure broker.bulk_mb_per_cpu_s {median([r for r, _ in rates]):.0f} MB/s")


if sys.argv[1] == "heavy":
    heavy(*sys.argv[2:])
else:
    GARNER = os.path.abspath(sys.argv[1])
    main(os.path.abspath(sys.argv[2]), int(sys.argv[3]))
