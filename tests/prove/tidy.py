"""clang-tidy over all sources."""
import sys

WHAT = "clang-tidy"


def run(env):
    env.run(["make", "BOOTSTRAP=:", "all"], "make")
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
    return len(files), f"{len(files)} files tidy"
