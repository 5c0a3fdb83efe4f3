"""Hands of bad intent: clients, servers, neighbours and disks. The scenes play each attack shortly;
here they have their full numbers, and are played once more with the sanitizers."""

WHAT = "hostile clients, servers, neighbours and disks: every attack in full, once more under ASan and UBSan"


def run(env):
    plain = env.tests("--only", "scenes", "-k", "hostile")
    asan = env.tests("--build", "asan", "--only", "scenes", "-k", "hostile")
    return plain + asan, f"{plain} attacks held off, {asan} of them clean under ASan and UBSan"
