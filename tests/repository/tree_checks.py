"""Rules of the source tree that a compiler does not check (docs/hacking.md, "Rules of the tree").

Every check takes a Tree and returns a list of findings, each one sentence that begins with the offending file.
"""

import json
import os
import platform
import re

# What a folder of src/ may include besides itself. The chain grows leftwards; text and sampling stand beside it.
_CHAIN = ["base", "kernels", "backend", "checkpoint", "model", "cache", "spec", "engine"]
ARROWS = {folder: set(_CHAIN[:i]) for i, folder in enumerate(_CHAIN)}
ARROWS["text"] = {"base"}
ARROWS["sampling"] = {"base"}
ARROWS["engine"] |= {"text", "sampling"}
ARROWS["bench"] = {"base", "text"}
ARROWS["quant"] = {"base", "kernels", "backend", "checkpoint", "model", "text"}
ARROWS["server"] = ARROWS["engine"] | {"engine"}
ARROWS["cli"] = set(ARROWS)

MAX_LINES = 700
MAX_KERNEL_LINES = 900
CODE_ENDINGS = (".cpp", ".h", ".inl", ".py", ".sh")
CODE_FOLDERS = ("src", "tests", "benchmarks", "fuzz", "tools", "scripts")

# Folders of tests/ that mirror no folder of src/.
TEST_FOLDERS = {"fixtures", "full", "golden", "repository", "support", "tools"}

# Kernel files are compiled once for each instruction set. An inline function of the standard library that the compiler
# leaves out of line exists in several of them under one name, and the linker keeps whichever it meets first: code for a
# CPU this one may not be. These headers bring macros, types, builtins and functions that are always inlined.
KERNEL_HEADERS = {
    "arm_neon.h", "cfloat", "climits", "cmath", "cstddef", "cstdint", "cstring", "immintrin.h", "type_traits",
}
# The scalar tier is compiled for the same instruction set as the rest of the program.
PORTABLE_TIERS = {"generic", "scalar"}
FOREIGN_TIERS = {"x86_64": {"neon"}, "aarch64": {"avx2", "avx512", "avx512_bf16", "amx"}}

# Debian's name for what find_package, pkg_check_modules and find_path ask for.
DEBIAN_PACKAGES = {
    "benchmark": "libbenchmark-dev",
    "Boost": "libboost-dev",
    "CLI/CLI.hpp": "libcli11-dev",
    "CLI11": "libcli11-dev",
    "toml++/toml.h": "libtomlplusplus-dev",
    "fmt": "libfmt-dev",
    "GTest": "libgtest-dev",
    "libedit": "libedit-dev",
    "libpcre2-8": "libpcre2-dev",
    "libutf8proc": "libutf8proc-dev",
    "libxxhash": "libxxhash-dev",
    "libzstd": "libzstd-dev",
    "nlohmann_json": "nlohmann-json3-dev",
    "PkgConfig": "pkgconf",
    "prometheus-cpp": "prometheus-cpp-dev",
    "rapidcheck": "librapidcheck-dev",
    "Python3": "python3",
    "Threads": "g++",
}
PACKAGE_LIST = "scripts/lib/packages.sh"

UNFINISHED = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "X" + "XX"]) + r")\b")
FORBIDDEN_FLAGS = ("-march=" + "native", "-ffast" + "-math", "-Of" + "ast")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^">]+)[">]', re.MULTILINE)


class Tree:
    """A source tree: the text of its files, by path relative to the root."""

    SKIPPED_FOLDERS = {".git", "build", "__pycache__"}

    def __init__(self, root, compiled=None):
        """compiled: paths of the sources some target compiles, or None where that is not known."""
        self.files = {}
        self.executable = set()  # paths
        self.compiled = compiled
        for folder, names, files in os.walk(root):
            names[:] = [n for n in names if n not in self.SKIPPED_FOLDERS and not n.startswith("build-")]
            for name in files:
                path = os.path.join(folder, name)
                try:
                    with open(path, encoding="utf-8") as file:
                        self.files[os.path.relpath(path, root)] = file.read()
                    if os.access(path, os.X_OK):
                        self.executable.add(os.path.relpath(path, root))
                except UnicodeDecodeError:
                    pass

    def under(self, *folders, endings=("",)):
        return [p for p in sorted(self.files) if p.startswith(tuple(f + "/" for f in folders)) and p.endswith(endings)]

    def includes(self, path):
        """[(line, "<" or '"', header)] of a file."""
        text = self.files[path]
        return [(text.count("\n", 0, m.start()) + 1, m[1], m[2]) for m in INCLUDE.finditer(text)]


