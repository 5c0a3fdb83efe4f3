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
    for line in done.stderr.splitlines():
        m = re.match(r"(\S+:\d+):\d+: error: ", line)
        if m:
            yield f"{m.group(1)}: not as clang-format wants it"
    if done.returncode != 0 and ": error: " not in done.stderr:
        yield f".clang-format:1: {done.stderr.strip()}"


if __name__ == "__main__":
    common.main(problems)
