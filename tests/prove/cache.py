"""The content cache: its roles killed at every fault point and at 500 random instants while providers push; the queue
against the slow model; sessions cut at every byte, bombs, 5,000 connections; the units in full, and under TSan."""
from kill.cache_rounds import LONG

WHAT = ("a cache whose roles are killed at every point and at 500 random instants while providers push; the queue against "
        "a model; hostile sessions; units in full, and under TSan")
UNITS = r"units/cache/|units/store/"


def run(env):
    killed = env.tests("--only", "kill", "-k", "test_cache.py")
    units = env.tests("--only", "units", "-k", UNITS)
    tsan = env.tests("--build", "tsan", "--only", "units", "-k", UNITS)
    hostile = env.tests("--only", "scenes", "-k", "test_hostile_cache")
    return LONG + units + tsan + hostile, (
        f"{killed} cache killed at every point and {LONG} times at random: what was accepted is as its receipts say, no row "
        f"without its file, no file without its row; {hostile} hostile scenes in full; {units} units in full, with "
        f"the queue against the model, {tsan} under TSan")
