"""Four processes share a table of politeness and are killed at every fault point several times over
and in 300 rounds at random instants: no server is asked by two at once or too early."""
import sys
import tempfile

WHAT = "politeness among 4 processes, killed at every point and in 300 rounds at random instants"
COUNTS = (1, 2, 3, 5, 8, 13)
ROUNDS = 300


def run(env):
    env.run(["make", "BOOTSTRAP=:", "all"], "make")
    env.run(["ninja", "-C", "build", "tests/polite-worker"], "ninja")
    sys.path.insert(0, str(env.root / "tests"))
    from kill import polite_rounds
    seed = polite_rounds.new_seed()
    print(f"  seed {seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="garner-prove-", dir=env.root / "build") as folder:
        rounds = polite_rounds.Rounds(folder, seed)
        try:
            points = rounds.points()
            for point in points:
                for nth in COUNTS:
                    rounds.kill_at(point, nth)
            print(f"  {rounds.kills} kills at {len(points)} points", flush=True)
            for i in range(ROUNDS):
                if env.left_s() < 60:
                    raise env.Broken(f"only {i} of {ROUNDS} rounds in the time")
                rounds.kill_some()
            rounds.settle()
        except polite_rounds.Impolite as e:
            raise env.Broken(str(e)) from None
        finally:
            while rounds.workers:
                rounds.kill(rounds.workers.pop())
    return rounds.kills, (f"{rounds.kills} kills at {len(points)} points and in {ROUNDS} rounds, "
                          f"{rounds.starts} requests, none too early, none two at once; seed {seed}")
