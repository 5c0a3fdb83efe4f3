"""Two processes fetch the same lists from simnet and are killed in 300 rounds at random instants:
no server is asked by two at once or too early, and none is left alone for long."""
import sys
import tempfile

WHAT = "two processes that fetch from 40 servers, killed in 300 rounds at random instants"
ROUNDS = 300


def run(env):
    env.run(["make", "BOOTSTRAP=:", "all"], "make")
    env.run(["ninja", "-C", "build", "tests/simnet"], "ninja")
    sys.path.insert(0, str(env.root / "tests"))
    import garner
    from kill import fetch_rounds
    seed = fetch_rounds.new_seed()
    print(f"  seed {seed}", flush=True)
    requests = 0
    with tempfile.TemporaryDirectory(prefix="garner-prove-", dir=env.root / "build") as folder:
        g = garner.Garner(directory=folder)
        rounds = fetch_rounds.Rounds(g, seed)
        try:
            for i in range(ROUNDS):
                if env.left_s() < 60:
                    raise env.Broken(f"only {i} of {ROUNDS} rounds in the time")
                rounds.kill_some()
            requests = rounds.check()["requests"]
            rounds.settle()
        except fetch_rounds.Impolite as e:
            raise env.Broken(str(e)) from None
        finally:
            rounds.stop()
            g.close()
    return rounds.kills, (f"{rounds.kills} kills in {ROUNDS} rounds, {requests} requests, none too "
                          f"early, none two at once, no server lost; seed {seed}")
