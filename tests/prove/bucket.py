"""A bucket file that is appended to, deleted from, shaken down and trained for, killed at every fault
point several times over and at 500 random instants: what a checkpoint covers is there, unchanged, under
the number that is noted; nothing else is; a fix loses only what was damaged."""
import shutil
import sys
import tempfile

WHAT = "a bucket file with shakedowns, killed at every point and at 500 random instants"
COUNTS = (1, 2, 3, 5)
ONCE = ("bucket.cut", "bucket.giveup", "bucket.sweep", "bucket.train")  # passed once in a start
INSTANTS = 500


def run(env):
    env.run(["make", "BOOTSTRAP=:", "all"], "make")
    env.run(["ninja", "-C", "build", "tests/bucket-writer"], "ninja")
    sys.path.insert(0, str(env.root / "tests"))
    from kill import bucket_rounds
    seed = bucket_rounds.new_seed()
    print(f"  seed {seed}", flush=True)
    folder = tempfile.mkdtemp(prefix="prove-bucket-", dir=env.root / "build")
    rounds = bucket_rounds.Rounds(folder, seed)
    try:
        kills = at_points(rounds)
        at_instants(env, rounds)
    except bucket_rounds.Lost as e:
        print(f"  kept for a look: {folder}", flush=True)
        raise env.Broken(str(e).replace(folder, "")) from None
    shutil.rmtree(folder)
    return kills + INSTANTS, (f"{kills} kills at {len(rounds.points())} points, {INSTANTS} at random "
                              f"instants, {rounds.rounds} looks, nothing lost; seed {seed}")


def at_points(rounds):
    kills = 0
    for point in rounds.points():
        for nth in COUNTS:
            if point.startswith("bucket.fix"):
                rounds.kill_fix_at(point)
            else:
                rounds.kill_at(point, 1 if point in ONCE else nth)
            kills += 1
        print(f"  {point}: killed {len(COUNTS)} times", flush=True)
    return kills


def at_instants(env, rounds):
    for i in range(INSTANTS):
        if env.left_s() < 20:
            raise env.Broken(f"only {i} of {INSTANTS} random instants in the time")
        rounds.kill_any_time()
        if (i + 1) % 100 == 0:
            print(f"  {i + 1} random instants, {rounds.kept} buckets", flush=True)
    rounds.settle()
    rounds.check()
