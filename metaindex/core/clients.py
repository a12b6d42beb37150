"""Registry of what a table offers from rooms above the library: the adviser's `what_if`, Spark's `to_spark`. The public
face registers each of them, so that the library imports none."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_PLACES: dict[str, str] = {}


def offer(**places: str) -> None:
    """Register the place of an ability, as `module:name`. It is imported on first use."""
    _PLACES.update(places)


def client(offered: str) -> Any:
    """The function or class that was offered under this name."""
    module, _, name = _PLACES[offered].partition(":")
    return getattr(import_module(module), name)
