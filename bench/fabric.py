"""fabric.py GARNER FOLDER LIST: the chains of fabric.sh. A chain's CPU is that of its processes from start to end, as
the kernel says when they are waited for; what the kernel's own threads take to write files back is in no one's.

Every run has folders of its own and nothing is removed before the end: ext4 does not give the inodes of files that
were removed in the last minutes to new ones and looks at each of them again for every new file, which can cost more
than all the rest."""
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time

ROUNDS = 5
SECONDS = 600                # and a run is given up
PAGE_DISK = 6000             # bytes that a page takes at most, with its names
COMMON = "[robot]\nnetworks = 127.0.0.0/8\ndelay = 0\nconcurrent = 8\n"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def count(path, what):
    if not os.path.exists(path):
        return 0
    with open(path, "rb") as f:
        return f.read().count(what)


class Run:
    """Processes of one garner, with data of its own."""

    def __init__(self, garner, folder, pages, config):
        self.garner, self.folder, self.pages = garner, folder, pages
        self.running, self.cpu = {}, {}
        self.until = time.monotonic() + SECONDS
        os.makedirs(folder)
        with open(f"{folder}/conf", "w", encoding="ascii") as f:
            f.write(f"data = {folder}/data\n{COMMON}{config}")

    def start(self, *words):
        with open(f"{self.folder}/log", "ab") as log, open(f"{self.folder}/out", "ab") as out:
            process = subprocess.Popen([self.garner, "-c", f"{self.folder}/conf", *words], stdout=out, stderr=log)
        self.running[process.pid] = words[0].partition("@")[0]
        return process.pid

    def check(self):
        if time.monotonic() > self.until:
            raise TimeoutError(f"not done after {SECONDS} s")

    def ended(self, pid):
        """Whether it has; its CPU is added to that of its kind then."""
        got, status, use = os.wait4(pid, os.WNOHANG)
        if got:
            kind = self.running.pop(pid)
            self.cpu[kind] = self.cpu.get(kind, 0) + use.ru_utime + use.ru_stime
            if status:
                raise ChildProcessError(f"{kind} has ended with status {status}")
        return bool(got)

    def wait(self, pid):
        while not self.ended(pid):
            self.check()
            time.sleep(0.02)

    def stop(self, number=signal.SIGTERM):
        for pid in self.running:
            os.kill(pid, number)
        for pid in list(self.running):
            self.wait(pid)

    def expect(self, path):
        """Every page has a line there that says that it is good."""
        good = count(path, b'"outcome":"ok"')
        if good != self.pages:
            raise ValueError(f"{good} of {self.pages} pages are in {path}")


def plain(garner, folder, pages, urls):
    run = Run(garner, folder, pages, "")
    yield run
    run.wait(run.start("fetch", "--json", "-o", f"{folder}/got", "--from", urls))
    run.expect(f"{folder}/out")


def spider(garner, folder, pages, urls):
    port = free_port()
    run = Run(garner, folder, pages,
              f"[spider]\nlisten = 127.0.0.1:{port}\nresults = dir:{folder}/got\n"
              f"[urlserver]\nspider_port = {port}\nreq_host_per_sec = 1000000\nreq_host_concurrent = 8\n"
              f"doc_index = file:{folder}/list\n")
    yield run
    shutil.copy(urls, f"{folder}/list")
    run.start("spider")
    run.start("urlserver")
    results, done = f"{folder}/got/results.jsonl", f"{folder}/list.done"
    while count(results, b"\n") < pages or time.time() - os.stat(done).st_mtime < 1:
        run.check()
        time.sleep(0.2)
    run.stop()
    run.expect(results)
    dumped = subprocess.run([garner, "dump", done], stdout=subprocess.PIPE, check=True).stdout
    if dumped.count(b"\n") < pages:
        raise ValueError(f"{done} has not all {pages} outcomes")


