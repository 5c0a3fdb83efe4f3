"""Fixtures of scenes and kill tests. See tests/garner.py for what they hand out."""
import os
import signal

import pytest

import garner as real


def pytest_configure(config):
    config.addinivalue_line("markers", "limit(seconds): how long the test may take; 120 by default")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    setattr(item, f"failed_{report.when}", report.failed)
    if report.failed:
        for g in getattr(item, "garners", []):
            report.sections += g.logs()


@pytest.fixture(autouse=True)
def limit(request):
    """No test hangs: after its time it fails where it stands."""
    mark = request.node.get_closest_marker("limit")
    seconds = mark.args[0] if mark else 120

    def late(*_):
        pytest.fail(f"took more than {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def garner(request, limit):
    """Makes a Garner: garner(config="...", program="garner"). All are stopped at the end; one that
    left a process running, or died unasked, fails the test. A failed test keeps its directory."""
    made = request.node.garners = []

    def make(config="", program="garner", directory=None):
        made.append(real.Garner(config, program, directory))
        return made[-1]

    yield make
    wrong = [w for g in made for w in g.close()]
    if wrong or getattr(request.node, "failed_call", True):
        for g in made:
            print(f"kept for a look: {g.dir}")
    else:
        for g in made:
            g.remove()
    assert not wrong, "\n".join(wrong)


@pytest.fixture
def free_port():
    return real.free_port


@pytest.fixture
def seed():
    """Of a test's dice; said, so that SEED=n plays the same again."""
    number = real.new_seed()
    print(f"seed {number}")
    return number


@pytest.fixture
def long_run():
    """True in `tests/run --long` and in `make prove`: more rounds, more sizes."""
    return os.environ.get("TEST_LONG") == "1"
