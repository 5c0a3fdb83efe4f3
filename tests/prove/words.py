"""Documents and their words, in the document store and the words index: one writer, killed at every fault
point several times over and at 500 random instants, and 10,000 changed bytes in what it left."""
from kill.proof import at_points, proof, repeat
from kill.words_rounds import RARE, Rounds

WHAT = "document store and words index, killed at every point and at 500 random instants; 10,000 bytes changed"
COUNTS = (1, 2, 3, 5, 8)
INSTANTS = 500
CHANGES = 10000


def run(env):
    with proof(env, Rounds.program) as (folder, seed), Rounds(folder, seed) as rounds:
        points = at_points(env, rounds, COUNTS, rare=RARE)
        repeat(env, INSTANTS, rounds.kill_any_time)
        rounds.settle()
        found = change_bytes(env, rounds)
    return rounds.kills + CHANGES, (
        f"{rounds.kills} kills at {points} points and {INSTANTS} random instants, {rounds.looks} looks, the last "
        f"commit stood; {found}; seed {seed}")


def change_bytes(env, rounds):
    """In an index of several segments, with deletes, and a table of documents that were moved."""
    rounds.begin_anew()
    rounds.must_die_of("docstore.compact.remove=kill@3", 60)
    rounds.check()
    done = rounds.ask("damage", rounds.thing, CHANGES, rounds.seed, seconds=max(60, env.left_s()))
    if done.returncode != 0:
        raise rounds.broken(f"a changed byte was not found: {done.stderr.strip()}")
    return done.stdout.strip()
