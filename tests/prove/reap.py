"""A master and three reapds crawl worlds of simnet; in 300 rounds reapds are killed, stopped for longer
than the lease and cut off by a proxy that falls silent, and the master is killed. In each world every page
is gathered once, and no server is asked early."""
import tempfile

import garner
from kill.proof import proof, repeat
from kill.reap_rounds import Rounds

WHAT = "a master and three reapds, killed, stopped and cut off in 300 rounds"
WORLDS, ROUNDS = 15, 20


def run(env):
    total = {"requests": 0, "pages": 0, "lost": 0}
    done = {}
    with proof(env, "simnet") as (folder, seed):
        for world in range(WORLDS):
            made = []

            def make(made=made):
                made.append(garner.Garner(directory=tempfile.mkdtemp(dir=folder)))
                return made[-1]
            try:
                with Rounds(make, seed + world) as rounds:
                    repeat(env, ROUNDS, rounds.disturb)
                    total["requests"] += rounds.settle()["requests"]
            finally:
                for g in made:
                    g.close()
            total["pages"] += len(rounds.expected)
            total["lost"] += rounds.lost
            for kind, n in rounds.done.items():
                done[kind] = done.get(kind, 0) + n
            print(f"  world {world + 1}: {rounds.done}, {rounds.lost} jobs lost", flush=True)
    each = ", ".join(f"{kind} {n}" for kind, n in done.items())
    return WORLDS * ROUNDS, (f"{each}; {total['pages']} pages, each once, {total['requests']} requests, none early, "
                             f"{total['lost']} jobs lost and done again; seed {seed}")
