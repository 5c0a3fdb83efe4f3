"""Two processes write one database of small state and are killed in 500 rounds at random instants:
every commit that was told is there as a whole."""
from kill.proof import proof, repeat
from kill.small_rounds import Rounds

WHAT = "two processes that write one database of small state, killed in 500 rounds"
ROUNDS = 500


def run(env):
    with proof(env, Rounds.program) as (folder, seed), Rounds(folder, seed) as rounds:
        repeat(env, ROUNDS, rounds.kill_both)
        rounds.settle_all()
    return rounds.kills, (f"{rounds.kills} kills in {ROUNDS} rounds, {sum(rounds.last.values())} "
                          f"commits, each whole; seed {seed}")
