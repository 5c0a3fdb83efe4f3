"""Every header compiles alone, without a warning. One compiler is enough: what both make of a header's
contents, the builds and checks/clang.py see in the files that include it."""
import common

FLAGS = ["-std=gnu17", "-D_GNU_SOURCE", "-D_FILE_OFFSET_BITS=64", "-DGARNER_FAULTS=1", "-Wall",
         "-Wextra", "-Wshadow", "-Wstrict-prototypes", "-Wconversion", "-Wno-sign-conversion",
         "-Wno-missing-field-initializers", "-Werror"]


def library_flags(root):
    """Where libraries keep their headers, as the build knows it."""
    return sorted({a for _, args, _ in common.compile_commands(root) for a in args
                   if a.startswith("-I/")})


def problems(root):
    places = ["-I", "src", "-I", "include", *library_flags(root)]
    jobs = [(path, ["gcc", *FLAGS, *places, "-fsyntax-only", "-include", str(path), "-x", "c",
                    "/dev/null"], root)
            for path in common.files(root, "src/*/*.h", "src/*/*/*.h", "include/*.h",
                                     "bench/*.h")]
    for path, code, out in common.run_all(jobs):
        if code != 0:
            yield f"{path}:1: does not compile alone:\n{out.rstrip()}"


if __name__ == "__main__":
    common.main(problems)
