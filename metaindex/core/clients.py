"""Registry of what a table offers from rooms above the library: the adviser's `what_if`, Spark's `to_spark`. The public
face registers each of them, so that the library imports none."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final


class Clients:
    """Abilities by name, and the place of each, as `module:name`. It is imported on first use."""

    def __init__(self) -> None:
        self._places: dict[str, str] = {}

    def offer(self, **places: str) -> None:
        """Register abilities."""
        self._places.update(places)

    def get(self, offered: str) -> Any:
        """The function or class that was offered under this name."""
        module, _, name = self._places[offered].partition(":")
        return getattr(import_module(module), name)


CLIENTS: Final = Clients()
