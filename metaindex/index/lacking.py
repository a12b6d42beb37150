"""The files of a version that an index lacks, as a value and in one sentence."""

from __future__ import annotations

from metaindex.core import Cure, Words, counted, dataclass


@dataclass(frozen=True, slots=True)
class Lacking:
    """Files of a version, `files` of `of`, that an index does not cover. `touched`: those of them that it knows by
    path, size and time of other files to the file system. `full`: it covers the others' columns by a full refresh
    alone. `past`: they are of a version from before those that it recorded, which no refresh reads."""

    index: str
    files: int
    of: int
    touched: int = 0
    full: bool = False
    past: bool = False

    @property
    def code(self) -> str:
        """Return BEHIND, COLUMNS where only a full refresh helps, TOUCHED where one by identity, PAST where none."""
        return "PAST" if self.past else "TOUCHED" if self.touched else "COLUMNS" if self.full else "BEHIND"

    def __str__(self) -> str:
        with Words.about(self.index):
            return str(self._said())

    @property
    def read_anew(self) -> str:
        """Say of files that were read again that this was not needed."""
        said = f"{counted(self.touched, 'file')} of these had {TOUCHED}"
        return f"{said}; {Cure('argument', 'mode', 'identity')} {_COMPARES}"

    def _said(self) -> str:
        cure = Cure("full", "it") if self.full else "refresh it"
        if self.past:
            cure = f"one created with {Cure('argument', 'history', True)} knows files of older versions"
        if not self.touched:
            return f"it lacks {self.files:,} of {counted(self.of, 'file')}; {cure}"
        has = "has" if self.touched == 1 else "have"
        cure = f"{Cure('identity', 'it')}, which {_COMPARES}"
        if self.touched == self.files:
            return f"{self.touched:,} of {counted(self.of, 'file')} {has} {TOUCHED}; {cure}"
        lacks = f"it lacks {self.files:,} of {counted(self.of, 'file')}"
        return f"{lacks}, of which {self.touched:,} {has} {TOUCHED}; {cure}"


TOUCHED = "another inode or change time (same path, size and time)"
_COMPARES = "compares the bytes of such files, and takes over those that are the same"
