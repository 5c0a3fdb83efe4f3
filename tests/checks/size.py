"""A file of 600 lines asks to be two; one of 1000 has to be."""
import common

ASK, MUST = 600, 1000


def problems(root):
    for path in common.files(root, "*.c", "*.h", "*.py", "*.sh", "run"):
        n = len(common.text(root / path).splitlines())
        if n > MUST:
            yield f"{path}:{n}: more than {MUST} lines"
        elif n > ASK:
            yield f"note: {path}: {n} lines"


if __name__ == "__main__":
    common.main(problems)
