"""What gcc builds, clang accepts too, without a warning; and every function below src/ is reached by
a program. The linker tells: each function is a section, and what the link of garner and of
garner-parse leaves out is reached by nothing but tests. LATER names what is there for a capability
that comes; an entry of which nothing is left out any more leaves the list."""
import re
import shlex
import subprocess
from fnmatch import fnmatchcase

import common

# Names, or the beginning of names, and who will call them.
LATER = {
    "the broker's port, reapd, archie, the URL server, uns: all line servers and links to them":
        "conn_* framing_* gate_* listener_* peer_of server_* session_* outgoing_* listen_address"
        " loop_post",
    "the URL server: queues that are saved, refused URLs, rates":
        "hostq_* url_list_* polite_delay_of_rate",
    "the cycle: sorting and merging of whole indexes, zombie_errors by name, cleanup's numbers":
        "sort_add_stream sort_record_max sort_write merge_groups stream_open stream_read_some"
        " outcome_parse bucket_moves_id",
    "reap resolves names itself and shows how that goes": "dns_stats dns_cache_*",
    "registry and gatherd: identity, bookkeeping, objects inside of objects":
        "soif_book soif_copy soif_embed* soif_merge soif_same soif_set soif_sort soif_unembed",
    "Prospero's packets": "put_u16be put_u32be",
    "the registry replaces the collector; until then its tests wait for a compaction by it":
        "collector_compact",
    "no program: fault points that are counted, the loop with a clock turned by hand":
        "fault_fired loop_step",
}

PROGRAMS = {"garner": "src/cmd/main.c", "garner-parse": "src/cmd/parse_main.c"}
LEFT_OUT = re.compile(r"removing unused section '\.text\.([\w]+)' in file '([^']+)'")


def outputs(root, commands):
    """Object files of what is below src/, by source."""
    folder = root / "build" / "reach"
    folder.mkdir(exist_ok=True)
    return {name: str(folder / (name.replace("../", "").replace("/", "_") + ".o"))
            for _, _, name in commands if name.startswith("../src/")}


def libraries(root, program):
    """What the build links the program with."""
    done = subprocess.run(["ninja", "-C", "build", "-t", "commands", program], cwd=root,
                          capture_output=True, text=True, check=True)
    return [a for a in shlex.split(done.stdout.splitlines()[-1])
            if a.endswith(".so") or a.startswith("-l")]


def link(root, program, objects):
    """The functions that are in the link's way and left out."""
    mains = {"../" + main for main in PROGRAMS.values()} - {"../" + PROGRAMS[program]}
    done = subprocess.run(["clang", *(o for name, o in objects.items() if name not in mains),
                           *libraries(root, program), "-Wl,--gc-sections,--print-gc-sections",
                           "-o", f"build/reach/{program}"], cwd=root, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stdout + done.stderr)
    return {(name, path) for name, path in LEFT_OUT.findall(done.stdout + done.stderr)}


def public(objects):
    """The functions that other files can call: (name, object)."""
    done = subprocess.run(["nm", "-A", "--defined-only", *objects.values()], capture_output=True,
                          text=True, check=True)
    for line in done.stdout.splitlines():
        path, _, rest = line.partition(":")
        _, kind, name = rest.split()
        if kind == "T":
            yield name, path


def unreached(root, objects):
    left = set.intersection(*(link(root, program, objects) for program in PROGRAMS))
    sources = {o: name.removeprefix("../") for name, o in objects.items()}
    found = {name: sources[path] for name, path in public(objects) if (name, path) in left}
    later = [pattern for names in LATER.values() for pattern in names.split()]
    for name, path in sorted(found.items(), key=lambda f: (f[1], f[0])):
        if not any(fnmatchcase(name, pattern) for pattern in later):
            yield f"{path}:1: no program reaches {name}()"
    for pattern in later:
        if not any(fnmatchcase(name, pattern) for name in found):
            yield f"tests/checks/clang.py:1: {pattern} is reached or gone; it leaves LATER"


def problems(root):
    commands = common.compile_commands(root)
    if not commands:
        yield "build/compile_commands.json:1: is missing; run `make` first"
        return
    objects = outputs(root, commands)
    jobs = {}
    for folder, args, name in commands:  # a file that several programs share is looked at once
        what = ["-O0", "-U_FORTIFY_SOURCE", "-ffunction-sections", "-fdata-sections", "-c", "-o",
                objects[name]] if name in objects else ["-fsyntax-only"]
        args = args[1:] if args[0].endswith("ccache") else args
        jobs.setdefault(name, (name, ["clang", *args[1:], "-Werror", *what,
                                      "-fno-color-diagnostics"], folder))
    bad = False
    for name, code, out in common.run_all(jobs.values()):
        if code != 0:
            bad = True
            yield f"{name.removeprefix('../')}:1: clang:\n{out.rstrip()}"
    if not bad and objects:
        yield from unreached(root, objects)


if __name__ == "__main__":
    common.main(problems)
