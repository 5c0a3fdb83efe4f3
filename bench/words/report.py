#!/usr/bin/python3
"""report.py latency NAME=FILE...              p50 and p95 of each kind and tool, and garner's ratio to the best rival
report.py scans QUERIES GARNER RG           parts and expressions against ripgrep, by class
report.py quality KNOWN.tsv NAME=FILE...    MRR@10: the mean of 1/rank of the first right document within ten
report.py ask QUERIES KIND...               the queries of a kind in garner's language, a line each
report.py ask-known KNOWN.tsv               the same for known items: any of the words
report.py lines KIND BATCH                  what `query --batch` said, as lines of the rivals' drivers
report.py lines-known KNOWN.tsv BATCH       the same for known items
A line of a driver is kind, number of the query, CPU microseconds, hits."""
import json
import math
import sys
from pathlib import Path

KINDS = ("term", "and", "or", "phrase", "attr", "prefix", "fuzzy1", "fuzzy2")
FORMS = {"phrase": '"%s"', "prefix": "%s*", "fuzzy1": "%s~1", "fuzzy2": "%s~2", "part": "*%s*", "regex": "=/%s/"}

ENOUGH = .9  # of the hits that a rival finds


def at(values, share):
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def ask(words, kind):
    if kind in FORMS:
        return FORMS[kind] % " ".join(words)
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
        best, found = {}, {}
        for tool, kinds in tools.items():
            if kind not in kinds:
                continue
            us = [v[0] for v in kinds[kind].values()]
            found[tool] = hits = sum(v[1] for v in kinds[kind].values()) / len(us)
            print(f"  {kind:8} {tool:10} {len(us):8} {at(us, .5):9.1f} {at(us, .95):9.1f} {at(us, .99):9.1f} {hits:7.1f}")
            for name, share in (("p50", .5), ("p95", .95)):
                lines.append(f"figure words.{kind}_{tool}_{name} {at(us, share):.1f} us")
                if tool != "garner":
                    best[name] = min(best.get(name, math.inf), at(us, share))
        ours = [v[0] for v in tools.get("garner", {}).get(kind, {}).values()]
        if ours and found["garner"] < ENOUGH * max(found.values()):
            print(f"  {kind}: garner finds fewer documents than others, its time says nothing: no ratio")
            continue
        for name, share in (("p50", .5), ("p95", .95)):
            if ours and name in best:
                lines.append(f"ratio words.{kind}_{name}_vs_best {at(ours, share) / best[name]:.3f}")
    print("\n".join(lines))


def scans(queries_folder, ours, rg):
    """Of each class the p50, over the p50 of ripgrep without the start of its process."""
    ours, rg = read([f"garner={ours}"])["garner"], read([f"rg={rg}"])["rg"]
    start = at([v[0] for v in rg["start"].values()], .5)
    lines = [f"figure words.rg_start {start:.0f} us"]
    print(f"  {'kind':8} {'class':8} {'garner p50':>11} {'p95 us':>9} {'rg p50':>11} {'p95 us':>9}")
    for kind in ("part", "regex"):
        rows = (Path(queries_folder) / f"{kind}.tsv").read_text().splitlines()
        classes = [line.split("\t")[0] for line in rows]
        ratios = []
        for one in ["all"] if kind == "part" else sorted(set(classes)):
            asked = [i for i in rg[kind] if one in ("all", classes[i])]
            found = [sum(tool[kind][i][1] for i in asked) for tool in (ours, rg)]
            if found[0] < ENOUGH * found[1]:
                print(f"  {kind} {one}: garner finds {found[0]} where ripgrep finds {found[1]}, its time says nothing: no ratio")
                ratios.append(math.inf)
                continue
            mine = [v[0] for i, v in ours[kind].items() if one in ("all", classes[i])]
            theirs = [max(1, rg[kind][i][0] - start) for i in asked]
            print(f"  {kind:8} {one:8} {at(mine, .5):11.1f} {at(mine, .95):9.1f} {at(theirs, .5):11.1f} {at(theirs, .95):9.1f}")
            name = kind if one == "all" else f"{kind}_{one}"
            lines += [f"figure words.{name}_garner_p50 {at(mine, .5):.1f} us", f"figure words.{name}_garner_p95 {at(mine, .95):.1f} us",
                      f"figure words.{name}_rg_p50 {at(theirs, .5):.1f} us", f"figure words.{name}_rg_p95 {at(theirs, .95):.1f} us"]
            ratios.append(at(mine, .5) / at(theirs, .5))
            if one != "all":
                lines.append(f"ratio words.{name}_vs_rg {ratios[-1]:.4f}")
        if max(ratios) < math.inf:  # the worst class
            lines.append(f"ratio words.{kind}_vs_rg {max(ratios):.4f}")
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
        for group, wanted in (("", None), ("_without_typo", False), ("_with_typo", True)):
            chosen = [i for i in items if wanted is None or items[i][0] == wanted]
            figures[name, group] = sum(1 / best[i] if i in best else 0 for i in chosen) / len(chosen)
            print(f"figure words.mrr10{group}_{name} {figures[name, group]:.4f} MRR")
    theirs = [v for (name, group), v in figures.items() if name.startswith("lucene") and group == ""]
    if theirs and ("garner", "") in figures:  # in its better form
        print(f"ratio words.mrr10_vs_lucene {figures['garner', ''] / max(theirs):.3f}")


def main(verb, *args):
    if verb == "latency":
        latency(args)
    elif verb == "scans":
        scans(*args)
    elif verb == "quality":
        quality(args[0], args[1:])
    elif verb == "ask":
        for kind in args[1:]:
            print("\n".join(ask(w, kind) for w in queries(Path(args[0]) / f"{kind}.tsv")))
    elif verb == "ask-known":
        print("\n".join(" OR ".join(item[1].split()) for item in known_items(args[0]).values()))
    elif verb == "lines":
        for i, answer in enumerate(batch(args[1])):
            if "error" in answer:
                sys.exit(f"{args[0]}, query {i + 1}: {answer['error']}")
            print(f"{args[0]}\t{i}\t{answer['us']:.1f}\t{len(answer['ids']) or answer['total']}")
    elif verb == "lines-known":
        for number, answer in zip(known_items(args[0]), batch(args[1])):
            for rank, doc in enumerate(answer.get("ids", []), 1):
                print(f"{number}\t{rank}\t{doc}")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
