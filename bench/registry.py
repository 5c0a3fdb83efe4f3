"""registry.py GARNER OBJECTS: what a broker takes from a gatherer, against `garner index words build` of the same
objects. The gatherer is a thread of this program, whose CPU does not count. For registry.sh."""
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

SIZE = 2000             # bytes of text
DISTINCT = 60000        # words
SECONDS = 1800          # and it is given up
TICKS = os.sysconf("SC_CLK_TCK")


def make(path, objects):
    """Objects in one file, each with words of the frequencies that words have, and an MD5 of its own."""
    dice = random.Random(objects)
    words = ["".join(dice.choices("aeiorstnlmdc", k=dice.randint(3, 10))) for _ in range(DISTINCT)]
    weights = [1 / (n + 10) for n in range(DISTINCT)]
    pool = dice.choices(words, weights, k=1 << 20)
    now = int(time.time())
    with open(path, "wb") as out:
        for n in range(objects):
            at = dice.randrange(len(pool) - 500)
            text = " ".join(pool[at:at + 500])[:SIZE]
            attributes = {"Gatherer-Name": "bench", "Gatherer-Host": "localhost", "Gatherer-Version": "1",
                          "Update-Time": now, "MD5": f"{n:032x}", "Title": " ".join(pool[at:at + 5]),
                          "Type": "HTML", "File-Size": len(text), "Full-Text": text}
            lines = "".join(f"{k}{{{len(str(v))}}}:\t{v}\n" for k, v in attributes.items())
            out.write(f"@FILE {{ http://host{n % 997}.example/{n}\n{lines}}}\n".encode())


def serve(listener, path):
    """A gatherer: everything to everyone."""
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        with client, client.makefile("rb") as lines:
            client.sendall(b"000 - HELLO bench\r\n")
            for line in lines:
                if line.upper().startswith(b"SEND-UPDATE"):
                    client.sendall(b"400 - here it comes\r\n@DELETE {\n}\n@REFRESH {\n}\n@UPDATE {\n")
                    with open(path, "rb") as f:
                        client.sendfile(f)
                    client.sendall(b"}\n499 - that was it\r\n")
                elif line.upper().startswith(b"QUIT"):
                    break


def cpu_of(pid):
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def found(garner, folder, env):
    """Documents that a search sees."""
    done = subprocess.run([garner, "search", "--json", "bench"], cwd=folder, env=env, capture_output=True, text=True)
    return json.loads(done.stdout)["documents"] if done.returncode in (0, 1) and done.stdout else 0


def collect(garner, folder, soif, objects):
    """CPU seconds of the broker until all are found."""
    env = {**os.environ, "GARNER_DATA": f"{folder}/data"}
    os.makedirs(f"{folder}/data/broker")
    os.makedirs(f"{folder}/data/in")
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=serve, args=(listener, soif), daemon=True).start()
    with open(f"{folder}/data/broker/Collection.conf", "w") as f:
        f.write(f"127.0.0.1 {listener.getsockname()[1]} 0 --\n")
    with open(f"{folder}/log", "wb") as log:
        broker = subprocess.Popen([garner, "-s", "broker.sources=soif:in", "broker"], cwd=folder, env=env, stdout=log,
                                  stderr=log)
    begin, n = time.monotonic(), 0
    try:
        while n < objects:
            if broker.poll() is not None or time.monotonic() - begin > SECONDS:
                sys.exit(f"registry: {n} of {objects} objects are found:\n" + open(f"{folder}/log").read())
            time.sleep(0.5)
            n = found(garner, folder, env)
            print(f"  {time.monotonic() - begin:6.1f} s: {n} of {objects} objects are found", flush=True)
        return cpu_of(broker.pid), time.monotonic() - begin
    finally:
        broker.send_signal(signal.SIGTERM)
        broker.wait()
        listener.close()


def build(garner, folder, soif):
    """CPU seconds of a build."""
    child = subprocess.Popen([garner, "index", "words", "build", f"{folder}/index", soif], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"registry: garner index words build ended with {child.returncode}")
    return usage.ru_utime + usage.ru_stime


def main():
    garner, objects = os.path.abspath(sys.argv[1]), int(sys.argv[2])
    folder = tempfile.mkdtemp(prefix="bench-registry-", dir=os.environ.get("TMPDIR") or "build")
    folder = os.path.abspath(folder)
    try:
        soif = f"{folder}/objects.soif"
        print(f"registry: making {objects} objects", flush=True)
        make(soif, objects)
        collected, wall = collect(garner, folder, soif, objects)
        built = build(garner, folder, soif)
    finally:
        shutil.rmtree(folder)
    print(f"collected and found: {collected:.1f} s of CPU, {wall:.1f} s; index words build: {built:.1f} s of CPU")
    print(f"figure broker.collect_us {collected / objects * 1e6:.0f} us")
    print(f"ratio broker.collect {collected / built:.2f}")


main()
