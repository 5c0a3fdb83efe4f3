"""The registry: one writer, killed at every fault point several times over and at 500 random instants, and
10,000 changed bytes in what it left. The whole broker: a collector killed at 500 random instants, after
which registry, documents and words agree. The unit programs of the broker in their long form: random
objects against a model, the registry cut at every byte, 1,000 points."""
from kill import collector_rounds
from kill.proof import at_points, proof, repeat
from kill.registry_rounds import RARE, Rounds

WHAT = ("registry and collector, each killed at 500 random instants, the registry at every point; 10,000 bytes "
        "changed; random objects against a model")
COUNTS = (1, 2, 3, 5, 8)
INSTANTS = 500
CHANGES = 10000
KILLS_A_RUN = 4


def run(env):
    with proof(env, Rounds.program) as (folder, seed), Rounds(folder, seed) as rounds:
        points = at_points(env, rounds, COUNTS, rare=RARE)
        repeat(env, INSTANTS, rounds.kill_any_time)
        rounds.settle(30)
        done = rounds.ask("damage", rounds.thing, CHANGES, seed, seconds=max(60, env.left_s()))
        if done.returncode != 0:
            raise rounds.broken(f"a changed byte was not found: {done.stderr.strip()}")
    whole = collector_rounds.Rounds
    with proof(env, whole.program) as (folder, other_seed), whole(folder, other_seed) as collector:
        repeat(env, INSTANTS // KILLS_A_RUN, lambda: collector.kill_any_time(KILLS_A_RUN))
    units = env.tests("--only", "units", "-k", "broker")
    return rounds.kills + collector.kills + CHANGES, (
        f"{rounds.kills} kills at {points} points and {INSTANTS} random instants, {rounds.looks} looks, the last "
        f"commit stood; {done.stdout.strip()}; {collector.kills} kills of a collector, after each run registry, "
        f"documents and words agree; {units} unit cases of the broker in their long form; seeds {seed}, {other_seed}")
