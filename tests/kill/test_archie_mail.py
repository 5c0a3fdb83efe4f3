"""Killed while a mail is answered: the mail server brings the mail again, its replies and requests are sent at least once
and whole, and nobody gets more replies a day than the limit."""
import random
import re

import pytest

from garner import ROOT, new_seed
from smtp import sendmail, sent

POINTS = sorted({"small.commit", "small.committed"} | {p for f in (ROOT / "src/archie/mail").glob("*.c")
                                                       for p in re.findall(r'FAULT\("([^"]+)"\)', f.read_text())})
CONFIG = ("[archie]\nhost = archie.test\nmaster = master@master.test\nmails_per_day = {n}\n[mail]\nvia = {via}\n")
MAIL = "From: joe@example.org\nSubject: version\n\naddnewsite {host}\n"


def bring(g, text, faults=""):
    return g.run("archie", "mail", input=text, env={"GARNER_FAULTS": faults} if faults else None).code


def requested(g):
    return {m.get_payload().split()[1] for m in sent(g) if m["To"] == "master@master.test"}


def test_points_are_passed_and_nothing_is_lost(garner):
    g = garner()
    g.configure(CONFIG.format(n=50, via=sendmail(g)))
    for i, point in enumerate(POINTS):
        text = MAIL.format(host=f"ftp{i}.test").replace("joe@", f"joe{i}@")
        assert bring(g, text, f"{point}=kill") == -9, point
        before = len(sent(g))
        assert bring(g, text) == 0, point
        assert [m["To"] for m in sent(g)[before:]] == ["master@master.test", f"joe{i}@example.org"], point
        assert f"ftp{i}.test" in requested(g), point
    assert len(POINTS) >= 4


@pytest.mark.limit(300)
def test_killed_at_random_nobody_gets_more_than_the_limit(garner, long_run):
    g = garner()
    limit, rounds = 3, 60 if long_run else 6
    g.configure(CONFIG.format(n=limit, via=sendmail(g)))
    dice = random.Random(new_seed())
    for i in range(rounds):
        text = MAIL.format(host=f"ftp{i}.test").replace("joe@", f"joe{i // limit}@")
        points = ["file.write", "file.sync", "file.rename", *POINTS]
        if bring(g, text, f"{dice.choice(points)}=kill@{dice.randint(1, 3)}") == -9:
            assert bring(g, text) == 0
    told = [m["To"] for m in sent(g)]
    assert all(told.count(to) <= limit for to in set(told) - {"master@master.test"})
    for m in sent(g):
        assert m["Precedence"] == "bulk" and m.get_payload().endswith("\n")
    assert g.run("check").code == 0
