"""Checks that code compiled for one instruction set cannot be linked into another's place.

An inline function or template instance that is left out of line is a weak symbol, and of several with one name the
linker keeps any. So every function an object of a tier defines must carry the tier's own namespace in its name.

Usage: tier_symbols_test.py SOURCE_DIR BUILD_DIR
"""

import glob
import os
import re
import subprocess
import sys
import tempfile

TIERS = ("avx2", "avx512", "avx512_bf16", "amx")


def defined_functions(path):
    """Demangled names of the global and weak functions an object defines. Constants may be shared: they are no code."""
    out = subprocess.run(["nm", "--demangle", "--defined-only", "--extern-only", path], capture_output=True, text=True,
                         check=True).stdout
    return re.findall(r"^[0-9a-f]* +[TWi] (.+)$", out, re.MULTILINE)


def foreign_functions(path, tier):
    return [name for name in defined_functions(path) if f"::{tier}::" not in name]


def checker_finds_a_foreign_function():
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "part.cpp")
        with open(source, "w", encoding="utf-8") as file:
            file.write("namespace tiers::avx2 { void own() {} }\n"
                       "template <class T> __attribute__((noinline)) T shared(T x) { return x; }\n"
                       "int user(int x); namespace tiers::avx2 { int call(int x) { return shared(x); } }\n")
        part = os.path.join(folder, "part.o")
        subprocess.run([os.environ.get("CXX", "c++"), "-c", source, "-o", part], check=True)
        return foreign_functions(part, "avx2") == ["int shared<int>(int)"]


def main():
    source_dir, build_dir = sys.argv[1:3]
    if not checker_finds_a_foreign_function():
        print("a template instance without the tier's name went unseen")
        return 1
    findings = []
    objects = 0
    for tier in TIERS:
        pattern = os.path.join(build_dir, "src", "kernels", "CMakeFiles", f"colugo_kernels_{tier}.dir", "**", "*.o")
        for path in sorted(glob.glob(pattern, recursive=True)):
            objects += 1
            findings += [f"{os.path.relpath(path, build_dir)}: {name}" for name in foreign_functions(path, tier)]
    if objects == 0:
        print(f"no object of a tier in {build_dir}")
        return 1
    print(f"{objects} objects, {len(findings)} functions without their tier's name")
    print("\n".join(findings))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