def compiled_sources(root, compile_commands):
    with open(compile_commands, encoding="utf-8") as file:
        commands = json.load(file)
    return {os.path.relpath(os.path.join(c["directory"], c["file"]), root) for c in commands}


def folder_of(path):
    """base of src/base/error.h."""
    return path.split("/")[1]


def check_arrows(tree):
    findings = []
    for path in tree.under("src", endings=(".cpp", ".h", ".inl", ".inc")):
        folder = folder_of(path)
        if folder not in ARROWS:
            findings.append(f"{path}: {folder} is not a folder the arrows know")
            continue
        for line, kind, header in tree.includes(path):
            target = header.split("/")[0]
            if kind == '"' and "/" not in header:
                findings.append(f"{path}:{line}: includes \"{header}\" without its folder")
            elif kind == '"' and target != folder and target not in ARROWS[folder]:
                findings.append(f"{path}:{line}: {folder} may not include {header}")
    for path in tree.under("src", endings=("CMakeLists.txt",)):
        for target in re.findall(r"\bcolugo_(\w+)", tree.files[path]):
            folder = folder_of(path)
            if target in ARROWS and target != folder and target not in ARROWS.get(folder, ()):
                findings.append(f"{path}: {folder} may not link colugo_{target}")
    return findings


def check_includes_exist(tree):
    findings = []
    for path in tree.under("src", "tests", "benchmarks", "fuzz", endings=(".cpp", ".h", ".inl")):
        roots = ["src"] if path.startswith("src/") else ["src", "tests", "", os.path.dirname(path)]
        for line, kind, header in tree.includes(path):
            if kind == '"' and not any(os.path.join(root, header) in tree.files for root in roots):
                findings.append(f"{path}:{line}: includes {header}, which does not exist")
    return findings


def check_mirror(tree):
    findings = []
    folders = {folder_of(p) for p in tree.under("src", endings=(".cpp",))}
    tested = {folder_of(p) for p in tree.under("tests", endings=("_test.cpp",))}
    for folder in sorted(folders - tested):
        findings.append(f"src/{folder}: tests/{folder} has no *_test.cpp")
    present = {folder_of(p) for p in tree.under("tests") if p.count("/") > 1}
    for folder in sorted(present - TEST_FOLDERS - folders):
        findings.append(f"tests/{folder}: mirrors no folder of src/")
    return findings


def check_line_caps(tree):
    findings = []
    for path in tree.under(*CODE_FOLDERS, endings=CODE_ENDINGS):
        cap = MAX_KERNEL_LINES if path.startswith("src/kernels/") else MAX_LINES
        lines = tree.files[path].count("\n")
        if lines > cap:
            findings.append(f"{path}: has {lines} lines, the cap is {cap}")
    return findings


def check_unfinished(tree):
    findings = []
    for path in tree.under(*CODE_FOLDERS, "cmake", "docs", endings=CODE_ENDINGS + (".md", ".txt", ".cmake")):
        for number, line in enumerate(tree.files[path].splitlines(), 1):
            if match := UNFINISHED.search(line):
                findings.append(f"{path}:{number}: says {match[1]}")
    return findings


def check_build_flags(tree):
    findings = []
    for path in sorted(tree.files):
        if not path.endswith(("CMakeLists.txt", ".cmake", "CMakePresets.json")):
            continue
        for number, line in enumerate(tree.files[path].splitlines(), 1):
            for flag in FORBIDDEN_FLAGS:
                if flag in line.split("#")[0]:
                    findings.append(f"{path}:{number}: passes {flag}, which the row law forbids")
    return findings


