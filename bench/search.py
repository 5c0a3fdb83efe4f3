#!/usr/bin/python3
"""search.py GARNER FOLDER: asks a role web of its own for the pages of FOLDER/queries.tsv."""
import http.client
import os
import re
import subprocess
import sys
import time
import urllib.parse

QUERIES, REPEATS = 2000, 3


def cpu_s(pid):
    """User and system time of a process."""
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def ask(connection, path):
    connection.request("GET", path)
    answer = connection.getresponse()
    return answer.status, answer.read()


def main(garner, folder):
    with open(f"{folder}/queries.tsv", encoding="ascii") as f:
        lines = list(dict.fromkeys(f.read().splitlines()))[:QUERIES]
    assert len(lines) == QUERIES
    paths = ["/?" + urllib.parse.urlencode(dict(zip(("q", "site", "type"), line.split("\t"))))
             for line in lines]
    web = subprocess.Popen([garner, "-s", f"data={folder}/data", "-s", "web.listen=127.0.0.1:0", "web"],
                           stderr=subprocess.PIPE, text=True)
    try:
        port = next(int(m.group(1)) for line in web.stderr
                    if (m := re.search(r"listening.*127\.0\.0\.1:(\d+)", line)))
        connection = http.client.HTTPConnection("127.0.0.1", port)
        spent, walls, found, size = [], [], 0, 0
        for i in range(-1, REPEATS):  # once to warm up
            before, start = cpu_s(web.pid), time.monotonic()
            for path in paths:
                status, body = ask(connection, path)
                assert status == 200, path
                found += i == 0 and b'class="where"' in body
                size += len(body) if i == 0 else 0
            if i >= 0:
                spent.append((cpu_s(web.pid) - before) / QUERIES)
                walls.append((time.monotonic() - start) / QUERIES)
        cost, wall = sorted(spent)[REPEATS // 2], sorted(walls)[REPEATS // 2]
        print(f"search: {QUERIES} queries, {found} with results, {size // QUERIES} bytes a page, "
              f"{wall * 1e6:.0f} us of wall time each with the client")
        print(f"figure search.page_cpu_us {cost * 1e6:.0f} us")
    finally:
        web.terminate()
        web.wait()


main(*sys.argv[1:])
