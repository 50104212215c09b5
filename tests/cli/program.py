"""What tests of the program have in common: where it is, how it is run, and a folder for each case."""
import os
import signal
import subprocess
import sys
import tempfile
import unittest

COLUGO, FIXTURES = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
TINY = os.path.join(FIXTURES, "tiny-bf16")


def environment(extra=None):
    clean = {key: value for key, value in os.environ.items() if not key.startswith("COLUGO_")}
    return {**clean, "TERM": "xterm", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent", **(extra or {})}


def colugo(*arguments, stdin=b"", env=None, cwd=None):
    return subprocess.run([COLUGO, *map(str, arguments)], input=stdin, capture_output=True, env=environment(env), cwd=cwd,
                          timeout=120)


class ProgramCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name, text=None):
        path = os.path.join(self.folder, name)
        if text is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return path

    def succeed(self, *arguments, **options):
        done = colugo(*arguments, **options)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return done


def main():
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup the programs that are sent one would not see it
    unittest.main(module="__main__", argv=[sys.argv[0], *sys.argv[3:]])
