"""Base class of values that display themselves: in one line by `repr`, in full by `print`, as HTML in a notebook, and
on a terminal through rich."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from metaindex.core.texts import bounded, lines, one_line

if TYPE_CHECKING:
    from rich.console import Group

    from .figures import Element
    from .text_table import TextTable

BRIEF = 160
"""Characters of an answer in a line."""


class Printer(Protocol):
    """IPython's, which asks for what a prompt shows."""

    def text(self, text: str) -> None: ...


class Shown:
    """Gives a class with `_printed`, or with `shown` (texts and tables, one below the other), all ways to be looked at:
    names and values in them steer no terminal. A dataclass of it says `repr=False`. One whose first line does not say
    what it is has a `brief`, too."""

    __slots__ = ()

    @property
    def shown(self) -> Sequence[str | TextTable]:
        return (str(self),)

    @property
    def pictured(self) -> Sequence[str | TextTable | Element]:
        """Like `shown`, for a notebook: with pictures, if a class has any."""
        return self.shown

    @property
    def brief(self) -> str:
        """One-line summary."""
        return self._printed().partition("\n")[0]

    def _printed(self) -> str:
        return "\n".join(map(str, self.shown))

    def __str__(self) -> str:
        return lines(self._printed())

    def __repr__(self) -> str:
        """Return one line, for lists, logs and failed assertions."""
        return in_a_line(type(self).__name__, self.brief)

    def _repr_pretty_(self, printer: Printer, cycle: bool) -> None:
        """Print at IPython's prompt what `print` shows."""
        printer.text(bounded(str(self)))

    def _repr_html_(self) -> str:
        parts = (_preformatted(part) if isinstance(part, str) else part._repr_html_() for part in self.pictured)
        return f"<div>{''.join(parts)}</div>"

    def __rich__(self) -> Group:
        from rich.console import Group
        from rich.text import Text

        return Group(*(Text(lines(part)) if isinstance(part, str) else part for part in self.shown))


def in_a_line(name: str, brief: str) -> str:
    """`<name: brief>`, not too long."""
    said = one_line(brief.strip())
    return f"<{name}: {said if len(said) <= BRIEF else said[: BRIEF - 3] + '...'}>"


def _preformatted(text: str) -> str:
    """Text in HTML, as it is printed: nothing in it is markup."""
    import html

    return f"<pre>{html.escape(bounded(text))}</pre>"
