"""Sites of a names index: one writer, killed at every fault point several times over and at 500 random instants while
another process asks for names, and 10,000 changed bytes in what it left. The units of names in full, and under TSan."""
from kill.names_rounds import Rounds
from kill.proof import at_points, proof, repeat

WHAT = ("names index, killed at every point and at 500 random instants while names are asked for; 10,000 bytes changed; "
        "units in full, and under TSan")
COUNTS = (1, 2, 3, 5, 8)
INSTANTS = 500
CHANGES = 10000
UNITS = "index.names"


def run(env):
    with proof(env, Rounds.program) as (folder, seed), Rounds(folder, seed) as rounds:
        points = at_points(env, rounds, COUNTS)
        repeat(env, INSTANTS, rounds.kill_any_time)
        rounds.settle(40)
        rounds.stop()
        done = rounds.ask("damage", rounds.thing, CHANGES, rounds.seed, seconds=max(60, env.left_s()))
        if done.returncode != 0:
            raise rounds.broken(f"a changed byte was not found: {done.stderr.strip()}")
    units = env.tests("--only", "units", "-k", UNITS)
    tsan = env.tests("--build", "tsan", "--only", "units", "-k", UNITS)
    return rounds.kills + CHANGES + units + tsan, (
        f"{rounds.kills} kills at {points} points and {INSTANTS} random instants, {rounds.looks} looks, the last commit "
        f"stood and no question failed; {done.stdout.strip()}; {units} units in full, {tsan} under TSan; seed {seed}")
