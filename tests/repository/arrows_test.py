"""Runs the checks of tree_checks.py on this source tree, and on a made-up tree that breaks each rule once.

Usage: arrows_test.py SOURCE_DIR COMPILE_COMMANDS_JSON
"""

import os
import platform
import sys
import tempfile
import unittest

import tree_checks
from tree_checks import Tree

SOURCE_DIR = None
COMPILE_COMMANDS = None

# A tree without a fault.
CLEAN = {
    "CMakeLists.txt": "add_compile_options(-ffp-contract=off)\n",
    "scripts/lib/packages.sh": "build_packages=(libfmt-dev)\n",
    "src/base/error.h": "#pragma once\n#include <string>\n",
    "src/base/error.cpp": '#include "base/error.h"\n',
    "src/base/CMakeLists.txt": "find_package(fmt)\ncolugo_library(colugo_base SOURCES error.cpp)\n",
    "src/kernels/table.h": "#pragma once\n#include <cstdint>\n",
    "src/kernels/generic/dot.h": "#pragma once\n#include <cstddef>\n",
    "src/kernels/avx2/dot.cpp": '#include "kernels/generic/dot.h"\n#include "kernels/table.h"\n',
    "src/model/forward.cpp": '#include "base/error.h"\n#include "kernels/table.h"\n',
    "src/text/utf8.cpp": '#include "base/error.h"\n',
    "tests/base/error_test.cpp": '#include "base/error.h"\n#include "support/temp_folder.h"\n',
    "tests/kernels/dot_test.cpp": "int main() {}\n",
    "tests/model/forward_test.cpp": "int main() {}\n",
    "tests/support/temp_folder.h": "#pragma once\n",
    "tests/text/utf8_test.cpp": "int main() {}\n",
    "tools/part.py": '"""A module."""\n',
    "docs/page.md": "A page.\n",
}

# (check, file to add or replace, its text, what one finding must say)
FAULTS = [
    ("check_arrows", "src/base/up.h", '#pragma once\n#include "kernels/table.h"\n',
     "src/base/up.h:2: base may not include kernels/table.h"),
    ("check_arrows", "src/text/side.h", '#pragma once\n\n#include "model/forward.h"\n',
     "src/text/side.h:3: text may not include model/forward.h"),
    ("check_arrows", "src/model/near.h", '#pragma once\n#include "forward.h"\n',
     'src/model/near.h:2: includes "forward.h" without its folder'),
    ("check_arrows", "src/misc/any.h", "#pragma once\n", "misc is not a folder the arrows know"),
    ("check_arrows", "src/base/CMakeLists.txt", "colugo_library(colugo_base DEPENDS colugo_model)\n",
     "src/base/CMakeLists.txt: base may not link colugo_model"),
    ("check_includes_exist", "src/model/gone.cpp", '#include "base/gone.h"\n', "includes base/gone.h, which does not"),
    ("check_mirror", "src/cache/pool.cpp", "int pool;\n", "src/cache: tests/cache has no *_test.cpp"),
    ("check_mirror", "tests/cache/pool_test.cpp", "int pool;\n", "tests/cache: mirrors no folder"),
    ("check_line_caps", "src/model/long.cpp", "\n" * 701, "src/model/long.cpp: has 701 lines, the cap is 700"),
    ("check_line_caps", "src/kernels/generic/long.h", "#pragma once\n" + "\n" * 900, "has 901 lines, the cap is 900"),
    ("check_unfinished", "src/model/late.cpp", "// TO" + "DO: the rest\n", "src/model/late.cpp:1: says TO" + "DO"),
    ("check_build_flags", "CMakeLists.txt", "add_compile_options(-O3 -march=" + "native)\n", "CMakeLists.txt:1: passes"),
    ("check_packages", "src/text/CMakeLists.txt", "pkg_check_modules(pcre2 REQUIRED IMPORTED_TARGET libpcre2-8)\n",
     "src/text/CMakeLists.txt: asks for libpcre2-8, but scripts/lib/packages.sh does not install libpcre2-dev"),
    ("check_packages", "CMakeLists.txt", "find_package(Vulkan)\n", "CMakeLists.txt: asks for Vulkan, whose"),
    ("check_kernel_headers", "src/kernels/generic/sort.h", "#pragma once\n#include <algorithm>\n",
     "src/kernels/generic/sort.h:2: brings <algorithm>"),
    ("check_kernel_headers", "src/kernels/table.h", "#pragma once\n#include <vector>\n",
     "src/kernels/table.h:2: brings <vector> into kernels of tier avx2"),
    ("check_compiled", "src/model/orphan.cpp", "int orphan;\n", "src/model/orphan.cpp: no target compiles it"),
    ("check_guards", "src/model/open.h", "int open;\n", "src/model/open.h: has no #pragma once"),
    ("check_text", "src/model/blank.h", "#pragma once \n", "src/model/blank.h:1: ends in blanks"),
    ("check_text", "src/model/cut.h", "#pragma once", "src/model/cut.h: does not end in a newline"),
    ("check_executable", "tools/run.py", "#!/usr/bin/env python3\n", "tools/run.py: begins with #! and is not"),
]


def make_tree(files, compiled):
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        return Tree(root, compiled)


class ThisTree(unittest.TestCase):
    def test_keeps_every_rule(self):
        tree = Tree(SOURCE_DIR, tree_checks.compiled_sources(SOURCE_DIR, COMPILE_COMMANDS))
        self.assertIn("src/base/error.h", tree.files)
        findings = [finding for check in tree_checks.CHECKS for finding in check(tree)]
        self.assertFalse(findings, "\n" + "\n".join(findings))


class MadeUpTree(unittest.TestCase):
    COMPILED = {path for path in CLEAN if path.endswith(".cpp")}

    def test_clean_tree_has_no_finding(self):
        tree = make_tree(CLEAN, self.COMPILED)
        for check in tree_checks.CHECKS:
            self.assertEqual(check(tree), [], check.__name__)

    def test_each_fault_is_found(self):
        for check, path, text, expected in FAULTS:
            if platform.machine() == "aarch64" and "avx2" in expected:
                continue
            with self.subTest(check=check, path=path):
                findings = getattr(tree_checks, check)(make_tree({**CLEAN, path: text}, self.COMPILED))
                self.assertTrue(any(expected in finding for finding in findings), findings)

    def test_each_check_has_a_fault(self):
        self.assertEqual({check.__name__ for check in tree_checks.CHECKS}, {fault[0] for fault in FAULTS})


if __name__ == "__main__":
    SOURCE_DIR, COMPILE_COMMANDS = (os.path.realpath(argument) for argument in sys.argv[1:3])
    unittest.main(argv=sys.argv[:1])