def through(run, source, urls):
    run.wait(run.start("fetch", "--json", "--through", f"127.0.0.1:{source}", "--from", urls))
    run.stop()
    run.expect(f"{run.folder}/out")


def bot(garner, folder, pages, urls):
    port, source = free_port(), free_port()
    run = Run(garner, folder, pages, f"[botm]\nlisten = 127.0.0.1:{port}\nsource = 127.0.0.1:{source}\nmachine = m\n"
                                     f"[bot]\nbotm = 127.0.0.1:{port}\n")
    yield run
    run.start("botm")
    for i in (1, 2):
        run.start(f"bot@{i}")
    through(run, source, urls)


def tree(garner, folder, pages, urls):
    port, source = free_port(), free_port()
    config = f"[botm]\nlisten = 127.0.0.1:{port}\nsource = 127.0.0.1:{source}\nfolder =\nmachine =\n"
    for i in range(1, 5):
        below = free_port()
        config += (f"[botm@{i}]\nlisten = 127.0.0.1:{below}\nsource = 127.0.0.1:{port}\nmachine = m{i}\n"
                   f"folder = {folder}/files{i}\n")
        for k in range(1, 5):
            config += f"[bot@{i}{k}]\nbotm = 127.0.0.1:{below}\nfolder = {folder}/files{i}\n"
    run = Run(garner, folder, pages, config)
    yield run
    run.start("botm")
    for i in range(1, 5):
        run.start(f"botm@{i}")
        for k in range(1, 5):
            run.start(f"bot@{i}{k}")
    through(run, source, urls)


def cpu_us(chain, garner, folder, pages, urls):
    """Of one run: by kind of process, a page."""
    steps = chain(garner, folder, pages, urls)
    run = next(steps)
    try:
        next(steps, None)
    except Exception:
        with open(f"{folder}/log", encoding="utf-8", errors="replace") as log:
            print("".join(log.readlines()[-40:]), end="")
        raise
    finally:
        for pid in list(run.running):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    return {kind: cpu / pages * 1e6 for kind, cpu in run.cpu.items()}


def main(garner, folder, urls):
    chains = (spider, bot, tree)
    pages = count(urls, b"\n")
    needs = pages * PAGE_DISK * (ROUNDS * (len(chains) + 1) + 1)
    if shutil.disk_usage(folder).free < needs + (2 << 30):
        raise OSError(f"{needs >> 20} MB and 2 GB more are not free in {folder}")
    base, taken, ratios = [], {c: [] for c in chains}, {c: [] for c in chains}
    cpu_us(plain, garner, f"{folder}/warm", pages, urls)
    for i in range(1, ROUNDS + 1):
        base.append(sum(cpu_us(plain, garner, f"{folder}/{i}/plain", pages, urls).values()))
        words = f"  round {i} of {ROUNDS}: garner fetch -o {base[-1]:.1f} us a URL"
        for chain in chains:
            parts = cpu_us(chain, garner, f"{folder}/{i}/{chain.__name__}", pages, urls)
            taken[chain].append(parts)
            ratios[chain].append(sum(parts.values()) / base[-1])
            words += f", {chain.__name__} {sum(parts.values()):.1f}"
        print(f"{words}; load {os.getloadavg()[0]:.1f}", flush=True)
    print(f"  {'garner fetch -o':16} {statistics.median(base):6.1f} us CPU a URL")
    for chain in chains:
        kinds = {k: statistics.median(parts[k] for parts in taken[chain]) for k in taken[chain][0]}
        all_us = statistics.median(sum(parts.values()) for parts in taken[chain])
        print(f"  {chain.__name__:16} {all_us:6.1f} us CPU a URL (" +
              ", ".join(f"{k} {us:.1f}" for k, us in sorted(kinds.items())) + ")")
    print(f"figure fabric.fetch.us {statistics.median(base):.1f} us")
    for chain in chains:
        print(f"ratio fabric.{chain.__name__} {statistics.median(ratios[chain]):.3f}")


main(*sys.argv[1:])
