"""The long form of kill rounds, for the areas of tests/prove."""
import shutil
import tempfile
from contextlib import contextmanager
from functools import partial
from itertools import takewhile

from garner import new_seed
from kill.rounds import Broken

RESERVE_S = 60  # for what comes after the rounds


@contextmanager
def proof(env, program):
    """Builds the program; gives (folder, seed) for rounds. The folder is kept where they fail."""
    env.run(["make", "BOOTSTRAP=:", "all"], "make")
    env.run(["ninja", "-C", "build", f"tests/{program}"], "ninja")
    seed = new_seed()
    print(f"  seed {seed}", flush=True)
    folder = tempfile.mkdtemp(prefix=f"prove-{program}-", dir=env.root / "build")
    try:
        yield folder, seed
    except Exception as e:
        print(f"  kept for a look: {folder}", flush=True)
        if not isinstance(e, Broken):
            raise
        raise env.Broken(str(e).replace(folder, "")) from None
    shutil.rmtree(folder)


def at_points(env, rounds, counts, kill=None, rare=()):
    """Kills at every point, at its nth passing for each of the counts, which ascend; kill(point, nth) says
    whether it is passed so often: if not, neither is it more often. Returns how many points were passed:
    all, but for rare ones."""
    passed = 0
    for point in rounds.points():
        killed = sum(1 for _ in takewhile(partial(kill or rounds.kill_at, point), counts))
        if not killed and point not in rare:
            raise env.Broken(f"{point} is never passed")
        print(f"  {point}: killed {killed} times", flush=True)
        passed += killed > 0
    return passed


def repeat(env, times, step):
    """So many rounds of a kind, as long as the area has time."""
    for i in range(times):
        if env.left_s() < RESERVE_S:
            raise env.Broken(f"only {i} of {times} rounds in the time")
        step()
        if (i + 1) % 100 == 0:
            print(f"  {i + 1} rounds", flush=True)
