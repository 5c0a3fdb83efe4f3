"""Documents and their words: after SIGKILL the last commit stands, whole, in both stores."""
import re

import pytest

from garner import ROOT
from kill.words_rounds import RARE, Rounds  # for the fixture rounds

SHORT, LONG = 20, 200

# where both stores change; a second build does not pass those of new files, compaction and merges
BUILD_POINTS = sorted({p for f in (ROOT / "src/index").rglob("*.c")
                       for p in re.findall(r'FAULT\("((?:docstore|words)\.[^"]+)"\)', f.read_text())
                       if not re.search(r"file|compact|sweep|cut|back|grow|table\.(new|rename)|merged|removed", p)})


@pytest.mark.limit(200)
def test_killed_at_every_point_the_last_commit_stands(rounds, long_run):
    points = rounds.points()
    assert len(points) >= 15
    for point in points:
        for nth in (1, 2, 5) if long_run else (1,):
            assert rounds.kill_at(point, nth) or nth > 1 or point in RARE, f"{point} was not passed"


@pytest.mark.limit(200)
def test_killed_at_any_time_the_last_commit_stands(rounds, long_run):
    for _ in range(LONG if long_run else SHORT):
        rounds.kill_any_time()
    rounds.settle(30)
    assert rounds.told > 30


def lines(numbers, text):
    return "".join(f"{i}\tTitle {i}\t{text} {i}\n" for i in numbers)


def stored(g):
    """Documents of the index, those that the store keeps, and the bytes of its files."""
    s = g.run("index", "words", "stats", "--json", "i").json()
    return s["documents"], s["stored_documents"] - s["stored_deleted"], s["stored_bytes"]


@pytest.mark.limit(200)
def test_documents_that_a_killed_build_left_are_removed_by_the_next(garner):
    for point in [f"{p}=kill@{nth}" for p in BUILD_POINTS for nth in (1, 2)]:
        g = garner()
        assert g.run("index", "words", "build", "i", input=lines(range(50), "old")).code == 0
        killed = g.run("index", "words", "build", "i", input=lines(range(40, 90), "new"),
                       env={"GARNER_FAULTS": point})
        assert killed.code == -9 or point.endswith("@2"), point
        assert g.run("index", "words", "build", "i", input=lines([100], "last")).code == 0
        docs, kept, _ = stored(g)
        assert docs in (51, 91) and kept == docs, point
        assert g.run("index", "words", "check", "i").code == 0
        assert g.run("index", "words", "dump", "--soif", "i").out.count("@FILE") == docs


def test_a_first_build_that_was_killed_leaves_no_file_of_documents(garner):
    g = garner()
    killed = g.run("index", "words", "build", "i", input=lines(range(2000), "lost"),
                   env={"GARNER_FAULTS": "words.manifest=kill"})
    assert killed.code == -9
    assert g.run("index", "words", "build", "i", input=lines([1], "kept")).code == 0
    assert stored(g) == (1, 1, pytest.approx(150, abs=100))
