"""States of the crawl: a writer that plays reap, cork, merge and cleanup, killed at every fault point
several times over and at 500 random instants. What was told durable is there, nothing is half, and a
follower hears every change once, in order, across all of it."""
import shutil
import sys
import tempfile

WHAT = "the crawl's states, killed at every point and at 500 random instants"
COUNTS = (1, 2, 3, 5, 8, 13)
INSTANTS = 500


def run(env):
    env.run(["make", "BOOTSTRAP=:", "all"], "make")
    env.run(["ninja", "-C", "build", "tests/crawl-writer"], "ninja")
    sys.path.insert(0, str(env.root / "tests"))
    from kill import crawl_rounds
    seed = crawl_rounds.new_seed()
    print(f"  seed {seed}", flush=True)
    folder = tempfile.mkdtemp(prefix="prove-shepherd-", dir=env.root / "build")
    rounds = crawl_rounds.Rounds(folder, seed)
    try:
        passed = at_points(env, rounds, crawl_rounds.UNUSUAL)
        at_instants(env, rounds)
    except crawl_rounds.Lost as e:
        print(f"  kept for a look: {folder}", flush=True)
        raise env.Broken(str(e).replace(folder, "")) from None
    shutil.rmtree(folder)
    return rounds.rounds, (f"killed at {passed} points and at {INSTANTS} random instants, nothing lost, nothing "
                           f"half, every change heard once; seed {seed}")


def at_points(env, rounds, unusual):
    passed = 0
    for point in rounds.points():
        killed = 0
        while killed < len(COUNTS) and rounds.kill_at(point, COUNTS[killed]):
            killed += 1
        if not killed and point not in unusual:
            raise env.Broken(f"{point} was never passed")
        print(f"  {point}: killed {killed} times", flush=True)
        passed += killed > 0
    return passed


def at_instants(env, rounds):
    for i in range(INSTANTS):
        if env.left_s() < 20:
            raise env.Broken(f"only {i} of {INSTANTS} random instants in the time")
        rounds.kill_any_time()
        if (i + 1) % 100 == 0:
            print(f"  {i + 1} random instants", flush=True)
