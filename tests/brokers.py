"""Brokers for scenes: objects as gatherers write them, a broker that has them, and its port over raw
sockets."""
import hashlib
import re
import socket
import time

from garner import wait_for

BANNER = re.compile(rb"200 - [^\n]*Broker[^\n]*\n")
NOW = int(time.time())


def soif(url, text, name="lib", host="gatherer.test", age=0, md5=True, **more):
    """An object as a gatherer writes it, updated `age` seconds ago."""
    attributes = {"Gatherer-Name": name, "Gatherer-Host": host, "Gatherer-Version": "1.0",
                  "Update-Time": str(NOW - age), "Title": text, "Full-Text": text, **more}
    if md5:
        attributes["MD5"] = hashlib.md5(text.encode()).hexdigest()
    lines = "".join(f"{k}{{{len(v)}}}:\t{v}\n" for k, v in attributes.items())
    return f"@FILE {{ {url}\n{lines}}}\n"


def broker(garner, *objects, points="", more=""):
    """A broker that follows a folder of one file for each of these."""
    g = garner(config=f"[broker]\nsources = soif:in\n{more}[web]\nlisten = 127.0.0.1:0\n")
    (g.data / "in").mkdir(parents=True)
    (g.data / "broker").mkdir()
    for n, text in enumerate(objects, 1):
        (g.data / f"in/{n}.soif").write_text(text)
    if points:
        (g.data / "broker/Collection.conf").write_text(points)
    return g


def documents(g):
    row, = [r for r in g.run("status", "--json").json()["roles"] if r["name"] == "broker"]
    return next(c["value"] for c in row["counters"] if c["name"] == "documents")


def serve(garner, *objects, more=""):
    """A broker with these objects, and where its port is."""
    g = broker(garner, *objects, more=f"home = http://home.test/\n{more}")
    role = g.start("-s", "broker.listen=127.0.0.1:0", "-s", "web.url=http://pages.test/", "broker").wait_ready()
    line = role.wait_line("listening setting=listen")
    g.port = int(re.search(r"address=127\.0\.0\.1:(\d+)", line).group(1))
    g.role = role
    wait_for("all is indexed", lambda: documents(g) == len(objects), every=0.1)
    return g


def connect(g):
    return socket.create_connection(("127.0.0.1", g.port), timeout=30)


def everything(s):
    got = b""
    while True:
        some = s.recv(1 << 16)
        if not some:
            return got
        got += some


def ask(g, line):
    """What comes after the banner, which is there once."""
    with connect(g) as s:
        s.sendall(line if isinstance(line, bytes) else line.encode())
        got = everything(s)
    banner = BANNER.match(got)
    assert banner, got
    return got[banner.end():]


def urls(answer):
    return re.findall(rb"^120 - (.*)$", answer, re.M)
