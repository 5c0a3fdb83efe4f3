"""The ground: every unit program under TSan."""

WHAT = "units under TSan"


def run(env):
    cases = env.tests("--build", "tsan", "--only", "units")
    return cases, f"{cases} cases under TSan"
