"""Collection points: gatherers that behave, and those that do not."""
import subprocess

import pytest

import garner as real
from gatherd import Gatherd


@pytest.fixture
def gatherd():
    """Makes gatherers with three objects each."""
    made = []

    def make(odd=None):
        g = Gatherd(odd)
        for name in "abc":
            g.add(f"http://{name}.test/", f"text of {name}", Title=name)
        made.append(g)
        return g
    yield make
    for g in made:
        g.stop()


def gather(tmp_path, *lines, timeout=60, **settings):
    """What became of each point, by port: (how it ended, the lines before)."""
    conf = tmp_path / "Collection.conf"
    conf.write_text("".join(f"{line}\n" for line in lines))
    done = subprocess.run([real.BUILD / "tests" / "gather",
                           *(f"{k}={v}" for k, v in settings.items()), "--", conf],
                          capture_output=True, text=True, timeout=timeout,
                          env=real.clean_environment())
    assert done.returncode == 0, done.stderr
    told = {}
    for line in done.stdout.splitlines():
        key, rest = line.split(" ", 1)
        told.setdefault(key, []).append(rest.strip())
    return {key: (rest[-1], rest[:-1]) for key, rest in told.items()}


def point(g, kind):
    return f"127.0.0.1 {g.port} {kind} --"


ALL = [f"update http://{name}.test/" for name in "abc"]


@pytest.mark.parametrize("kind", [0, 1, 2, 3])
def test_every_type_of_gatherer_is_collected(tmp_path, gatherd, kind):
    g = gatherd()
    assert gather(tmp_path, point(g, kind))[str(g.port)] == ("complete", ALL)
    wanted = ["SET compression"] if kind >= 2 else []
    # its thread may still be reading the last line
    real.wait_for("the whole session", lambda: g.asked == [[*wanted, "SEND-UPDATE 0", "QUIT"]])


def test_a_gatherer_that_knows_no_compression_is_collected(tmp_path, gatherd):
    g = gatherd("ignore_set")
    assert gather(tmp_path, point(g, 3))[str(g.port)] == ("complete", ALL)


def test_a_bad_line_leaves_the_others_working(tmp_path, gatherd):
    g = gatherd()
    told = gather(tmp_path, "# gatherers", "nonsense", point(g, 1), f"localhost {g.port} 5 --")
    assert told[str(g.port)] == ("complete", ALL)
    last, before = told["problem"]
    assert "Collection.conf:2: expected a port" in before[0]
    assert "Collection.conf:4: type 5 collects from a broker, which is not there yet" in last


def test_a_name_passes_the_policy(tmp_path, gatherd):
    g = gatherd()
    line = f"localhost {g.port} 1 --"
    assert "loopback" in gather(tmp_path, line)[str(g.port)][0]
    assert g.asked == []
    told = gather(tmp_path, line, networks="127.0.0.0/8,::1")
    assert told[str(g.port)] == ("complete", ALL)


ODD = {
    "half": "ended after 2 objects without its closing line; closed by the peer",
    "nothing": "ended before its greeting; closed by the peer",
    "no_end": "ended after 3 objects without its closing line; closed by the peer",
    "banner": "a line is longer than 4096 bytes",
    "long_line": "a line is longer than 4096 bytes",
    "reset": "",  # what was received before it is told, or not
    "refuse": "refused: 103 - not for you",
    "late": "broke off after 3 objects: 103 - disk full",
    "rubbish": "more than 3145728 bytes without an object, after 0 objects",
    "bomb": "more than 3145728 bytes without an object, after 0 objects",
}


SLOW = {
    "silent": "ended before it answered; it said: 000 - HELLO 127.0.0.1 - are you ready?; "
              "idle for too long",
    "endless": "without its closing line; it took longer than 4 s",
}


def assert_failed(told, g, words):
    last, _ = told[str(g.port)]
    assert last.startswith(f"failed 127.0.0.1 port {g.port}: "), (g.odd, last)
    assert words in last and last.endswith("; this collection does not count"), (g.odd, last)


def test_what_is_wrong_is_named_and_leaves_the_others_alone(tmp_path, gatherd):
    odd = {name: gatherd(name) for name in ODD}
    huge, good = gatherd("huge"), gatherd()
    told = gather(tmp_path, *(point(g, 0) for g in odd.values()), point(huge, 0), point(good, 3),
                  gatherer_object="1M")
    assert told[str(good.port)] == ("complete", ALL)
    last, before = told[str(huge.port)]
    assert last == "complete" and before[:-1] == ALL
    assert "the size of a value is over the limit, object skipped" in before[-1]
    for name, words in ODD.items():
        assert_failed(told, odd[name], words)


def test_who_is_silent_or_has_no_end_is_given_up(tmp_path, gatherd):
    odd = {name: gatherd(name) for name in SLOW}
    good = gatherd()
    told = gather(tmp_path, *(point(g, 0) for g in odd.values()), point(good, 3),
                  gatherer_idle="2s", gatherer_whole="4s")
    assert told[str(good.port)] == ("complete", ALL)
    for name, words in SLOW.items():
        assert_failed(told, odd[name], words)


def test_two_hundred_points_are_collected_together(tmp_path, gatherd):
    many = [gatherd() for _ in range(200)]
    told = gather(tmp_path, *(point(g, 3) for g in many))
    assert all(told[str(g.port)] == ("complete", ALL) for g in many)
