"""What of a table fails, as watchers told of it: once while it stays as it is, anew where it fails otherwise, and that
it is mended."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

IndexKey = tuple[str | None, str]
"""An index of a table: its namespace, and its name."""

ITSELF: Final[IndexKey] = (None, "")
"""In place of an index: the table."""


@dataclass(slots=True)
class Failures:
    """Of one table."""

    _why: dict[IndexKey, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self._why)

    def knows(self, key: IndexKey, why: str) -> bool:
        """Does it fail for this reason since before?"""
        return self._why.get(key) == why

    def is_news(self, key: IndexKey, why: str) -> bool:
        """Notes that it fails: is that to be told? Of indexes of a table that cannot be asked nothing is known."""
        news = not self.knows(key, why)
        if key == ITSELF:
            self._why.clear()
        self._why[key] = why
        return news

    def all_but(self, failing: Collection[IndexKey]) -> list[IndexKey]:
        """What has failed and is none of these: it is mended, and forgotten."""
        mended = [key for key in self._why if key not in failing]
        for key in mended:
            del self._why[key]
        return mended

    def forget(self, key: IndexKey) -> None:
        """It is mended, and that was told."""
        self._why.pop(key, None)
