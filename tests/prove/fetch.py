"""Two processes fetch the same lists from simnet and are killed in 300 rounds at random instants:
no server is asked by two at once or too early, and none is left alone for long."""
from contextlib import closing

import garner
from kill.fetch_rounds import Rounds
from kill.proof import proof, repeat

WHAT = "two processes that fetch from 40 servers, killed in 300 rounds at random instants"
ROUNDS = 300


def run(env):
    with proof(env, "simnet") as (folder, seed), closing(garner.Garner(directory=folder)) as g, \
            Rounds(g, seed) as rounds:
        repeat(env, ROUNDS, rounds.kill_some)
        requests = rounds.check()["requests"]
        rounds.settle()
    return rounds.kills, (f"{rounds.kills} kills in {ROUNDS} rounds, {requests} requests, none too "
                          f"early, none two at once, no server lost; seed {seed}")
