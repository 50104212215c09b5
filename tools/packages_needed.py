"""Tells which package a tool needs, instead of where its import failed."""

import importlib.util
import sys

IN_DEBIAN = {"jinja2", "numpy"}  # as python3-NAME


def need(*packages):
    """Ends the tool with a sentence that names the first of the packages that is not installed."""
    for package in packages:
        if importlib.util.find_spec(package) is None:
            debian = f"apt install python3-{package}, or " if package in IN_DEBIAN else ""
            sys.exit(f"{sys.argv[0]} needs {package}: {debian}pip install {package} in a virtual environment")
