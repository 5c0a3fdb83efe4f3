"""clang-format decides about spaces: `clang-format -i FILE` mends."""
import re
import subprocess

import common


def problems(root):
    names = [str(p) for p in common.files(root, "*.c", "*.h")]
    if not names:
        return
    done = subprocess.run(["clang-format", "--dry-run", "-Werror", *names], cwd=root,
                          capture_output=True, text=True)
    places = re.findall(r"^(\S+:\d+):\d+: error: ", done.stderr, re.M)
    for place in dict.fromkeys(places):
        yield f"{place}: not as clang-format wants it"
    if done.returncode != 0 and not places:
        yield f".clang-format:1: {done.stderr.strip()}"


if __name__ == "__main__":
    common.main(problems)
