"""SIGKILL to the master wherever it changes something: a request that was taken is answered, its site is listed once,
and the list that others get is whole and the one that the master has."""
import gzip
import re

import pytest

from archives import Ftpd, settings
from garner import ROOT, wait_for
from smtp import sendmail, sent

POINTS = sorted({"small.commit", "small.committed"} |
                {p for f in (ROOT / "src/archie").rglob("master*.c")
                 for p in re.findall(r'FAULT\("([^"]+)"\)', f.read_text())})
OF_LEAVING = ["master.leave", "master.left"]
NAMES = "".join(f"-rw-r--r-- 1 root root {i} Jan  1  2020 {i * i}\n" for i in range(99))


@pytest.fixture
def world(garner):
    """A master and a site."""
    ftp = Ftpd(files={"ls-lR.gz": (gzip.compress(NAMES.encode()), 1700000000)}, address="127.0.0.20")
    g = garner()
    g.configure(settings("[archie-master]", "retest = 1s", "leave_after = 1s", "[mail]", f"via = {sendmail(g)}",
                         retry_min="1s", retry_max="1s"))
    g.line = f"{ftp.url} {ftp.address}"
    yield g, ftp
    ftp.stop()


def listed(g):
    """What others get; it is what the master has once nothing goes on."""
    path = g.data / "archie/public/sites"
    return path.read_text().splitlines() if path.exists() else None


def dies(g, point, nth=1):
    role = g.start("archie-master", env={"GARNER_FAULTS": f"{point}=kill@{nth}"})
    assert role.wait() == -9, point
    assert listed(g) in (None, [], [g.line]), point


def test_there_are_fault_points():
    assert len(POINTS) >= 10 and set(OF_LEAVING) < set(POINTS)


def test_a_request_survives_a_kill_at_every_point(world):
    g, ftp = world
    for n, point in enumerate(p for p in POINTS if p not in OF_LEAVING):
        (g.data / "archie/master/sites.local").unlink(missing_ok=True)
        text = f"From: a{n}@x.test\nSubject: addnewsite {ftp.url[6:-1]}\n\n"
        assert g.run("archie", "newsite", "--mail", input=text).code == 0
        dies(g, point, 2 if "publish" in point else 1)  # it publishes what it has when it starts
        role = g.start("archie-master").wait_ready()
        told = wait_for("the answer", lambda: [m for m in sent(g) if m["To"] == f"a{n}@x.test"])
        assert all(f"{ftp.url} is in the list of sites" in m.get_payload() for m in told), point
        assert listed(g) == [g.line] and (g.data / "archie/master/sites.local").read_text() == g.line + "\n", point
        assert list((g.data / "archie/newsites").rglob("*.site")) == [], point
        assert role.stop() == 0
    assert g.run("check").code in (0, 1)


@pytest.mark.parametrize("point", OF_LEAVING)
def test_a_site_leaves_in_spite_of_a_kill(world, point):
    g, ftp = world
    (g.data / "archie/master").mkdir(parents=True)
    (g.data / "archie/master/sites.local").write_text(g.line + "\n")
    ftp.stop()
    dies(g, point)
    role = g.start("archie-master").wait_ready()
    wait_for("its leaving", lambda: listed(g) == [])
    assert (g.data / "archie/master/sites.local").read_text() == ""
    assert role.stop() == 0
    reason = g.run("dump", g.data / "garner.db", "archie_master").out
    assert ftp.url in reason and "kind=3" in reason and "cause='robots-unreachable'" in reason, reason
