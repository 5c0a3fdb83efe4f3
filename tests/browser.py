"""A browser for scenes: Chromium out of its package, driven by tests/npm (playwright-core, axe-core).

    index(g, [("http://a.example/", {"Title": "t", "Full-Text": "words"})])
    browse(site, "searching")          # a story of tests/npm/stories.js; skips where there is no browser

SHOTS=folder in the environment keeps pictures of the pages there.
"""
import os
import shutil
import subprocess

import pytest

import garner
import peers

NPM = garner.ROOT / "tests" / "npm"
SECONDS = 240


MANDATORY = {"Gatherer-Name": "test", "Gatherer-Host": "localhost", "Gatherer-Version": "1", "Update-Time": "4000000000"}


def soif(url, attributes):
    attributes = {**MANDATORY, **attributes}
    lines = [b"@FILE { " + url.encode() + b"\n"]
    for name, value in attributes.items():
        value = value if isinstance(value, bytes) else value.encode()
        lines.append(b"%s{%d}:\t%s\n" % (name.encode(), len(value), value))
    return b"".join(lines) + b"}\n"


def index(g, objects):
    """Makes these documents what the garner's index has."""
    folder = g.dir / "soif"
    folder.mkdir()
    g.data.mkdir(exist_ok=True)
    (folder / "1.soif").write_bytes(b"".join(soif(*o) for o in objects))
    done = subprocess.run([garner.BUILD / "tests" / "collect", g.data, folder], env=g.env,
                          capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stderr) == (0, ""), done


def environment(folder):
    """What a program of tests/npm runs with, its files in the folder; raises peers.Absent."""
    if not shutil.which("node"):
        raise peers.Absent("node is not on this machine")
    if not (NPM / "node_modules" / "playwright-core").is_dir():
        raise peers.Absent("npm has not installed tests/npm: script/bootstrap test")
    peer = peers.get("chromium", "fonts-dejavu-core")
    env = peer.environment(SCENE=str(folder), HOME=str(folder), TMPDIR=str(folder),
                           CHROMIUM=str(peer.root / "usr/lib/chromium/chromium"),
                           **{k: os.environ[k] for k in ("SHOTS",) if k in os.environ})
    env["PATH"] = os.environ["PATH"]
    # libraries that only libraries of the same folder look for
    env["LD_LIBRARY_PATH"] += "".join(f":{d}" for d in peer.root.glob("usr/lib/*/pulseaudio"))
    return env


def browse(site, story):
    """Plays a story against the pages of a site."""
    try:
        env = environment(site.g.dir)
    except peers.Absent as e:
        pytest.skip(f"browser: {e}")
    done = subprocess.run(["node", NPM / "browse.js", story, f"http://127.0.0.1:{site.port}"],
                          env=env, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
