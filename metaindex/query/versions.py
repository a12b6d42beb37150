"""The versions of a table that can be read, for people."""

from __future__ import annotations

from collections.abc import Sequence

from metaindex.core import Shown, TextTable, counted
from metaindex.formats import Version

_SHOWN = 20


class VersionList(Shown, list[Version]):
    """Oldest first, as a list is. Printed, it names the newest."""

    @property
    def brief(self) -> str:
        ends = f", {self[0]} to {self[-1]}" if len(self) > 1 else f" {self[0]}" if self else ""
        return f"{counted(len(self), 'version')}{ends}"

    @property
    def shown(self) -> Sequence[str | TextTable]:
        older = len(self) - _SHOWN
        names = [f"  {version}" for version in self[-_SHOWN:]]
        return ("\n".join([self.brief, *([f"  {older:,} older ones"] if older > 0 else []), *names]),)
