"""Checks that indexes lie apart from the files of the table: other readers would take them for data, and a vacuum would
delete them."""

from __future__ import annotations

import os
from collections.abc import Sequence

from metaindex.core import ArgumentError
from metaindex.storage import is_remote, local_path

_LOGS = ("_delta_log", "_change_data")


def check_outside(place: str, root: str, what: str) -> None:
    """Raise ArgumentError if a place lies in the table's folder and readers do not skip it. `what` is to be there."""
    below = _below(place, root)
    if below is not None and not _is_hidden(below):
        raise ArgumentError(
            f"{what} outside of the table, or in a folder of it whose name begins with '_', as other readers take all"
            " else for data; "
            f"{place} is in {root}; choose another folder"
        )


def _below(place: str, root: str) -> Sequence[str] | None:
    """Return the names from the root down to the place; None if it lies elsewhere."""
    plain, top = _plain(place), _plain(root)
    if plain == top:
        return ()
    start = top.rstrip("/") + "/"
    return plain[len(start) :].split("/") if plain.startswith(start) else None


def _plain(path: str) -> str:
    """Resolve the links of a local path."""
    local = None if is_remote(path) else local_path(path)
    return path.rstrip("/") if local is None else os.path.realpath(local)


def _is_hidden(names: Sequence[str]) -> bool:
    """Return whether engines would skip one of the folders, unless it looks like a partition column or is a log."""
    hidden = [name for name in names if name.startswith(("_", ".")) and "=" not in name]
    return bool(hidden) and not any(name in _LOGS for name in names)
