#!/usr/bin/python3
"""report.py ask KIND.tsv REPEATS           the patterns of a kind, a line each, all of them so many times over
report.py lines KIND REPEATS BATCH       what `query --batch` said to that, as lines of the rivals' drivers
report.py live BATCH                     fails where an answer is an error, or was given without the index
report.py latency NAME=FILE...           p50 and p95 of each kind and tool, and garner's ratio to the best rival
A line of a driver is kind, number of the query, CPU microseconds, hits. The kind "start" is what a tool's process
costs; its median is subtracted from that tool's other lines."""
import json
import math
import sys
from pathlib import Path

KINDS = ("exact", "sub", "subcase", "sub_count", "regex", "regex0")
ENOUGH = .99  # of the hits that a rival finds


def at(values, share):
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def ask(path, repeats):
    patterns = [line.split("\t")[1] for line in Path(path).read_text().splitlines()]
    print("\n".join(patterns * int(repeats)))


def read_answers(what, path):
    answers = [json.loads(line) for line in Path(path).read_text().splitlines()]
    for i, answer in enumerate(answers):
        if "error" in answer or answer.get("scanned"):
            sys.exit(f"{what}, answer {i + 1}: {answer.get('error', 'given without the index')}")
    return answers


def live(path):
    print(f"figure names.live_queries {len(read_answers('live', path))} queries")


def lines(kind, repeats, path):
    answers = read_answers(kind, path)
    n = len(answers) // int(repeats)
    for i in range(n):
        us = min(answer["us"] for answer in answers[i::n])
        counted = kind.endswith("_count")
        if counted and not answers[i]["exact"]:
            sys.exit(f"{kind}, query {i + 1}: the total is not exact")
        print(f"{kind}\t{i}\t{us:.2f}\t{answers[i]['total'] if counted else len(answers[i]['hits'])}")


def read(files):
    """tool -> kind -> {query: (us, hits)}"""
    tools = {}
    for given in files:
        name, path = given.split("=", 1)
        kinds = tools.setdefault(name, {})
        for line in Path(path).read_text().splitlines():
            kind, number, us, hits = line.split("\t")
            kinds.setdefault(kind, {})[int(number)] = (float(us), int(hits))
        started = kinds.pop("start", None)
        if started:
            start = at([v[0] for v in started.values()], .5)
            print(f"figure names.start_{name} {start:.0f} us")
            for answers in kinds.values():
                for number, (us, hits) in answers.items():
                    answers[number] = (max(1, us - start), hits)
    return tools


def fewer(ours, theirs):
    """Whether garner finds less than a rival does, of the queries that both were asked."""
    both = ours.keys() & theirs.keys()
    return sum(ours[i][1] for i in both) < ENOUGH * sum(theirs[i][1] for i in both)


def latency(files):
    tools, ratios = read(files), []
    print(f"  {'kind':9} {'tool':8} {'queries':>8} {'p50 us':>10} {'p95 us':>10} {'p99 us':>10} {'hits':>9}")
    for kind in KINDS:
        best, short = {}, None
        ours = tools.get("garner", {}).get(kind)
        for tool, kinds in tools.items():
            answers = kinds.get(kind)
            if not answers:
                continue
            us = [v[0] for v in answers.values()]
            hits = sum(v[1] for v in answers.values()) / len(us)
            print(f"  {kind:9} {tool:8} {len(us):8} {at(us, .5):10.1f} {at(us, .95):10.1f} {at(us, .99):10.1f} {hits:9.1f}")
            for name, share in (("p50", .5), ("p95", .95)):
                ratios.append(f"figure names.{kind}_{tool}_{name} {at(us, share):.1f} us")
                if tool != "garner":
                    best[name] = min(best.get(name, math.inf), at(us, share))
            if ours and fewer(ours, answers):
                short = tool
        if short:
            print(f"  {kind}: garner finds less than {short}, its time says nothing: no ratio")
        elif ours:
            us = [v[0] for v in ours.values()]
            ratios += [f"ratio names.{kind}.{name} {at(us, share) / best[name]:.4f}"
                       for name, share in (("p50", .5), ("p95", .95)) if name in best]
    print("\n".join(ratios))


if __name__ == "__main__":
    verbs = {"ask": ask, "lines": lines, "live": live}
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    if sys.argv[1] == "latency":
        latency(sys.argv[2:])
    else:
        verbs[sys.argv[1]](*sys.argv[2:])
