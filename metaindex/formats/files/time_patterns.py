"""Patterns of dates and times (`dateFormat`, `timestampFormat`): those whose every field has a fixed width.

    yyyy uuuu   four digits          HH mm ss   two digits
    MM dd       two digits           S...       one digit to as many as there are letters
    XXX         Z or +02:00          [...]      may be missing
    'T'         the text itself, whatever its case, as are characters that are no letters

Java's formatters know many more; a pattern with one of those is refused. What does not fit is no value, as in Spark,
save a year with a sign, which Java may read: it is not certain.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_FIELDS = {
    "yyyy": r"(?P<year>[0-9]{4})",
    "uuuu": r"(?P<year>[0-9]{4})",
    "MM": r"(?P<month>[0-9]{2})",
    "dd": r"(?P<day>[0-9]{2})",
    "HH": r"(?P<hour>[0-9]{2})",
    "mm": r"(?P<minute>[0-9]{2})",
    "ss": r"(?P<second>[0-9]{2})",
    "XXX": r"(?P<zone>Z|[+-][0-9]{2}:[0-9]{2})",
}
_PART = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z]")


@dataclass(frozen=True, slots=True)
class TimePattern:
    """A pattern as a regular expression, and a wider one that fits signed years too. `text`: the first, for RE2 too."""

    form: re.Pattern[str]
    signed: re.Pattern[str]
    text: str

    @classmethod
    def of(cls, pattern: str) -> TimePattern | None:
        """None: it has a field that is not read here, or names no day."""
        out: list[str] = []
        at = 0
        while at < len(pattern):
            token = _PART.match(pattern, at)
            if token is None:
                return None
            part, at = token[0], token.end()
            if part in _FIELDS:
                out.append(_FIELDS[part])
            elif set(part) == {"S"} and len(part) <= 9:
                out.append(rf"(?P<fraction>[0-9]{{1,{len(part)}}})")
            elif token[1] is not None:
                out.append(re.escape(token[1].replace("''", "'") or "'"))
            elif part == "[":
                out.append("(?:")
            elif part == "]":
                out.append(")?")
            elif token[2] or part in "{}#'":
                return None
            else:
                out.append(re.escape(part))
        text = "".join(out)
        try:
            form = re.compile(text, re.IGNORECASE | re.ASCII)
            signed = re.compile(text.replace("[0-9]{4}", "[+-][0-9]+"), re.IGNORECASE | re.ASCII)
        except re.error:
            return None  # a field twice, a bracket without its other
        return cls(form, signed, f"(?i)^(?:{text})$") if {"year", "month", "day"} <= form.groupindex.keys() else None
