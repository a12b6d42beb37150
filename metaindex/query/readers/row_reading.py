"""The time that reading one row by key takes, by the row groups of a table's files: the unit that an index leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from importlib.util import find_spec
from typing import Final

from metaindex.core import Plain, counted, dataclass
from metaindex.expressions import ColumnRef, Comparison, In, Op, Predicate, conjuncts, gathered_form
from metaindex.formats import Footer, OpenedFile, Schema
from metaindex.storage import is_remote

from .footer_groups import FooterGroups

_FILES: Final = 8
"""That are looked at, evenly chosen."""
_SMALLER: Final = 100_000
_LOST_MS: Final = 25
"""More than this, and half of the time, has to be lost to large row groups before they are spoken of."""


@dataclass(frozen=True, slots=True)
class RowReading(Plain):
    """The time that reading one row takes, of the row group of middle size in `files` of the `of_files` that are kept:
    its rows, and the bytes of the columns that are read. `reader`: "pages" if columns are read by those pages that hold
    the row, else "row groups"; `expected_ms`: of a processor, by the reader that is installed; `smaller_ms`: the same
    in row groups of no more than `smaller_rows` rows; `whole_ms`, `smaller_whole_ms`: to read all of the row group, as
    Spark does; `by_key`: whether a value is looked up in a column that may have many."""

    JSON = (
        "files of_files rows stored_bytes size_bytes reader expected_ms smaller_rows smaller_ms whole_ms"
        " smaller_whole_ms advice"
    )
    files: int
    of_files: int
    rows: int
    stored_bytes: int
    size_bytes: int
    reader: str
    expected_ms: float
    smaller_ms: float
    whole_ms: float
    smaller_whole_ms: float
    by_key: bool
    smaller_rows: int = _SMALLER

    @classmethod
    def of(
        cls,
        groups: FooterGroups,
        paths: Sequence[str],
        schema: Schema,
        tree: Predicate,
        needs: Iterable[tuple[str, ...]] = (),
        of_files: int = 0,
    ) -> RowReading | None:
        """Look at the footers of some of these files, and at the pages of one row group. `needs`: the columns that are
        read, by their paths, none for all; `of_files`: how many are kept, if there are more. None if no footer tells.
        """
        sources = {leaf.parts: ".".join(leaf.source) for leaf in schema.leaves()}
        compared = {ref.parts for ref in tree.columns}
        sought = {ref.parts for ref in _sought(tree)}
        read = {parts for need in needs for parts in sources if parts[: len(need)] == need}
        columns = [_below(sources[parts] for parts in some if parts in sources) for some in (compared, sought)]
        columns.append(_below([sources[parts] for parts in read] or [""]))
        some = [paths[at * len(paths) // _FILES] for at in range(_FILES)] if len(paths) > _FILES else paths
        middles: list[tuple[int, int, str, Footer]] = []
        for path in some:
            with suppress(*OpenedFile.DOUBTS):  # who reads the file is told
                if (footer := groups.footer(path)) is not None:
                    middles.append((*_middle(footer), path, footer))
        half = sorted(rows for rows, *_ in middles)[len(middles) // 2] if middles else 0
        opened = (lambda _: nullcontext()) if is_remote(groups.storage.root) else groups.storage.open_input
        for _, group, path, footer in sorted(middles, key=lambda place: abs(place[0] - half)):
            with suppress(*OpenedFile.DOUBTS), opened(path) as source:
                cost = footer.row_cost(source, group, *columns)
                return cls(
                    files=len(middles),
                    of_files=max(of_files, len(paths)),
                    rows=cost.rows,
                    stored_bytes=cost.stored_bytes,
                    size_bytes=cost.size_bytes,
                    reader="pages" if cost.by_pages else "row groups",
                    expected_ms=cost.ms,
                    smaller_ms=cost.of_rows(_SMALLER),
                    whole_ms=cost.whole_ms,
                    smaller_whole_ms=cost.whole_ms * min(1.0, _SMALLER / cost.rows),
                    by_key=cost.has_many,
                )
        return None

    @property
    def advice(self) -> str:
        """Return what to do about row groups that are too large to look up rows by key; empty if they are not."""
        by_spark = _lost(self.whole_ms, self.smaller_whole_ms) and find_spec("pyspark") is not None
        if not (self.by_key and (by_spark or _lost(self.expected_ms, self.smaller_ms))):
            return ""
        how = "by the pages that hold it" if self.reader == "pages" else "and whole row groups"
        spark = (
            f"; Spark, which reads whole row groups, takes about {self.whole_ms:,.0f} ms for it"
            f" ({self.smaller_whole_ms:,.0f} ms)"
        )
        looked_at = f"{self.files:,} of {counted(self.of_files, 'file')} looked at"
        here = f"with Arrow {how} ({self.smaller_ms:,.0f} ms in row groups of {self.smaller_rows:,} rows)"
        return (
            f"row groups have {self.rows:,} rows ({looked_at}): one row takes about {self.expected_ms:,.0f} ms to read"
            f" here, {here}{spark if by_spark else ''}; where you look up by key, write row groups of 10,000 to 100,000"
            " rows"
        )


def _lost(now: float, smaller: float) -> bool:
    return now - smaller >= max(_LOST_MS, now / 2)


def _middle(footer: Footer) -> tuple[int, int]:
    """Return the rows and the number of the row group that holds the middle row. Raises ValueError if there is none."""
    rows = [footer.metadata.row_group(at).num_rows for at in range(footer.metadata.num_row_groups)]
    left = sum(rows) // 2
    for at, count in enumerate(rows):
        if count < 0:
            break
        if left < count:
            return count, at
        left -= count
    raise ValueError("a file that has no middle row")


def _sought(tree: Predicate) -> Iterator[ColumnRef]:
    """The columns in which values are looked up."""
    for part in conjuncts(gathered_form(tree)):
        if isinstance(part, In) or (isinstance(part, Comparison) and part.op in (Op.EQ, Op.NULL_SAFE_EQ)):
            yield part.column


def _below(sources: Iterable[str]) -> Callable[[str], bool]:
    """Return whether a column of a file, by its dotted path, is one of some, or in one of them."""
    beginnings = tuple(f"{source}." if source else "" for source in sources)
    return lambda path: f"{path}.".startswith(beginnings)
