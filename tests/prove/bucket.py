"""A bucket file that is appended to, deleted from, shaken down and trained for, killed at every fault
point several times over and at 500 random instants: what a checkpoint covers is there, unchanged, under
the number that is noted; nothing else is; a fix loses only what was damaged."""
from kill.bucket_rounds import Rounds
from kill.proof import at_points, proof, repeat

WHAT = "a bucket file with shakedowns, killed at every point and at 500 random instants"
COUNTS = (1, 2, 3, 5)
INSTANTS = 500


def run(env):
    with proof(env, Rounds.program) as (folder, seed), Rounds(folder, seed) as rounds:
        points = at_points(env, rounds, COUNTS)
        repeat(env, INSTANTS, rounds.kill_any_time)
        rounds.settle()
    return rounds.kills, (f"{rounds.kills} kills at {points} points and {INSTANTS} random instants, {rounds.looks} "
                          f"looks, nothing lost; seed {seed}")
