#!/usr/bin/python3
"""report.py latency QUERIES NAME=FILE...      p50 and p95 of each kind and tool, and garner's ratio to the best rival
report.py quality KNOWN.tsv NAME=FILE...    MRR@10: the mean of 1/rank of the first right document within ten
report.py ask QUERIES KIND                  the queries of a kind in garner's language, a line each
report.py ask-known KNOWN.tsv               the same for known items: any of the words
report.py lines KIND BATCH                  what `query --batch` said, as lines of the rivals' drivers
report.py lines-known KNOWN.tsv BATCH       the same for known items
A line of a driver is kind, number of the query, CPU microseconds, hits."""
import json
import math
import sys
from pathlib import Path

KINDS = ("term", "and", "or", "phrase", "attr")


def at(values, share):
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def ask(words, kind):
    if kind == "phrase":
        return '"' + " ".join(words) + '"'
    if kind == "attr":
        return f"title : {words[0]}" + (f" AND {words[1]}" if len(words) > 1 else "")
    return {"term": "", "and": " AND ", "or": " OR "}[kind].join(words)


def queries(path):
    return [line.split("\t")[1:] for line in path.read_text().splitlines()]


def batch(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def read(files):
    """tool -> kind -> {query: (us, hits)}"""
    tools = {}
    for given in files:
        name, path = given.split("=", 1)
        kinds = tools.setdefault(name, {})
        for line in Path(path).read_text().splitlines():
            kind, number, us, hits = line.split("\t")
            kinds.setdefault(kind, {})[int(number)] = (float(us), int(hits))
    return tools


def latency(files):
    tools = read(files)
    lines = []
    print(f"  {'kind':8} {'tool':10} {'queries':>8} {'p50 us':>9} {'p95 us':>9} {'p99 us':>9} {'hits':>7}")
    for kind in KINDS:
        best = {}
        for tool, kinds in tools.items():
            if kind not in kinds:
                continue
            us = [v[0] for v in kinds[kind].values()]
            hits = sum(v[1] for v in kinds[kind].values()) / len(us)
            print(f"  {kind:8} {tool:10} {len(us):8} {at(us, .5):9.1f} {at(us, .95):9.1f} {at(us, .99):9.1f} {hits:7.1f}")
            for name, share in (("p50", .5), ("p95", .95)):
                lines.append(f"figure words.{kind}_{tool}_{name} {at(us, share):.1f} us")
                if tool != "garner":
                    best[name] = min(best.get(name, math.inf), at(us, share))
        ours = [v[0] for v in tools.get("garner", {}).get(kind, {}).values()]
        for name, share in (("p50", .5), ("p95", .95)):
            if ours and name in best:
                lines.append(f"ratio words.{kind}_{name}_vs_best {at(ours, share) / best[name]:.3f}")
    print("\n".join(lines))


def known_items(path):
    rows = [line.split("\t") for line in Path(path).read_text().splitlines()]
    return {r[0]: (r[2] == "1", r[3], set(r[4].split(","))) for r in rows}


def quality(known, files):
    items = known_items(known)
    figures = {}
    for given in files:
        name, path = given.split("=", 1)
        best = {}
        for line in Path(path).read_text().splitlines():
            number, rank, doc = line.split("\t")
            if doc in items[number][2] and int(rank) <= 10:
                best[number] = min(best.get(number, 11), int(rank))
        for group, wanted in (("", None), ("_without_typo", False)):
            chosen = [i for i in items if wanted is None or items[i][0] == wanted]
            figures[name, group] = sum(1 / best[i] if i in best else 0 for i in chosen) / len(chosen)
            print(f"figure words.mrr10{group}_{name} {figures[name, group]:.4f} MRR")
    if ("lucene", "") in figures and ("garner", "") in figures:
        print(f"ratio words.mrr10_vs_lucene {figures['garner', ''] / figures['lucene', '']:.3f}")


def main(verb, *args):
    if verb == "latency":
        latency(args[1:])
    elif verb == "quality":
        quality(args[0], args[1:])
    elif verb == "ask":
        print("\n".join(ask(w, args[1]) for w in queries(Path(args[0]) / f"{args[1]}.tsv")))
    elif verb == "ask-known":
        print("\n".join(" OR ".join(item[1].split()) for item in known_items(args[0]).values()))
    elif verb == "lines":
        for i, answer in enumerate(batch(args[1])):
            print(f"{args[0]}\t{i}\t{answer['us']:.1f}\t{len(answer['ids'])}")
    elif verb == "lines-known":
        for number, answer in zip(known_items(args[0]), batch(args[1])):
            for rank, doc in enumerate(answer.get("ids", []), 1):
                print(f"{number}\t{rank}\t{doc}")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
