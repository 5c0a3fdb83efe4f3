"""Every unit program under ASan and UBSan in its long form: what `make test` leaves out there
because the sanitizers make it slow."""

WHAT = "units in their long form under ASan and UBSan"


def run(env):
    cases = env.tests("--build", "asan", "--only", "units")
    return cases, f"{cases} cases under ASan and UBSan, nothing left out"
