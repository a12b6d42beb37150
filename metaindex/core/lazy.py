"""A room's root as its one door: what it exports is loaded on first use (PEP 562)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def door(room: str, places: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of the room's root. `places`: names that it exports, by the module inside."""
    where = {name: module for module, names in places.items() for name in names.split()}

    def load(name: str) -> object:
        if name not in where:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        value = getattr(import_module(f"{room}.{where[name]}"), name)
        setattr(sys.modules[room], name, value)
        return value

    return load, lambda: sorted(where)
