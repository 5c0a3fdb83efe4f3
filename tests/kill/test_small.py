"""Two processes that write one database of small state and are killed: every commit is there as a
whole, also when its file was damaged or is copied meanwhile."""
import sqlite3

import pytest

from kill.small_rounds import Rounds  # for the fixture rounds

SHORT, LONG = 20, 500


@pytest.mark.limit(120)
def test_killed_at_every_point_every_commit_is_whole(rounds, long_run):
    points = [p for p in rounds.points() if "commit" in p]
    assert len(points) >= 2
    for point in points:
        for nth in (1, 2, 3, 7, 20) if long_run else (1, 3, 20):
            assert rounds.kill_both(point, nth), point


@pytest.mark.limit(240)
def test_killed_at_any_time_every_commit_is_whole(rounds, long_run):
    for _ in range(LONG if long_run else SHORT):
        rounds.kill_both()
    assert sum(rounds.last.values()) > 0


def test_killed_while_it_is_made_it_is_made_again(rounds):
    rounds.must_die_of("small.make=kill", 1)
    assert not rounds.thing.exists()
    rounds.settle_all()


@pytest.mark.limit(120)
def test_killed_while_a_damaged_one_is_mended_no_commit_is_lost(rounds):
    points = [p for p in rounds.points() if "mend" in p]
    assert len(points) >= 5
    for point in points:
        for nth in (1, 2, 3) if point == "small.mend.aside" else (1,):
            rounds.begin_anew()
            rounds.settle_all()
            before = dict(rounds.last)
            rounds.damage()
            rounds.must_die_of(f"{point}=kill@{nth}", 1)
            rounds.check()
            assert rounds.last == before
            assert (rounds.folder / "garner.db.damaged").exists()
            rounds.settle_all()


def test_it_can_be_copied_while_it_is_written(rounds):
    rounds.settle_all()
    child = rounds.start()
    rounds.wait_word(child, 0)
    copies = []
    for n in range(3):
        source = sqlite3.connect(f"file:{rounds.thing}?mode=ro", uri=True)
        path = rounds.folder / f"copy.{n}"
        with sqlite3.connect(path) as copy:
            source.backup(copy)
        source.close()
        copies.append(path)
    rounds.kill(child)
    rounds.check()
    for path in copies:
        done = rounds.ask("check", path)
        assert done.returncode == 0, done.stderr
        assert int(done.stdout.split()[0]) <= rounds.last[0]
