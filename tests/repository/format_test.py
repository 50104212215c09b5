"""Checks that C++ files are as clang-format 14 leaves them. Other versions of it differ in details, so without 14 the
test is skipped and says so.

Usage: format_test.py SOURCE_DIR
"""

import glob
import os
import re
import shutil
import subprocess
import sys

SKIPPED = 77
ENDINGS = (".cpp", ".h", ".inl")


def find_clang_format():
    for name in ("clang-format-14", "clang-format"):
        path = shutil.which(name)
        if path:
            version = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
            if re.search(r"version 14\.", version):
                return path
    return None


def main():
    root = sys.argv[1]
    clang_format = find_clang_format()
    if clang_format is None:
        print("The format is not checked: there is no clang-format 14 here (Debian 12's package clang-format).")
        return SKIPPED
    files = [p for folder in ("src", "tests", "benchmarks", "fuzz")
             for p in glob.glob(os.path.join(root, folder, "**"), recursive=True) if p.endswith(ENDINGS)]
    command = [clang_format, "--style=file", "--dry-run", "--Werror", "--ferror-limit=1"]
    # A file that must differ: without it a clang-format that accepts everything would pass.
    probe = subprocess.run(command + ["--assume-filename=" + os.path.join(root, "src", "probe.cpp")],
                           input="int  probe ( ) ;\n", capture_output=True, text=True)
    if probe.returncode == 0:
        print("clang-format accepts a badly formatted line")
        return 1
    result = subprocess.run(command + sorted(files), capture_output=True, text=True)
    for path in sorted(set(re.findall(r"^(\S+?):\d+:\d+: (?:error|warning)", result.stderr, re.MULTILINE))):
        print(f"{os.path.relpath(path, root)}: not as clang-format leaves it; run {os.path.basename(clang_format)} -i")
    return 0 if result.returncode == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
