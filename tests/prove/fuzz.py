"""Every fuzzer, for a minute or as long as the area's time allows."""
import re
import statistics

WHAT = "every fuzzer"
FUZZ_S, FUZZ_LEAST_S = 60, 5
RESERVE_S = 60  # the end of the last one


def fuzz(env):
    """Every target for its share of the time that is left, less what starts and ends take, of which those so far
    are the measure; returns (targets, fewest seconds, runs)."""
    out = env.run(["fuzz/run", "--list"], "fuzz/run --list")
    targets = out.split()
    fewest, runs, over = FUZZ_S, 0, [0]
    for done, target in enumerate(targets):
        left = env.left_s()
        share = (left - RESERVE_S) // (len(targets) - done) - int(statistics.median(over))
        seconds = max(min(FUZZ_S, share), min(FUZZ_LEAST_S, left - RESERVE_S))
        if seconds <= 0:
            raise env.Broken(f"no time left for the fuzzer {target}")
        out = env.run(["fuzz/run", seconds, target], f"fuzz {target}")
        runs += sum(map(int, re.findall(r"(\d+) runs", out)))
        fewest = min(fewest, seconds)
        over.append(max(0, left - env.left_s() - seconds))
    return len(targets), fewest, runs


def run(env):
    targets, seconds, runs = fuzz(env)
    return runs, f"{targets} fuzzers of {seconds} s or more: {runs} runs, nothing found"
