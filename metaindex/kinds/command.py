"""What of `metaindex create` asks for a kind: its options, in a group that says what it is for."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, Protocol

from metaindex.expressions.errors import ArgumentError

from .kind import Kind

Key = tuple[str, ...]


class Command(Protocol):
    def arguments(self, parser: argparse.ArgumentParser) -> None:
        """Adds the options."""

    def kinds(self, args: argparse.Namespace, alone: bool) -> Sequence[Kind]:
        """What they ask for. `alone`: no option of another kind does. ArgumentError for options that do not fit."""


class Keys:
    """One option that can be repeated, each time with a key: `--values a,b`. As it stands, that of a kind which says
    no more; `title` and `text` are for a person."""

    def __init__(self, kind: type[Kind], option: str = "", title: str = "", text: str = "") -> None:
        self._kind = kind
        self.option = option or f"--{kind.name.replace('_', '-')}"
        self._title = title or f"{kind.name}: {_first_sentence(kind)}"
        self._text = text or "key this column, or several as one (a,b); can be repeated"

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        group = parser.add_argument_group(self._title)
        group.add_argument(
            self.option, action="append", default=[], type=_key, metavar="C[,C]", help=self._text.replace("%", "%%")
        )
        self.more(group)

    def more(self, group: argparse._ArgumentGroup) -> None:
        """Adds options of its own."""

    def said(self, args: argparse.Namespace) -> dict[str, Any]:
        """What these options say, as arguments of the kind."""
        return {}

    def kinds(self, args: argparse.Namespace, alone: bool) -> Sequence[Kind]:
        keys, said = value_of(args, self.option), self.said(args)
        for name in said if not keys else ():
            raise ArgumentError(
                f"--{name} is of {self.option}, which names no column; say {self.option} COLUMN, or leave --{name} out"
            )
        return [self._kind(*keys, **said)] if keys else []


def value_of(args: argparse.Namespace, option: str) -> Any:
    """What was given for an option."""
    return getattr(args, option.removeprefix("--").replace("-", "_"))


def _first_sentence(kind: type[Kind]) -> str:
    return " ".join((kind.__doc__ or "a kind of another package").split()).split(". ")[0].rstrip(".").replace("%", "%%")


def _key(text: str) -> Key:
    found = tuple(name.strip() for name in text.split(","))
    if not all(found):
        raise argparse.ArgumentTypeError(f"a key is a column, or columns separated by commas; got {text!r}")
    return found
