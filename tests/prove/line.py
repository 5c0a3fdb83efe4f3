"""The whole line, from a URL to a search result: garner up on a synthetic internet with its roles killed 300
times, and its collector at every fault point and at random instants: all ends as if nothing had been."""
import re
import shutil
import sys
import tempfile

WHAT = "a crawl with 300 kills of its roles; the collector killed at every point and at random instants"
COUNTS = (1, 2, 3, 5)
RUNS = 100  # of four kills each


def run(env):
    tests = env.tests("--only", "line")
    text = (env.root / "tests" / "line" / "test_line.py").read_text()
    kills = int(re.search(r"range\((\d+) if long_run", text).group(1))
    env.run(["ninja", "-C", "build", "tests/collector-worker"], "ninja")
    sys.path.insert(0, str(env.root / "tests"))
    from kill import collector_rounds
    seed = collector_rounds.new_seed()
    print(f"  seed {seed}", flush=True)
    folder = tempfile.mkdtemp(prefix="prove-line-", dir=env.root / "build")
    rounds = collector_rounds.Rounds(folder, seed)
    try:
        points = at_points(env, rounds, collector_rounds.RARE)
        at_instants(env, rounds)
    except collector_rounds.Lost as e:
        print(f"  kept for a look: {folder}", flush=True)
        raise env.Broken(str(e).replace(folder, "")) from None
    shutil.rmtree(folder)
    return kills + rounds.rounds, (
        f"{tests} line tests with {kills} kills of roles: every page found, none that is not allowed, polite; "
        f"collector killed at {points} points and in {RUNS} runs at random: none lost, none twice, none left; "
        f"seed {seed}")


def at_points(env, rounds, rare):
    passed = 0
    for point in rounds.points():
        killed = sum(rounds.kill_at(point, nth) for nth in COUNTS)
        if not killed and point not in rare:
            raise env.Broken(f"{point} is never passed")
        print(f"  {point}: killed {killed} times", flush=True)
        passed += killed > 0
    return passed


def at_instants(env, rounds):
    for i in range(RUNS):
        if env.left_s() < 20:
            raise env.Broken(f"only {i} of {RUNS} runs in the time")
        rounds.kill_any_time()
