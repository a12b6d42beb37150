"""The command line: `metaindex VERB TABLE ...` says what `open_table(...)` and its verbs say in Python. One file a
command."""

from .main import main

__all__ = ["main"]
