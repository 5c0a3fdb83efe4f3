"""Four processes share a table of politeness and are killed at every fault point several times over
and in 300 rounds at random instants: no server is asked by two at once or too early."""
from kill.polite_rounds import Rounds
from kill.proof import at_points, proof, repeat

WHAT = "politeness among 4 processes, killed at every point and in 300 rounds at random instants"
COUNTS = (1, 2, 3, 5, 8, 13)
ROUNDS = 300


def run(env):
    with proof(env, Rounds.program) as (folder, seed), Rounds(folder, seed) as rounds:
        points = at_points(env, rounds, COUNTS)
        repeat(env, ROUNDS, rounds.kill_some)
        rounds.settle()
    return rounds.kills, (f"{rounds.kills} kills at {points} points and in {ROUNDS} rounds, "
                          f"{rounds.starts} requests, none too early, none two at once; seed {seed}")
