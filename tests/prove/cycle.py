"""The cycle: crawls that are killed in their modules, at every fault point several times over and at 500
random instants, end with the documents of one that was not, and tell each delete once; a slow model and
the modules agree on 2,000 worlds; and floods of URLs and sites stay within the limits."""
from kill.cycle_rounds import Rounds
from kill.proof import at_points, proof, repeat

WHAT = "the cycle: crawls killed at every point and at 500 random instants, 2,000 worlds, floods"
COUNTS = (1, 2, 3, 5, 8, 13)
INSTANTS = 500


def run(env):
    env.tests("--only", "units", "-k", "shepherd/cycle|shepherd/floods")
    with proof(env, Rounds.program) as (folder, seed), Rounds(folder, seed) as rounds:
        points = at_points(env, rounds, COUNTS)
        repeat(env, INSTANTS, rounds.kill_any_time)
        rounds.finish()
    return rounds.kills, (f"{rounds.kills} kills at {points} points and {INSTANTS} random instants, {rounds.crawls} "
                          f"crawls to their end: the same documents, every delete told once; 2,000 worlds as the model "
                          f"has them, floods within the limits; seed {seed}")
