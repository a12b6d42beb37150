"""A place in the words of a statement, and what may stand there. What may not is an error that points at it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Final, TypeVar

from metaindex.core import StatementError, one_line

from .tokens import Token, TokenKind, near, wrong
from .tree import NOW, AskedVersion, Options, TableName
from .verbs import Form

T = TypeVar("T")
_WORDS: Final = {"TRUE": True, "FALSE": False}
_LONGEST: Final = 40
_OPTIONS: Final = "OPTIONS (key = value, ...)"
_NAME: Final = "an index's name"
_OF_CALLERS: Final = frozenset(
    {"catalog", "config", "identifier", "path", "paths", "spark", "storage_options", "trust_index"}
)
"""What whoever runs statements says of a table in Python, and a text does not."""
_TABLE: Final = "a table's name, or its path between quotes"


class Cursor:
    def __init__(self, text: str, words: Sequence[Token], form: Form) -> None:
        self.text, self._tokens, self.form = text, words, form
        self._at = len(form.words)
        self.clause = form.beginning
        """How the part is written in which we are."""
        self.values: dict[str, Token] = {}
        """Where the values of options stand that were read last."""

    @property
    def token(self) -> Token:
        return self._tokens[self._at]

    def ahead(self, count: int = 1) -> Token:
        return self._tokens[min(self._at + count, len(self._tokens) - 1)]

    @property
    def place(self) -> int:
        """The number of the token."""
        return self._at

    def go(self, place: int) -> None:
        self._at = place

    def step(self) -> Token:
        token = self.token
        if token.kind is not TokenKind.END:
            self._at += 1
        return token

    # -- what may stand there ------------------------------------------------------------------------------------------

    def takes(self, *words: str) -> bool:
        """Step over these words if they come next, and return whether they did."""
        if all(self.ahead(count).word == word for count, word in enumerate(words)):
            self._at += len(words)
            return True
        return False

    def takes_one(self, words: Collection[str]) -> str:
        """Step over the next word if it is one of these, and return it; else ""."""
        return self.step().word if self.token.word in words else ""

    def takes_sign(self, sign: str) -> bool:
        if self.token.is_sign(sign):
            self.step()
            return True
        return False

    def word(self, word: str) -> None:
        if not self.takes(word):
            raise self.expected(word)

    def sign(self, sign: str) -> None:
        if not self.takes_sign(sign):
            raise self.expected(sign)

    def name(self, what: str) -> str:
        """Parse one part of a name."""
        token = self.token
        if (
            token.kind is TokenKind.WORD
            or token.kind is TokenKind.NAME
            or (token.kind is TokenKind.TEXT and token.double)
        ):
            if not token.value:
                raise self.wrong(f"{what} is empty", token)
            self.step()
            after = self.token
            if after.kind is TokenKind.SIGN and after.start == token.end and after.value in "-/:~@$":
                raise self._with_sign(what, token, after)
            return token.value
        raise self.expected(what)

    def _with_sign(self, what: str, token: Token, after: Token) -> StatementError:
        """Return the error for a name that contains a sign; for a table the cure is to write it as a path."""
        whole = f"{token.value}{after.value}..."
        cure = "write it in backticks, or double quotes" if what != _TABLE else self._as_path(token)
        return self.wrong(f"{what.partition(',')[0]} has {after.value!r} in it, as {whole}", after, cure)

    def _as_path(self, token: Token) -> str:
        """Return the cure: the path that begins at the token, up to the next blank, in quotes or backticks."""
        written = re.split(r"[\s;,()]", self.text[token.start :], maxsplit=1)[0].replace("`", "")
        path = token.value if token.kind is TokenKind.TEXT else written
        behind_format = token.start > 0 and self.text[token.start - 1] == "."
        return f"write the path in backticks: `{path}`" if behind_format else f"write the path in quotes: '{path}'"

    def parts(self, what: str) -> tuple[str, ...]:
        """A name of several parts, with dots between them."""
        parts = [self.name(what)]
        while self.takes_sign("."):
            parts.append(self.name(what))
        return tuple(parts)

    def text_value(self, what: str) -> str:
        if self.token.kind is not TokenKind.TEXT:
            raise self.expected(f"{what}, between single quotes")
        return self.step().value

    def number(self, what: str) -> float:
        value = self.value(what)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.wrong(f"{what} is a number; it is {value!r}", self._tokens[self._at - 1])
        return value

    def value(self, what: str) -> str | int | float | bool:
        """A text, a number, true or false; a bare word is a text."""
        negative = self.takes_sign("-")
        token = self.token
        if token.kind is TokenKind.NUMBER:
            self.step()
            plain = token.value.isascii() and token.value.isdigit()
            number = int(token.value) if plain and len(token.value) <= 18 else float(token.value)
            return -number if negative else number
        if not negative and token.kind is TokenKind.TEXT:
            return self.step().value
        if not negative and token.kind is TokenKind.WORD:
            return _WORDS.get(token.word, self.step().value)
        raise self.expected(what)

    def listed(self, item: Callable[[], T]) -> list[T]:
        """`(item, item ...)`, one at least."""
        self.sign("(")
        items = [item()]
        while self.takes_sign(","):
            items.append(item())
        if not self.takes_sign(")"):
            raise self.expected(", or )")
        return items

    def if_exists(self) -> bool:
        if not self.takes("IF"):
            return False
        self.word("EXISTS")
        return True

    def table(self) -> TableName:
        """A table's name or path, and how its files are read."""
        self.takes("TABLE")
        name = self.named()
        read = self.options() if self._reads_with() else ()
        self.clause = self.form.text  # of which any part may stand behind
        return TableName(name.parts, name.path, read)

    def named(self) -> TableName:
        """A name, or a path between quotes."""
        token = self.token
        if token.kind is not TokenKind.TEXT or token.double:
            return TableName(self.parts(_TABLE))
        if not token.value:
            raise self.wrong("the path is empty", token)
        return TableName(path=self.step().value)

    def _reads_with(self) -> bool:
        if self.token.word == "WITH" and self.ahead().is_sign("("):
            self.step()
            return True
        return False

    def asked(self) -> AskedVersion:
        """A version."""
        if self.takes("VERSION"):
            self.word("AS")
            self.word("OF")
            value = self.value("a version")
            return AskedVersion(version=value if isinstance(value, int) and not isinstance(value, bool) else str(value))
        if self.takes("TIMESTAMP"):
            self.word("AS")
            self.word("OF")
            return AskedVersion(timestamp=self.text_value("a time"))
        return NOW

    def options(self, check: Callable[[str, Token], None] | None = None) -> Options:
        """`(key = value, ...)`; `check`: is there such an option?"""
        given: dict[str, object] = {}
        before, self.clause, self.values = self.clause, _OPTIONS, {}

        def option() -> None:
            token = self.token
            key = self._key()
            if key in given:
                raise self.wrong(f"the option {key!r} is given twice", token, "leave one out")
            (check or self._of_reader)(key, token)
            if not self.takes_sign("="):
                raise self.expected("=")
            self.values[key.lower()] = self.token
            given[key] = self.value("a value")

        self.listed(option)
        self.clause = before
        return tuple(given.items())

    def _of_reader(self, key: str, token: Token) -> None:
        """Refuse what is not about reading a table's files: a text does not say who is trusted, or where to look."""
        if key.lower() in _OF_CALLERS:
            raise self.wrong(f"{key!r} is no option of a reader", token, "leave it out")

    def _key(self) -> str:
        """The name of an option, with dots or in quotes; small and capital letters are the same in those of kinds."""
        token = self.token
        return self.step().value if token.kind is TokenKind.TEXT and token.value else ".".join(self.parts("an option"))

    def ended(self) -> None:
        """Raise StatementError if anything but semicolons follows."""
        while self.takes_sign(";"):
            pass
        if self.token.kind is not TokenKind.END:
            raise self.expected("the end of the statement")

    # -- what is wrong -------------------------------------------------------------------------------------------------

    def wrong(self, fact: str, token: Token, cure: str = "", rule: str = "") -> StatementError:
        end = max(token.end, token.start + 1)
        return wrong(self.text, token.start, fact, rule, cure, end)

    def expected(self, what: str) -> StatementError:
        token = self.token
        known = _written_in(self.clause)
        cure = near(token.word, known) if token.word and token.word not in known else ""
        if token.kind is TokenKind.TEXT and what == _NAME:
            cure = f"write it without quotes: {token.value}"
        if what == _TABLE and (token.kind is TokenKind.TEXT or token.is_sign("/") or token.is_sign(".")):
            cure = self._as_path(token)
        return self._instead(what, cure)

    def unnamed(self) -> StatementError:
        """Return the error for ON in the place of an index name."""
        place = self.place
        self.step()
        table = self._table_ahead() or "table"
        self.go(place)
        return self._instead(_NAME, f"its name is missing: {self._before()}name ON {table}")

    def without_on(self) -> StatementError:
        """Return the error for a missing ON, perhaps before the name of a table."""
        place = self.place
        table = self._table_ahead()
        after = self.token
        self.go(place)
        if not table or (after.word and after.word not in _written_in(self.form.text)):
            return self.expected("ON")
        return self._instead("ON", f"write {self._before()}ON {table}")

    def _instead(self, what: str, cure: str) -> StatementError:
        token = self.token
        there = one_line(self.text[token.start : token.end])
        there = there if len(there) <= _LONGEST else f"{there[:_LONGEST]}..."
        there = "the statement ends" if token.kind is TokenKind.END else f"there is {there}"
        return self.wrong(f"expected {what}; {there}", token, cure, rule=f"it is written {self.clause}")

    def _before(self) -> str:
        """Return the text before the token."""
        return one_line(" ".join(self.text[self._tokens[0].start : self.token.start].split())) + " "

    def _table_ahead(self) -> str:
        """Return a table's name as it is written here, and step over it; empty if there is none."""
        start, clause = self.token.start, self.clause
        try:
            self.table()
        except StatementError:
            return ""
        finally:
            self.clause = clause
        return one_line(self.text[start : self._tokens[self._at - 1].end])


def _written_in(form: str) -> list[str]:
    """The words of a statement that are written so."""
    return re.findall(r"\b[A-Z]{2,}\b", form)
