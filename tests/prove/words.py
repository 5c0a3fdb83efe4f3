"""Documents and their words, in the document store and the words index: one writer, killed at every fault
point several times over and at 500 random instants, and 10,000 changed bytes in what it left."""
import shutil
import subprocess
import sys
import tempfile

WHAT = "document store and words index, killed at every point and at 500 random instants; 10,000 bytes changed"
COUNTS = (1, 2, 3, 5, 8)
INSTANTS = 500
CHANGES = 10000
RARE = {"docstore.ledger.new", "docstore.ledger.rename"}  # the unit programs of the store pass these


def run(env):
    env.run(["make", "BOOTSTRAP=:", "all"], "make")
    env.run(["ninja", "-C", "build", "tests/words-worker"], "ninja")
    sys.path.insert(0, str(env.root / "tests"))
    from kill import words_rounds
    seed = words_rounds.new_seed()
    print(f"  seed {seed}", flush=True)
    folder = tempfile.mkdtemp(prefix="prove-words-", dir=env.root / "build")
    rounds = words_rounds.Rounds(folder, seed)
    try:
        kills = at_points(env, rounds)
        at_instants(env, rounds)
        found = change_bytes(env, words_rounds, rounds)
    except words_rounds.Lost as e:
        print(f"  kept for a look: {folder}", flush=True)
        raise env.Broken(str(e).replace(folder, "")) from None
    shutil.rmtree(folder)
    return kills + INSTANTS + CHANGES, (
        f"{kills} kills at {len(rounds.points())} points, {INSTANTS} at random instants, {rounds.rounds} looks, "
        f"the last commit stood; {found}; seed {seed}")


def at_points(env, rounds):
    kills = 0
    for point in rounds.points():
        killed = sum(rounds.kill_at(point, nth) for nth in COUNTS)
        if not killed and point not in RARE:
            raise env.Broken(f"{point} is never passed")
        print(f"  {point}: killed {killed} times", flush=True)
        kills += killed
    return kills


def at_instants(env, rounds):
    for i in range(INSTANTS):
        if env.left_s() < 60:
            raise env.Broken(f"only {i} of {INSTANTS} random instants in the time")
        rounds.kill_any_time()
        if (i + 1) % 100 == 0:
            print(f"  {i + 1} random instants, {rounds.commits} commits", flush=True)
    rounds.settle()


def change_bytes(env, words_rounds, rounds):
    """In an index of several segments, with deletes, and a table of documents that were moved."""
    rounds.begin_anew()
    rounds.ends_by(rounds.start(60, "docstore.forget=kill@3"))
    rounds.check()
    done = subprocess.run([words_rounds.WORKER, "damage", rounds.folder, str(CHANGES), str(rounds.seed)],
                          capture_output=True, text=True, timeout=max(60, env.left_s()))
    if done.returncode != 0:
        raise env.Broken(f"a changed byte was not found: {done.stderr.strip()}")
    return done.stdout.strip()
