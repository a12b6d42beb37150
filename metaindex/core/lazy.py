"""A package's root as its one door: what it exports is loaded on first use (PEP 562)."""

from __future__ import annotations

import sys
from collections.abc import Callable


def door(package: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package. It exports what its root imports under `if TYPE_CHECKING`, a
    line a name: `from .config import Config as Config`."""
    where: dict[str, str] = {}

    def known() -> dict[str, str]:
        if not where:
            root = sys.modules[package]
            for line in root.__loader__.get_data(root.__file__).decode().split("\n"):  # type: ignore[union-attr]
                if line.startswith("    from "):
                    _, module, _, name, *_ = line.split()
                    where[name] = module
        return where

    def load(name: str) -> object:
        if name not in known():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = where[name].lstrip(".")
        level = len(where[name]) - len(module)
        value = getattr(__import__(module, {"__package__": package}, None, [name], level), name)
        setattr(sys.modules[package], name, value)
        return value

    return load, lambda: sorted(known())
