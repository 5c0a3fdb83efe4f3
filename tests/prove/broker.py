"""The broker's port. All sessions in all ways, all flags against each other, and hostile clients in full numbers: 10,000
connections, lines of a megabyte, wrong passwords by the thousand. 200 queries with one error compared with glimpse, on
2,000 files; what differs is explained file by file (glimpse_port.py, words_peers.py). A broker below `garner up`, killed
100 times while it answers: the next client is served within two seconds."""
import pathlib
import random
import shutil
import tempfile

import garner
import peers
import words_peers
from glimpse_port import compare_port, objects_of
from port import Broker, kill_while_answering, large_objects

SCENES = "test_broker or hostile_broker"
WHAT = ("the broker's port: sessions, flags and hostile clients in full, also under TSan; 200 queries compared with "
        "glimpse; killed 100 times while it answers")
FILES, QUERIES, KILLS = 2000, 200, 100
SERVED_S = 2.0


def run(env):
    env.run(["make", "BOOTSTRAP=:", "all"], "make")
    seed = garner.new_seed()
    print(f"  seed {seed}", flush=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="prove-broker-", dir=env.root / "build"))
    made = []

    def make(config="", **more):
        made.append(garner.Garner(config, directory=tempfile.mkdtemp(dir=folder), **more))
        return made[-1]

    try:
        compared = compare(env, make, folder, seed)
        took = kills(env, make, seed)
    except AssertionError as e:
        raise env.Broken(f"{e}; seed {seed}") from None
    finally:
        wrong = [w for g in made for w in g.close()]
        shutil.rmtree(folder)
    if wrong:
        raise env.Broken("; ".join(wrong))
    plain = env.tests("--only", "scenes", "-k", SCENES)
    tsan = env.tests("--build", "tsan", "--only", "scenes", "-k", SCENES)
    return QUERIES + KILLS + plain + tsan, (
        f"{plain} scenes in full, {tsan} clean under TSan; {compared}; {KILLS} kills while it answered, the next client "
        f"was served after {took[KILLS // 2]:.2f} s at the median, {took[-1]:.2f} s at most; seed {seed}")


def compare(env, make, folder, seed):
    try:
        peer = peers.get("glimpse")
        texts = words_peers.Texts(folder / "texts", FILES, seed)
        compared = compare_port(Broker(make, objects_of(texts)), peer, texts, QUERIES, seed)
    except (peers.Absent, words_peers.Unexplained) as e:
        raise env.Broken(f"compared with glimpse: {e}; seed {seed}") from None
    print(f"  {compared}", flush=True)
    return str(compared)


def kills(env, make, seed):
    """Seconds until the next client was served, sorted."""
    broker, dice = Broker(make, large_objects(60), up=True), random.Random(seed)
    took = sorted(kill_while_answering(broker, dice) for _ in range(KILLS))
    print(f"  killed {KILLS} times, served again after {took[0]:.2f} to {took[-1]:.2f} s", flush=True)
    if took[-1] > SERVED_S:
        raise env.Broken(f"after a kill the next client was served after {took[-1]:.2f} s only; seed {seed}")
    return took
