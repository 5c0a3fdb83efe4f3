"""What gcc builds, clang accepts too, without a warning; and all that is below src/ is reached by
a program. The linker tells: each function or table is a section, and what the link of garner and of
garner-parse leaves out is reached by nothing but tests. LATER names what is there for a capability
that comes; what is reached, or gone, leaves the list."""
import re
import shlex
import subprocess

import common

# Who will call it, and names.
LATER = {
    "the indexer weighs URLs and tells the crawl":
        "feedback_create feedback_drop feedback_finish feedback_put",
    "gatherd: objects inside of objects, merged and sorted":
        "soif_embed soif_embed_count soif_embedded soif_merge soif_same soif_sort soif_unembed",
    "no program: fault points that are counted, the loop with a clock turned by hand, cages as "
    "tests and benches want them, a compaction that is waited for, all names in one segment":
        "cage_defaults collector_compact fault_fired loop_step names_merge_all",
}

PROGRAMS = {"garner": "src/cmd/main.c", "garner-parse": "src/cmd/parse_main.c"}
LEFT_OUT = re.compile(r"removing unused section '\.(?:text|rodata|data\.rel\.ro|data|bss)\.(\w+)' in file"
                      r" '([^']+)'")


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
    """The functions and data that other files can use: (name, object)."""
    done = subprocess.run(["nm", "-A", "--defined-only", *objects.values()], capture_output=True,
                          text=True, check=True)
    for line in done.stdout.splitlines():
        path, _, rest = line.partition(":")
        _, kind, name = rest.split()
        if kind in "TRDBV":
            yield name, path


def unreached(root, objects):
    left = set.intersection(*(link(root, program, objects) for program in PROGRAMS))
    sources = {o: name.removeprefix("../") for name, o in objects.items()}
    found = {name: sources[path] for name, path in public(objects) if (name, path) in left}
    later = {name for names in LATER.values() for name in names.split()}
    for name, path in sorted(found.items(), key=lambda f: (f[1], f[0])):
        if name not in later:
            yield f"{path}:1: no program reaches {name}"
    for name in sorted(later - set(found)):
        yield f"tests/checks/clang.py:1: {name} is reached or gone; it leaves LATER"


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
