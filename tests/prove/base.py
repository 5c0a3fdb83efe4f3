"""The ground: every unit program under TSan, clang-tidy over all sources."""
import sys

WHAT = "units under TSan, clang-tidy"


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


def run(env):
    cases = env.tests("--build", "tsan", "--only", "units")
    env.run(["make", "BOOTSTRAP=:", "all"], "make")
    files = tidy(env)
    return cases, f"{cases} cases under TSan, {files} files tidy"
