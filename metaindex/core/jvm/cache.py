"""The cache of downloaded jars and of the Java wrapper: one folder per user, shared by every project and environment.

Everything in it can be deleted at any time; what is missing is made again when it is next needed.
"""

import os
from collections.abc import Mapping
from pathlib import Path


def cache_dir(environ: Mapping[str, str] | None = None) -> Path:
    """METAINDEX_CACHE, else `metaindex` under XDG_CACHE_HOME, else `~/.cache/metaindex`. It may not exist yet."""
    environ = os.environ if environ is None else environ
    if chosen := environ.get("METAINDEX_CACHE"):
        return Path(chosen).expanduser().absolute()
    # The XDG specification says that a relative path there is to be ignored.
    if (xdg := environ.get("XDG_CACHE_HOME")) and Path(xdg).is_absolute():
        return Path(xdg) / "metaindex"
    return Path.home() / ".cache" / "metaindex"
