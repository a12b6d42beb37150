"""Checks of stored rows: by themselves, or against the files that they come from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from .keyed import TakesRows

LACKS = "the index does not find {} of its values"
EXTRA = "the index names {} values that are in no row of it"


class Mismatch(Exception):
    """Places of one run that do not fit each other."""

    def __init__(self, message: str, where: str) -> None:
        super().__init__(message)
        self.where = where


class KeyCheck(TakesRows, Protocol):
    """Takes the rows of the files that are compared."""

    @property
    def failed(self) -> Sequence[int]:
        """The ordinals that would be unkeyed."""

    def wrong(self, ordinals: Sequence[int]) -> Iterator[tuple[int, str]]:
        """Yield what is wrong about these files, all of which have ended."""
