"""What gcc builds, clang accepts too, without a warning."""
import common


def problems(root):
    commands = common.compile_commands(root)
    if not commands:
        yield "build/compile_commands.json:1: is missing; run `make` first"
    jobs = {}
    for folder, args, name in commands:  # a file that several programs share is looked at once
        jobs.setdefault(name, (name, ["clang", *args[1:], "-Werror", "-fsyntax-only",
                                      "-fno-color-diagnostics"], folder))
    for name, code, out in common.run_all(jobs.values()):
        if code != 0:
            yield f"{name.removeprefix('../')}:1: clang:\n{out.rstrip()}"


if __name__ == "__main__":
    common.main(problems)
