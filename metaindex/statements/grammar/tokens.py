r"""The words of a statement, each with its place. Quotes, escapes, comments and names are those of Spark's SQL:
`'it''s'`, `'a\nb'`, `r'raw'`, `` `a name` ``, `-- to the end of the line` (which a backslash there
takes away), `/* nested /* */ */`.

Between the words that a statement about indexes is made of may stand a whole query; so any text is taken apart, and
what is no word, name, text or number is a sign of one character.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Final

from metaindex.core import StatementError, dataclass, one_line

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


MOST_CHARACTERS: Final = 1_000_000


class TokenKind(Enum):
    """The kind of a token. `WORD` stands for a keyword or a name; `NAME` is one in quotes."""

    WORD = "word"
    NAME = "name"
    TEXT = "text"
    NUMBER = "number"
    SIGN = "sign"
    END = "end"


@dataclass(frozen=True, slots=True)
class Token:
    """`value`: of names and texts what stands between the quotes. `start`, `end`: in the statement. `double`: a text
    between double quotes, which are a name where a name is due."""

    kind: TokenKind
    value: str
    start: int
    end: int
    double: bool = False

    @property
    def word(self) -> str:
        """Return the word in capitals; "" if the token is no plain word."""
        return self.value.upper() if self.kind is TokenKind.WORD else ""

    def is_sign(self, sign: str) -> bool:
        return self.kind is TokenKind.SIGN and self.value == sign


_PIECE: Final = re.compile(
    r"""
      (?P<blank>(?:\s|--(?:\\\n|[^\r\n])*+)++)
    | (?P<comment>/\*)
    | (?P<raw>[rR](?:'[^']*+'|"[^"]*+"))
    | (?P<text>'(?:[^'\\]|\\.|'')*+'|"(?:[^"\\]|\\.|"")*+")
    | (?P<name>`(?:[^`]|``)*+`)
    | (?P<number>(?:[0-9]++(?:\.[0-9]++)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?(?![\w.]))
    | (?P<word>\w++)
    | (?P<unclosed>['"`])
    | (?P<sign>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_SLASHED: Final = r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))"
_ESCAPES: Final = {quote: re.compile(f"{_SLASHED}|{quote * 2}", re.DOTALL) for quote in "'\""}
_SHORT: Final = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}
_COMMENT: Final = re.compile(r"/\*|\*/")


def tokens(text: str) -> list[Token]:
    """Return all tokens, an `END` last. Raises StatementError for a quote or comment that is not closed, and for a text
    of more than a million characters."""
    if len(text) > MOST_CHARACTERS:
        raise wrong(text[:1], 0, f"it has {len(text):,}", f"a statement has {MOST_CHARACTERS:,} characters at most")
    return [*each_token(text)]


def each_token(text: str) -> Iterator[Token]:
    """Yield the tokens lazily; raises like `tokens`."""
    at, end = 0, len(text)
    while at < end:
        piece = _PIECE.match(text, at)
        assert piece is not None, "a sign is any character"
        kind, start, at = str(piece.lastgroup), at, piece.end()
        match kind:
            case "blank":
                pass
            case "comment":
                at = _after_comment(text, start)
            case "unclosed":
                closing = f"write {piece[0]} at its end"
                raise wrong(text, start, "nothing closes it", "a quote is closed", closing)
            case "raw":
                yield Token(TokenKind.TEXT, piece[0][2:-1], start, at)
            case "text":
                yield Token(TokenKind.TEXT, _said(piece[0]), start, at, piece[0][0] == '"')
            case "name":
                yield Token(TokenKind.NAME, piece[0][1:-1].replace("``", "`"), start, at)
            case _:
                yield Token(TokenKind(kind), piece[0], start, at)
    yield Token(TokenKind.END, "", end, end)


def _said(quoted: str) -> str:
    inside, quote = quoted[1:-1], quoted[0]
    if "\\" not in inside and quote not in inside:
        return inside
    said = _ESCAPES[quote].sub(_meant, inside)  # halves of a character that two escapes say are one
    return said.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _meant(escape: re.Match[str]) -> str:
    short, wide, octal, plain = escape.groups()
    if short or wide:
        number = int(short or wide, 16)
        return chr(number) if number <= 0x10FFFF else "\ufffd"
    if octal:
        return chr(int(octal, 8))
    if plain is not None:
        return _SHORT.get(plain, plain)
    return escape[0][0]


def _after_comment(text: str, start: int) -> int:
    depth = 0
    for mark in _COMMENT.finditer(text, start):
        depth += 1 if mark[0] == "/*" else -1
        if not depth:
            return mark.end()
    raise wrong(text, start, "nothing closes it", "a comment is closed", "write */ at its end", start + 2)
