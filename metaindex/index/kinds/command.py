"""Command line options of a kind in `metaindex create`, in a group that says what it is for."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Protocol, Self, TypeVar

from metaindex.core import ArgumentError

Key = tuple[str, ...]
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class KindCommand(Protocol[T_co]):
    def arguments(self, parser: argparse.ArgumentParser) -> None:
        """Adds the options."""

    def kinds(self, args: argparse.Namespace, alone: bool) -> Sequence[T_co]:
        """Return the kinds of these options. `alone`: no other kind has one. ArgumentError for bad combinations."""


class Keys(Generic[T]):
    """Option that can be repeated, each time with a key: `--values a,b`. `make`: the kind, of keys and of what more is
    said; `title` and `text` are for a person. `more`: other parameters of the kind, as argparse takes each."""

    ONE_EACH = "of this column; can be repeated"
    """Of a kind whose keys are one column each, `text`."""

    def __init__(
        self, make: Callable[..., T], option: str, title: str, text: str = "", **more: Mapping[str, Any]
    ) -> None:
        self._make, self.option, self._title, self._more = make, option, title, more
        self._text = text or "key this column, or several as one (a,b); can be repeated"

    @classmethod
    def named(cls, name: str, docstring: str | None, make: Callable[..., T], text: str = "") -> Self:
        """Return the option of a kind that needs only its name."""
        return cls(make, f"--{name.replace('_', '-')}", f"{name}: {_first_sentence(docstring)}", text)

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        group = parser.add_argument_group(self._title)
        group.add_argument(
            self.option,
            action="append",
            default=[],
            type=_key,
            metavar="C" if self._text == self.ONE_EACH else "C[,C]",
            help=self._text.replace("%", "%%"),
        )
        for name, said in self._more.items():
            group.add_argument(f"--{name}", **said)

    def kinds(self, args: argparse.Namespace, alone: bool) -> Sequence[T]:
        keys = value_of(args, self.option)
        said = {name: getattr(args, name) for name in self._more if getattr(args, name) is not None}
        for name in said if not keys else ():
            raise ArgumentError(
                f"--{name} is of {self.option}, which names no column; say {self.option} COLUMN, or leave --{name} out"
            )
        return [self._make(*keys, **said)] if keys else []


def value_of(args: argparse.Namespace, option: str) -> Any:
    """Return the value given for an option."""
    return getattr(args, option.removeprefix("--").replace("-", "_"))


def _first_sentence(docstring: str | None) -> str:
    return " ".join((docstring or "a kind of another package").split()).split(". ")[0].rstrip(".").replace("%", "%%")


def _key(text: str) -> Key:
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise argparse.ArgumentTypeError(f"a key is a column, or columns separated by commas; got {text!r}")
    return names
