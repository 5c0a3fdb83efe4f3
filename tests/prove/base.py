"""The ground: every unit program under TSan, clang-tidy over all sources, every fuzzer a minute."""
import re
import sys

WHAT = "units under TSan, clang-tidy, every fuzzer"
FUZZ_S = 60
RESERVE_S = 60  # builds of the fuzzers, and their ends


def tidy(env):
    """All files of src; returns how many."""
    sys.path.insert(0, str(env.root / "tests" / "checks"))
    import common
    files = sorted({name for _, _, name in common.compile_commands(env.root) if "/src/" in name})
    args = ["clang-tidy", "-p", ".", "--quiet", "--warnings-as-errors=*"]
    known = f"--extra-arg=-include{env.root / 'tests' / 'prove' / 'analyzer.h'}"
    jobs = [(name, args + ([] if name.endswith("/base/err.c") else [known]) + [name],
             env.root / "build") for name in files]
    bad = 0
    for name, code, out in common.run_all(jobs):
        found = [line for line in out.splitlines() if " error: " in line]
        for line in found or ([out] if code != 0 else []):
            print("  " + line.removeprefix(f"{env.root}/build/../"), flush=True)
        bad += code != 0
    if bad:
        raise env.Broken(f"clang-tidy: findings in {bad} of {len(files)} files")
    return len(files)


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
    cases = env.tests("--build", "tsan", "--only", "units")
    env.run(["make", "BOOTSTRAP=:", "all"], "make")
    files = tidy(env)
    targets, seconds, runs = fuzz(env)
    return cases + runs, (f"{cases} cases under TSan, {files} files tidy, {targets} fuzzers of "
                          f"{seconds} s: {runs} runs, nothing found")
