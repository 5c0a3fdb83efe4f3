"""Record files under eight writers, killed at every fault point several times over and at 500 random
instants: every record that was told durable is there, whole, in order, and nothing is half."""
import shutil
import sys
import tempfile

WHAT = "record files under 8 writers, killed at every point and at 500 random instants"
COUNTS = (1, 2, 3, 5, 8, 13)
INSTANTS = 500


def run(env):
    env.run(["make", "BOOTSTRAP=:", "all"], "make")
    env.run(["ninja", "-C", "build", "tests/record-writer"], "ninja")
    sys.path.insert(0, str(env.root / "tests"))
    from kill import record_rounds
    seed = record_rounds.new_seed()
    print(f"  seed {seed}", flush=True)
    folder = tempfile.mkdtemp(prefix="prove-record-", dir=env.root / "build")
    rounds = record_rounds.Rounds(folder, seed)
    try:
        kills = at_points(rounds)
        at_instants(env, rounds)
    except record_rounds.Lost as e:
        print(f"  kept for a look: {folder}", flush=True)
        raise env.Broken(str(e).replace(folder, "")) from None
    shutil.rmtree(folder)
    return kills + INSTANTS, (f"{kills} kills at {len(rounds.points())} points, {INSTANTS} at random "
                              f"instants, {rounds.rounds} looks, nothing lost; seed {seed}")


def once(point):
    """Passed once in the life of a writer."""
    return not point.startswith(("record.write", "record.sync", "record.cut"))


def at_points(rounds):
    kills = 0
    for point in rounds.points():
        for nth in (1,) * len(COUNTS) if once(point) else COUNTS:
            for slow in (False, True):
                rounds.kill_at(point, nth, slow)
                kills += 1
        print(f"  {point}: killed {2 * len(COUNTS)} times", flush=True)
    return kills


def at_instants(env, rounds):
    for i in range(INSTANTS):
        if env.left_s() < 20:
            raise env.Broken(f"only {i} of {INSTANTS} random instants in the time")
        rounds.kill_any_time()
        if (i + 1) % 100 == 0:
            print(f"  {i + 1} random instants, {rounds.records} records", flush=True)
    rounds.settle()
    rounds.check()
