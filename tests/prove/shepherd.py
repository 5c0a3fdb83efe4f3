"""States of the crawl: a writer that plays reap, cork, merge and cleanup, killed at every fault point
several times over and at 500 random instants. What was told durable is there, nothing is half, and a
follower hears every change once, in order, across all of it."""
from kill.crawl_rounds import UNUSUAL, Rounds
from kill.proof import at_points, proof, repeat

WHAT = "the crawl's states, killed at every point and at 500 random instants"
COUNTS = (1, 2, 3, 5, 8, 13)
INSTANTS = 500


def run(env):
    with proof(env, Rounds.program) as (folder, seed), Rounds(folder, seed) as rounds:
        points = at_points(env, rounds, COUNTS, rare=UNUSUAL)
        repeat(env, INSTANTS, rounds.kill_any_time)
    return rounds.kills, (f"{rounds.kills} kills at {points} points and {INSTANTS} random instants, nothing lost, "
                          f"nothing half, every change heard once; seed {seed}")
