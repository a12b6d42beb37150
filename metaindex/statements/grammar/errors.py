"""Errors in the text of a statement, with their position."""

from __future__ import annotations

from collections.abc import Iterable

from metaindex.core import StatementError, one_line

_LONGEST = 60


def wrong(text: str, at: int, fact: str, rule: str = "", cure: str = "", end: int | None = None) -> StatementError:
    """The error at a place of the text: place, fact, cure and rule. `end`: where what is wrong ends."""
    return StatementError("; ".join(filter(None, (fact, cure, rule))), text, at, at + 1 if end is None else end)


def near(word: str, known: Iterable[str]) -> str:
    """Return "did you mean ...?", or nothing."""
    import difflib

    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"did you mean {close[0]}?" if close else ""


def pointed(error: StatementError) -> str:
    """The line that is wrong, and below it carets where."""
    start = error.text.rfind("\n", 0, error.at) + 1
    stop = error.text.find("\n", error.at)
    line = error.text[start : len(error.text) if stop < 0 else stop]
    column = error.at - start
    if column > _LONGEST:  # of a long line the part around it
        line, column = "..." + line[column - _LONGEST + 3 :], _LONGEST
    line = line if len(line) <= column + _LONGEST else line[: column + _LONGEST] + "..."
    before, after = one_line(line[:column]), one_line(line[column:])
    wide = max(1, min(error.end - error.at, len(after)))
    return f"{before}{after}\n{' ' * len(before)}{'^' * wide}"
