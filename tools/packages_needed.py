"""Tells which package a tool needs, instead of where its import failed."""

import importlib.util
import sys
from unittest import mock

IN_DEBIAN = {"jinja2", "numpy"}  # as python3-NAME


def need(*packages):
    """Ends the tool with a sentence that names the first of the packages that is not installed."""
    for package in packages:
        if importlib.util.find_spec(package) is None:
            debian = f"apt install python3-{package}, or " if package in IN_DEBIAN else ""
            sys.exit(f"{sys.argv[0]} needs {package}: {debian}pip install {package} in a virtual environment")


def asks_for_help():
    return not {"-h", "--help"}.isdisjoint(sys.argv[1:])


def need_for_work(*packages):
    """As need(), but --help, which a tool's argparse answers before it computes anything, does without them."""
    if not asks_for_help():
        need(*packages)
    for package in packages:
        if package not in sys.modules and importlib.util.find_spec(package) is None:
            sys.modules[package] = mock.MagicMock()
