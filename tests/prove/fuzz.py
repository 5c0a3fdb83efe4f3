"""Every fuzzer, for a minute or as long as the area's time allows."""
import re

WHAT = "every fuzzer"
FUZZ_S = 60
RESERVE_S = 120  # the end of the last one: on a busy machine some read their seeds for a minute


def fuzz(env):
    """Every target for its share of the time that is left, since builds and slow starts take
    theirs first; returns (targets, fewest seconds, runs)."""
    out = env.run(["fuzz/run", "--list"], "fuzz/run --list")
    targets = out.split()
    fewest, runs = FUZZ_S, 0
    for done, target in enumerate(targets):
        seconds = min(FUZZ_S, (env.left_s() - RESERVE_S) // (len(targets) - done))
        if seconds <= 0:
            raise env.Broken(f"no time left for the fuzzer {target}")
        out = env.run(["fuzz/run", seconds, target], f"fuzz {target}")
        runs += sum(map(int, re.findall(r"(\d+) runs", out)))
        fewest = min(fewest, seconds)
    return len(targets), fewest, runs


def run(env):
    targets, seconds, runs = fuzz(env)
    return runs, f"{targets} fuzzers of {seconds} s or more: {runs} runs, nothing found"
