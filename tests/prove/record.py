"""Record files under eight writers, killed at every fault point several times over and at 500 random
instants: every record that was told durable is there, whole, in order, and nothing is half."""
from kill.proof import at_points, proof, repeat
from kill.record_rounds import Rounds

WHAT = "record files under 8 writers, killed at every point and at 500 random instants"
COUNTS = (1, 2, 3, 5, 8, 13)
INSTANTS = 500


def run(env):
    with proof(env, Rounds.program) as (folder, seed), Rounds(folder, seed) as rounds:
        points = at_points(env, rounds, COUNTS, lambda point, nth: rounds.kill_at(point, nth)
                           and rounds.kill_at(point, nth, slow=True))
        repeat(env, INSTANTS, rounds.kill_any_time)
        rounds.settle()
    return rounds.kills, (f"{rounds.kills} kills at {points} points and {INSTANTS} random instants, {rounds.looks} "
                          f"looks, nothing lost; seed {seed}")
