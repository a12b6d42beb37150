"""The shapes of files as people have them: how large files are, and how large their row groups. A benchmark that is
given one makes its table of such files."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shape:
    group_rows: int
    file_mb: int
    files: int  # at least

    def files_of(self, rows: int, row_bytes: int, quick: bool = False) -> tuple[int, int]:
        """How many files hold so many rows of about this size on disk, and how many rows each of them has."""
        each = self.file_mb * 1_000_000 // row_bytes // 1_000 * 1_000
        return (4, min(each, 10_000)) if quick else (max(self.files, rows // each), each)


SHAPES = {"small": Shape(2_500, 1, 40), "medium": Shape(122_880, 30, 8), "large": Shape(1_000_000, 128, 3)}
