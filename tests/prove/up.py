"""The supervisor: killed hundreds of times, and its scenes with the sanitizers."""
import re

WHAT = "supervisor killed at each fault point and at 300 random instants; scenes with sanitizers"


def run(env):
    kills = env.tests("--only", "kill", "-k", "test_up")
    scenes = env.tests("--build", "asan", "--only", "scenes", "-k", "test_up")
    text = (env.root / "tests" / "kill" / "test_up.py").read_text()
    rounds = int(re.search(r"rounds = (\d+) if long_run", text).group(1))
    return rounds + kills, (f"{rounds} random kills and {kills} kill tests: nothing left behind, "
                            f"all ready again; {scenes} scenes clean under ASan and UBSan")
