"""Every fuzzer, for a minute or as long as the area's time allows."""
import re

WHAT = "every fuzzer"
FUZZ_S = 60
RESERVE_S = 60  # builds of the fuzzers, and their ends


def fuzz(env):
    """Every target as long as the time allows; returns (targets, seconds each, runs)."""
    out = env.run(["fuzz/run", "--list"], "fuzz/run --list")
    targets = out.split()
    seconds = min(FUZZ_S, (env.left_s() - RESERVE_S) // max(1, len(targets)))
    if targets and seconds <= 0:
        raise env.Broken("no time left for the fuzzers")
    runs = 0
    for target in targets:
        out = env.run(["fuzz/run", seconds, target], f"fuzz {target}")
        runs += sum(map(int, re.findall(r"(\d+) runs", out)))
    return len(targets), seconds, runs


def run(env):
    targets, seconds, runs = fuzz(env)
    return runs, f"{targets} fuzzers of {seconds} s: {runs} runs, nothing found"
