"""Killed while a mail is answered, or while mails are sent: the mail server brings the mail again, what was accepted is
sent at least once and whole, and nobody gets more replies a day than the limit."""
import random
import re

import pytest

from garner import ROOT, new_seed
from smtp import sendmail, sent

POINTS = sorted({p for f in (ROOT / "src/archie").rglob("*.c") if re.match("outbox|daily|mail", f.name)
                 for p in re.findall(r'FAULT\("([^"]+)"\)', f.read_text())})
CONFIG = ("[archie]\nhost = archie.test\nmaster = master@master.test\nmails_per_day = {n}\n[mail]\nvia = {via}\n")
MAIL = "From: joe@example.org\nSubject: version\n\naddnewsite {host}\n"


def bring(g, text, faults=""):
    return g.run("archie", "mail", input=text, env={"GARNER_FAULTS": faults} if faults else None).code


def requested(g):
    return {m.get_payload().split()[1] for m in sent(g) if m["To"] == "master@master.test"}


def send(g):
    """A pass of a role, and another, until nothing is due."""
    via = g.dir / "sendmail"
    for f in (g.data / "archie/outbox").rglob("*.mail"):
        f.rename(f.with_name("0000000001" + f.name[10:]))
    assert g.run("archie", "outbox", g.data, via).code == 0


def test_points_are_passed_and_nothing_is_lost(garner):
    g = garner()
    g.configure(CONFIG.format(n=50, via=sendmail(g)))
    killed = set()
    for i, point in enumerate(POINTS):
        (g.data / "archie/daily").unlink(missing_ok=True)  # five new sites a day
        if point == "outbox.later":
            (g.dir / "code").write_text("75")  # the reply waits with the server, the request in the outbox
            (g.dir / "sendmail").rename(g.dir / "real")
            (g.dir / "sendmail").write_text(f"#!/bin/sh\ncase $* in *master*) exit 75;; esac\nrm -f {g.dir}/code\n"
                                            f"exec {g.dir}/real \"$@\"\n")
            (g.dir / "sendmail").chmod(0o755)
        text = MAIL.format(host=f"ftp{i}.test")
        code = bring(g, text, f"{point}=kill")
        if code == -9:
            killed.add(point)
            code = bring(g, text)
        assert code == 0, point
        if point == "outbox.later":
            (g.dir / "real").rename(g.dir / "sendmail")
        send(g)
        assert f"ftp{i}.test" in requested(g), point
        assert any(m["To"] == "joe@example.org" for m in sent(g)), point
        assert list((g.data / "archie/outbox").rglob("*.mail")) == [], point
    assert killed == set(POINTS)


@pytest.mark.limit(300)
def test_killed_at_random_nobody_gets_more_than_the_limit(garner, long_run):
    g = garner()
    limit, rounds = 3, 60 if long_run else 6
    g.configure(CONFIG.format(n=limit, via=sendmail(g)))
    dice = random.Random(new_seed())
    for i in range(rounds):
        text = MAIL.format(host=f"ftp{i}.test").replace("joe@", f"joe{i // limit}@")
        points = ["file.write", "file.sync", "file.rename", "daily.save", "outbox.put", "outbox.kept", "outbox.sent"]
        if bring(g, text, f"{dice.choice(points)}=kill@{dice.randint(1, 3)}") == -9:
            assert bring(g, text) == 0
    send(g)
    told = [m["To"] for m in sent(g)]
    assert all(told.count(to) <= limit for to in set(told) - {"master@master.test"})
    for m in sent(g):
        assert m["Precedence"] == "bulk" and m.get_payload().endswith("\n")
    assert g.run("check").code == 0
    assert list((g.data / "archie/outbox").rglob("*.mail")) == []
