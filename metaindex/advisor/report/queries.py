"""The part of a page about conditions: what each keeps and drops, and by which index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metaindex.core import BarCell, Element, GridCell, Heading, counted, grid, listed, percent, tag
from metaindex.query import Explanation, LeafReport, describe, describe_leaf

_TITLE = 120
_PARTS = 20


def query_parts(queries: Sequence[tuple[str, Explanation]]) -> Iterator[Element | None]:
    """Yield for each condition what is read, who left out the rest, and which index covers what."""
    for words, explanation in queries:
        result = explanation.result
        share = percent(result.kept_files / result.total_files) if result.total_files else "none"
        yield tag("h3", tag("code", shortened(words)))
        yield tag(
            "p",
            f"Reads {result.kept_files:,} of {counted(result.total_files, 'file')} ({share}); of these"
            f" {len(result.certain):,} hold nothing but rows that match.",
        )
        if describe(result.predicate) != words:
            yield tag("p", "understood as ", tag("code", describe(result.predicate)), class_="note")
        yield from result.grids
        parts = _parts(explanation)
        if parts is not None:
            yield parts
        notes = [f"no index answers, keeps every file: {text}" for text in result.not_understood]
        yield listed([*notes, *map(str, explanation.coverage)])


def _parts(explanation: Explanation) -> Element | None:
    """Draw which kind proved what for each part of the condition."""
    total = max(explanation.result.total_files, 1)
    told = [leaf for leaf in explanation.result.leaves if leaf.dropped_files or not leaf.answered]
    if not told:
        return None
    headings = [
        Heading("part of the condition"),
        Heading("index"),
        Heading("kind"),
        Heading("files left out", number=True),
    ]
    rows: list[list[GridCell]] = [
        [describe_leaf(leaf), leaf.index, leaf.kind, _left_out(leaf, total)] for leaf in told[:_PARTS]
    ]
    return grid("Left out, part by part, by each kind alone", headings, rows, max(0, len(told) - _PARTS))


def _left_out(leaf: LeafReport, total: int) -> GridCell:
    if not leaf.answered:
        return "does not answer that"
    return BarCell(f"{leaf.dropped_files:,}", 0.0, leaf.dropped_files / total)


def shortened(text: str) -> str:
    """Shorten a text to a heading."""
    return text if len(text) <= _TITLE else f"{text[:_TITLE]}..."
