"""Files are cut by topic. One above 900 lines is looked at again; one above 1,500 is an error."""
import common

ASK, MUST = 900, 1500


def problems(root):
    for path in common.files(root, "*.c", "*.h", "*.py", "*.sh", "run"):
        n = len(common.text(root / path).splitlines())
        if n > MUST:
            yield f"{path}:{n}: more than {MUST} lines"
        elif n > ASK:
            yield f"note: {path}: {n} lines"


if __name__ == "__main__":
    common.main(problems)
