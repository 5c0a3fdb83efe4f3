"""The commands of the tutorial and of the README do what is said there."""
import os
import re
import shlex
import signal
import subprocess

import pytest

import garner as real
from garner import wait_for


def text_of(name):
    return (real.ROOT / name).read_text()


def commands(text):
    return [re.sub(r"\s+# .*", "", line[4:]) for line in text.splitlines()
            if re.match(r"    \S", line)]


def free_port():
    return str(real.free_port())


# What a command prints in the end; it may take a moment until it does. The longest that fits counts.
SAYS = {
    "search pears": "2 of 2 documents",
    "search 'title : apples'": "Apples",
    "NOT apples'": '"total":1',
    "q=plums'": '"total":1',
    "api/document": "Green pears",
    "brkclient": "101 - 2 objects match",
    "#attribute title": "127 - title 5\nPears\n",
    "status": "shepherd",
    "why http": "indexed:      yes",
    "search yellow": "Yellow",
    "shep filter": "accept",
    "private/diary": "cf/filter:1",
    "shep plan --explain": "left out:  not-due 2",
    "refresh=1s shep plan --explain": "urls:      2",
    "shep params": "gathered:      2",
    "sites add": "archive added: http://127.0.0.1",
    "archie get": "1 got, 0 unchanged, 0 failed",
    "archie build": "built, 15 files",
    "archie PEAR-2": "pub/pear-2.0.tar.gz\n1 file\n",
    "--urls --type regex": "/pub/plum-2.0.tar.gz\n3 files\n",
    "sites list": "LAST ERROR",
    "archie find": "Location: /pub\n",
    "api/files": '"path":"pub/pear-2.0.tar.gz"',
    "telnet:": "Location: /pub\n",
    "cat reply": "pear-2.0.tar.gz",
    "conf check": "0 damaged",
    "states": "closed",
    "dump garner-data/list.done": "line=2",
    "results.jsonl": "pears.html",
    "spider-data check": "0 damaged",
    "fetch --through": "2 of 2 URLs, 2 ok",
    "dump fabric": "block=0 generation=1",
    "provider verify": "is yours",
    "provider send": "set 1: 2 URLs accepted",
    "provider receipts --wait": "stored",
    "provider sync": "set 2: 1 URL accepted (0 new, 1 changed, 0 removed)",
    "cache.conf why http": ", stored since ",
    "provider set": "50K a second",
    "provider status": "2 files",
}
ENDS = {"private/diary": 1}


@pytest.mark.limit(120)
def test_the_tutorial(garner):
    g = garner()
    text = text_of("doc/tutorial.md")
    ports = ("8081", "8080", "8501", "8190", "8191", "8193", "8192", "8194", "8083", "1527", "2323", "1525")
    for port in ports:  # 28191 would be changed again
        text = text.replace(port, next(p for p in iter(free_port, None) if not any(known in p for known in ports)))
    names = ("garner.conf", "another.conf", "fabric.conf", "cache.conf")
    for name, block in zip(names, re.findall(r"```ini\n(.*?)```", text, re.S), strict=True):
        (g.dir / name).write_text(block)
    env = {**g.env, "PATH": f"{real.BUILD}:{os.environ['PATH']}"}
    env.pop("GARNER_DATA", None)
    jobs = []  # as a shell numbers them
    said = set()

    def run(line):
        done = subprocess.run(["bash", "-c", line], cwd=g.dir, env=env, capture_output=True,
                              text=True, timeout=60)
        return done.returncode, done.stdout, done.stderr

    try:
        for line in commands(text):
            if line.startswith("alias"):
                continue
            if line.endswith("&"):
                job = subprocess.Popen(shlex.split(line[:-1]), cwd=g.dir, env=env,
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                jobs.append(job)
                for out in job.stdout if line.endswith("up &") else ():
                    if "garner is up" in out:
                        break
                continue
            if line.startswith("kill"):
                # a shell gives the numbers of jobs that have ended to new ones, so only the first are called by them
                for job in [jobs[-1]] if "$!" in line else [jobs[int(n) - 1] for n in re.findall(r"%([1-3])", line)]:
                    job.send_signal(signal.SIGTERM)
                    job.stdout.read()
                    assert job.wait(30) == 0
                continue
            key = max((k for k in SAYS if k in line), key=len, default=None)
            if not key:
                assert run(line)[0] == 0, line
                continue
            said.add(key)
            last = []

            def good():
                last[:] = run(line)
                return last[0] == ENDS.get(key, 0) and SAYS[key] in last[1]
            try:
                wait_for(line, good, 30)
            except AssertionError as e:
                raise AssertionError(f"{line}: {last}") from e
    finally:
        for job in jobs:
            if job.poll() is None:
                job.kill()
                job.wait()
    assert said == set(SAYS), "each was looked at"


def test_the_commands_of_the_readme(garner):
    g = garner()
    (g.dir / "urls.txt").write_text("http://127.0.0.1:1/\n")
    (g.dir / "page.html").write_text("<title>x</title>")
    (g.dir / "robots.txt").write_text("User-agent: *\nDisallow: /b\n")
    ends = {"search": {1}, "fetch": {3, 6}, "doctor": {0, 1, 3}, "why": {1}, "brkclient": {6},
            "archie find": {6}, "provider": {2, 6}}
    env = {**g.env, "PATH": f"{real.BUILD}:{os.environ['PATH']}"}  # as if it were installed
    ran = 0
    for line in commands(text_of("README.md")):
        if not re.search(r"\bgarner ", line):
            assert line.startswith(("make", "sudo make")), line
            continue
        if line == "garner up":
            up = g.start("up").wait_ready()
            ran += 1
            continue
        words = line.replace("garner add https://example.org/", "garner add http://127.0.0.1:1/")
        words = words.replace("ftp://ftp.example.org/", "--address 192.0.2.1 ftp://ftp.example.org/")
        words = words.replace("/srv/garner", str(g.dir / "srv"))
        words = re.sub(r"(brkclient \S+) 8501", rf"\1 {free_port()}", words)  # where nobody listens
        words = words.replace("archie find", f"-s archie-ng.listen=127.0.0.1:{free_port()} archie find")
        words = words.replace("garner provider", f"garner -s provider.rs=http://127.0.0.1:{free_port()}/ provider")
        done = subprocess.run(["bash", "-c", words], cwd=g.dir, env=env, capture_output=True,
                              text=True, timeout=60)
        name = next((n for n in ends if re.search(rf"garner {n}\b", line)), None)
        assert done.returncode in ends.get(name, {0}), (line, done.stdout, done.stderr)
        ran += 1
    assert up.stop() == 0
    assert ran >= 16
