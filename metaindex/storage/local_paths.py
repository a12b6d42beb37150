"""Local paths named by a text: a plain path, or a `file:` URI."""

from __future__ import annotations

import os
from urllib.parse import unquote, urlsplit

from metaindex.core import StorageError

HANDLES = "/proc/self/fd"
"""Where an open file has a name, by its handle."""


def local_path(text: str) -> str | None:
    """The absolute local path that a path or a `file:` URI names; None for the URI of another store."""
    if text.startswith("/"):
        return os.path.normpath(text)
    uri = local_path_of_uri(text)
    if uri is not None:
        return os.path.normpath(uri)
    if "://" in text:
        return None
    return os.path.normpath(os.path.join(os.getcwd(), os.path.expanduser(text)))


def local_path_of_uri(text: str) -> str | None:
    """The path of a `file:` URI (`file:/a`, `file:///a`, `file://localhost/a`), percent-decoded; None for anything
    else."""
    if not text.startswith("file:/"):
        return None
    parts = urlsplit(text.replace("#", "%23").replace("?", "%3F"))
    if parts.netloc not in ("", "localhost"):
        raise StorageError(f"a file: URI names this machine only, got {text!r}")
    return unquote(parts.path)
