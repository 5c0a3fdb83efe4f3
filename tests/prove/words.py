"""Documents and their words, in the document store and the words index: one writer, killed at every fault
point several times over and at 500 random instants, and 10,000 changed bytes in what it left.

And its answers compared with those of agrep, glimpse and ripgrep on 2,000 files (words_peers.py). What differs is
explained there file by file: an error of agrep's and glimpse's may stand for what separates words; glimpse's list
of words has _ in words, loses a word between two blocks, and right after a word that matches passes over one
that lacks the first letters of the query; -B tries no errors with -w; for ripgrep accents count."""
import pathlib

import peers
import words_peers
from kill.proof import at_points, proof, repeat
from kill.words_rounds import RARE, Rounds

WHAT = ("document store and words index, killed at every point and at 500 random instants; 10,000 bytes changed; "
        "answers compared with agrep, glimpse and ripgrep")
COUNTS = (1, 2, 3, 5, 8)
INSTANTS = 500
CHANGES = 10000
FILES, WORDS, BEST, EXPRESSIONS = 2000, 120, 40, 900  # compared with the peers


def run(env):
    with proof(env, Rounds.program) as (folder, seed), Rounds(folder, seed) as rounds:
        points = at_points(env, rounds, COUNTS, rare=RARE)
        repeat(env, INSTANTS, rounds.kill_any_time)
        rounds.settle()
        found = change_bytes(env, rounds)
        compared = compare(env, pathlib.Path(folder), seed)
    return rounds.kills + CHANGES, (
        f"{rounds.kills} kills at {points} points and {INSTANTS} random instants, {rounds.looks} looks, the last "
        f"commit stood; {found}; {compared}; seed {seed}")


def change_bytes(env, rounds):
    """In an index of several segments, with deletes, and a table of documents that were moved."""
    rounds.begin_anew()
    rounds.must_die_of("docstore.compact.remove=kill@3", 60)
    rounds.check()
    done = rounds.ask("damage", rounds.thing, CHANGES, rounds.seed, seconds=max(60, env.left_s()))
    if done.returncode != 0:
        raise rounds.broken(f"a changed byte was not found: {done.stderr.strip()}")
    return done.stdout.strip()


def compare(env, folder, seed):
    told = []
    try:
        glimpse, ripgrep = peers.get("glimpse"), peers.get("ripgrep")
        texts = words_peers.Texts(folder / "ascii", FILES, seed)
        told += words_peers.compare_errors(glimpse, texts, WORDS, seed)
        told += words_peers.compare_best(glimpse, texts, BEST, seed)
        texts = words_peers.Texts(folder / "foreign", FILES, seed, foreign=True)
        told.append(words_peers.compare_expressions(ripgrep, texts, EXPRESSIONS, seed))
    except (peers.Absent, words_peers.Unexplained) as e:
        raise env.Broken(f"compared with the peers: {e}; seed {seed}") from None
    finally:
        print("".join(f"  {one}\n" for one in told), end="", flush=True)
    return "; ".join(map(str, told))
