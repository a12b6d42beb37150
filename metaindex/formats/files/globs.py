r"""Patterns of names as Hadoop reads them, hence Spark: in paths, and in `pathGlobFilter`.

    *        any characters but "/"          [ab] [a-z] [^a] [!a]   one character of these, none of these
    ?        one character                   {a,b}                  one of these; outside of file names also with "/"
                                                                    inside
    \x       the character x itself

There is no pattern for "at any depth": `**` is refused, as Spark reads it as `*` and other tools do not.
"""

from __future__ import annotations

import re
from itertools import pairwise

from metaindex.core import UnsupportedFeatureError

_SPECIAL = frozenset("{}[]*?\\")


def has_pattern(text: str) -> bool:
    """Return whether a character of the path is special in patterns."""
    return not _SPECIAL.isdisjoint(text)


def escape(text: str) -> str:
    """A pattern that fits this text alone."""
    return re.sub(r"([{}\[\]*?\\])", r"\\\1", text)


def literal(part: str) -> str | None:
    """Return the name that one part of a path matches literally; None for a pattern."""
    bare = re.sub(r"\\.", "", part, flags=re.DOTALL)
    return None if has_pattern(bare) else re.sub(r"\\(.)", r"\1", part, flags=re.DOTALL)


def matcher(pattern: str) -> re.Pattern[str]:
    """Return the pattern that one part of a path, or a file's name, is matched against (`fullmatch`)."""
    out: list[str] = []
    open_ = 0
    at, end = 0, len(pattern)
    while at < end:
        c = pattern[at]
        at += 1
        if c == "\\":
            if at == end:
                raise _unreadable(pattern, "nothing follows its last backslash")
            out.append(re.escape(pattern[at]))
            at += 1
        elif c == "*":
            if pattern[at : at + 1] == "*":
                raise _unreadable(pattern, "`**` does not reach down through folders in Spark; open the folder above")
            out.append(".*")
        elif c == "?":
            out.append(".")
        elif c == "{":
            out.append("(?:")
            open_ += 1
        elif c == "}" and open_:
            out.append(")")
            open_ -= 1
        elif c == "," and open_:
            out.append("|")
        elif c == "[":
            at, of_these = _one_of(pattern, at)
            out.append(of_these)
        else:
            out.append(re.escape(c))
    if open_:
        raise _unreadable(pattern, "a { is not closed")
    return re.compile("".join(out), re.DOTALL)


def _one_of(pattern: str, at: int) -> tuple[int, str]:
    """The class of characters that begins behind a bracket, and the place behind its end."""
    inside = at + (pattern[at : at + 1] in ("^", "!"))
    close = pattern.find("]", inside + 1)  # a bracket that comes first is a character of the class
    if close < 0:
        raise _unreadable(pattern, "a [ is not closed")
    characters = re.sub(r"([\[\]\\^&~|])", r"\\\1", pattern[inside:close])
    of_these = f"[{'^' if inside > at else ''}{characters}]"
    try:
        re.compile(of_these)
    except re.error as error:
        raise _unreadable(pattern, str(error)) from error
    return close + 1, of_these


def expand(pattern: str) -> list[str]:
    """A path's pattern as patterns whose braces hold no "/": `{a/b,c}/d` is `a/b/d` and `c/d`."""
    depth = 0
    start = -1
    commas: list[int] = []
    at = 0
    while at < len(pattern):
        c = pattern[at]
        if c == "\\":
            at += 2
            continue
        if c == "{":
            depth += 1
            if depth == 1:
                start, commas = at, []
        elif c == "," and depth == 1:
            commas.append(at)
        elif c == "}" and depth:
            depth -= 1
            if depth == 0 and "/" in pattern[start:at]:
                ends = [start, *commas, at]
                inner = [pattern[a + 1 : b] for a, b in pairwise(ends)]
                return [expanded for part in inner for expanded in expand(pattern[:start] + part + pattern[at + 1 :])]
        at += 1
    return [pattern]


def _unreadable(pattern: str, why: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"a pattern of paths has *, ?, [a-z] and {{a,b}}; cannot read {pattern!r}: {why}; write \\ before a character"
        " that means itself"
    )
