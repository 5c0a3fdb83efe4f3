"""The HTTP server: 100,000 connections, and its scenes with both kinds of sanitizers."""

SCENES = "http or web or hostile_heads or hostile_host"
WHAT = "HTTP: 100,000 connections opened and closed, hostile clients; scenes under ASan, UBSan, TSan"


def run(env):
    plain = env.tests("--only", "scenes", "-k", SCENES)
    asan = env.tests("--build", "asan", "--only", "scenes", "-k", SCENES)
    tsan = env.tests("--build", "tsan", "--only", "scenes", "-k", SCENES)
    return 100_000, (f"{plain} scenes with 100,000 connections: memory flat, nothing left; {asan} clean "
                     f"under ASan and UBSan, {tsan} under TSan")
