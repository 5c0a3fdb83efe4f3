"""The whole line, from a URL to a search result: garner up on a synthetic internet with its roles killed 300
times, and its collector at every fault point and at random instants: all ends as if nothing had been."""
import re

from kill.collector_rounds import RARE, Rounds
from kill.proof import at_points, proof, repeat

WHAT = "a crawl with 300 kills of its roles; the collector killed at every point and at random instants"
COUNTS = (1, 2, 3, 5)
RUNS = 100  # of four kills each


def run(env):
    tests = env.tests("--only", "line")
    text = (env.root / "tests" / "line" / "test_line.py").read_text()
    kills = int(re.search(r"range\((\d+) if long_run", text).group(1))
    with proof(env, Rounds.program) as (folder, seed), Rounds(folder, seed) as rounds:
        points = at_points(env, rounds, COUNTS, rare=RARE)
        repeat(env, RUNS, rounds.kill_any_time)
    return kills + rounds.kills, (
        f"{tests} line tests with {kills} kills of roles: every page found, none that is not allowed, polite; "
        f"collector killed at {points} points and in {RUNS} runs at random: none lost, none twice, none left; "
        f"seed {seed}")