def check_packages(tree):
    installed = set(re.findall(r"[\w.+-]+", re.sub(r"#.*", "", tree.files.get(PACKAGE_LIST, ""))))
    findings = []
    for path in sorted(tree.files):
        if not path.endswith(("CMakeLists.txt", ".cmake")):
            continue
        text = re.sub(r"#.*", "", tree.files[path])
        needed = re.findall(r"\bfind_package\(([\w-]+)", text)
        for arguments in re.findall(r"\bpkg_check_modules\(\w+([^)]*)\)", text):
            needed += [name for name in arguments.split() if not name.isupper() and "_TARGET" not in name]
        needed += re.findall(r"\bfind_path\(\w+ (\S+)", text)
        for name in needed:
            package = DEBIAN_PACKAGES.get(name)
            if package is None:
                findings.append(f"{path}: asks for {name}, whose Debian package tests/repository does not know")
            elif package not in installed:
                findings.append(f"{path}: asks for {name}, but {PACKAGE_LIST} does not install {package}")
    return findings


def _system_headers(tree, path, seen):
    """[(file, line, header)] of a file and of every project header it reaches."""
    if path in seen or path not in tree.files:
        return []
    seen.add(path)
    found = []
    for line, kind, header in tree.includes(path):
        if kind == "<":
            found.append((path, line, header))
        else:
            found += _system_headers(tree, "src/" + header, seen)
    return found


def check_kernel_headers(tree):
    findings = set()
    for path in tree.under("src/kernels", endings=(".cpp", ".h", ".inl")):
        if path.count("/") < 3:
            continue
        tier = path.split("/")[2]
        if tier in PORTABLE_TIERS:
            headers = [(path, line, header) for line, kind, header in tree.includes(path) if kind == "<"]
        else:
            headers = _system_headers(tree, path, set())
        for file, line, header in headers:
            if header not in KERNEL_HEADERS:
                findings.add(f"{file}:{line}: brings <{header}> into kernels of tier {tier}")
    return sorted(findings)


def check_compiled(tree):
    if tree.compiled is None:
        return []
    foreign = FOREIGN_TIERS.get(platform.machine(), set())
    findings = []
    for path in tree.under("src", "tests", "benchmarks", "fuzz", endings=(".cpp",)):
        if path.startswith("src/kernels/") and path.split("/")[2] in foreign:
            continue
        if path not in tree.compiled and not path.startswith("tests/golden/"):
            findings.append(f"{path}: no target compiles it")
    return findings


def check_guards(tree):
    findings = []
    for path in tree.under("src", "tests", "benchmarks", "fuzz", endings=(".h",)):
        if not re.search(r"^#pragma once$", tree.files[path], re.MULTILINE):
            findings.append(f"{path}: has no #pragma once")
    return findings


def check_text(tree):
    """Endings and blanks: what an editor does silently and a reviewer cannot see."""
    findings = []
    for path in tree.under(*CODE_FOLDERS, "cmake", "docs", endings=CODE_ENDINGS + (".md", ".txt", ".cmake")):
        text = tree.files[path]
        if text and not text.endswith("\n"):
            findings.append(f"{path}: does not end in a newline")
        if "\r" in text:
            findings.append(f"{path}: has a carriage return")
        for number, line in enumerate(text.split("\n"), 1):
            if line != line.rstrip(" \t"):
                findings.append(f"{path}:{number}: ends in blanks")
    return findings


def check_executable(tree):
    return [
        f"{path}: begins with #! and is not executable"
        for path in tree.under("scripts", "tools")
        if tree.files[path].startswith("#!") and path not in tree.executable
    ]


CHECKS = [
    check_arrows,
    check_includes_exist,
    check_mirror,
    check_line_caps,
    check_unfinished,
    check_build_flags,
    check_packages,
    check_kernel_headers,
    check_compiled,
    check_guards,
    check_text,
    check_executable,
]
