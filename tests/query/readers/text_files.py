"""Tables of CSV or JSON files at random: the options that they are read by, and the bytes of their files, some of them
regular, some broken. A seed makes the same table everywhere."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

import pyarrow as pa

from tests.query.readers.text_words import (
    BASE64,
    BOTH_OPTIONS,
    CODECS,
    CSV_OPTIONS,
    DAYS,
    FLAT,
    JSON_LINES,
    JSON_OPTIONS,
    JSON_VALUES,
    LITERALS,
    MOMENTS,
    NESTED,
    NUMBERS,
    TEXTS,
    TRUTHS,
    WORDS,
    Options,
)

FILES = 12


@dataclass(frozen=True, slots=True)
class TextTable:
    """`types`: Spark's, of the columns c0, c1, ..."""

    format: str
    options: Mapping[str, Any]
    types: tuple[str, ...]
    files: Mapping[str, bytes]

    @property
    def ddl(self) -> str:
        return ", ".join(f"c{i} {type_}" for i, type_ in enumerate(self.types))

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([(f"c{i}", (FLAT | NESTED)[type_]) for i, type_ in enumerate(self.types)])

    @property
    def for_spark(self) -> dict[str, str]:
        """The options as Spark takes them; a header is taken for granted here alone."""
        texts = {name: str(v).lower() if isinstance(v, bool) else str(v) for name, v in self.options.items()}
        return {"header": "true", **texts} if self.format == "csv" else texts

    def predicates(self, seed: object, count: int) -> list[str]:
        """Conditions on one column each."""
        random = Random(f"predicates {seed}")
        return [self._predicate(random) for _ in range(count)]

    def _predicate(self, random: Random) -> str:
        place = random.randrange(len(self.types))
        literals = LITERALS.get(self.types[place])
        if literals is None or random.random() < 0.2:
            return f"c{place} IS {random.choice(['', 'NOT '])}NULL"
        if random.random() < 0.2:
            return f"c{place} IN ({random.choice(literals)}, {random.choice(literals)})"
        return f"c{place} {random.choice(['=', '<', '>=', '<>', '<=>', '>'])} {random.choice(literals)}"


def text_table(seed: object) -> TextTable:
    random = Random(f"text files {seed}")
    format_ = random.choice(["csv", "json"])
    options = _chosen(random, {**BOTH_OPTIONS, **(CSV_OPTIONS if format_ == "csv" else JSON_OPTIONS)})
    nested = 0.25 if format_ == "json" else 0.0
    types = tuple(
        random.choice(list(NESTED if random.random() < nested else FLAT)) for _ in range(random.randint(1, 4))
    )
    writer = (CsvWriter if format_ == "csv" else JsonWriter)(random, types, options)
    names = [f"f{number:02}.{format_}" for number in range(FILES)]
    texts = {name: _encoded(random, writer.file(), options.get("encoding", "UTF-8")) for name in names}
    return TextTable(format_, options, types, {name: data for name, data in texts.items() if data})


def _chosen(random: Random, every: Options) -> dict[str, Any]:
    return {name: random.choice(values) for name, (often, values) in every.items() if random.random() < often}


def _encoded(random: Random, text: str, encoding: str) -> bytes:
    codec = CODECS[encoding] if random.random() < 0.9 else "utf-8"
    data = text.encode(codec, "replace")
    if random.random() < 0.03:
        data = b"\xef\xbb\xbf" + data
    if data and random.random() < 0.06:
        at = random.randrange(len(data))
        data = data[:at] + bytes([random.choice([0xFF, 0xC3, 0xE9, 0x80, 0x00, 0xED])]) + data[at:]
    return data


class Writer:
    """Of files of columns of these types. Each file has a share of mistakes of its own."""

    def __init__(self, random: Random, types: tuple[str, ...], options: Mapping[str, Any]) -> None:
        self.random = random
        self.types = types
        self.options = options
        self.mistakes = 0.0

    def often(self, share: float) -> bool:
        return self.random.random() < share

    def line_end(self) -> str:
        return self.random.choice(["\n", "\n", "\n", "\r\n", "\r"])

    def word(self, type_: str) -> str:
        """Mostly a value of the type, or nearly one."""
        if self.often(0.12):
            return self.random.choice(WORDS)
        if type_ in ("int", "bigint", "smallint", "tinyint", "double", "float") or type_.startswith("decimal"):
            return self.random.choice(NUMBERS)
        words = {"boolean": TRUTHS, "date": DAYS, "binary": BASE64}.get(type_)
        if words is None:
            words = [*MOMENTS, *DAYS[:4]] if type_.startswith("timestamp") else [*TEXTS, *NUMBERS[:6]]
        return self.random.choice(words)


class CsvWriter(Writer):
    def file(self) -> str:
        self.mistakes = self.random.choice([0, 0.05, 0.3])
        lines = [self.sep.join(f"c{i}" for i in range(len(self.types)))] if self.often(0.6) else []
        lines += [self._line() for _ in range(self.random.choice([0, 1, 2, 5, 12]))]
        end = self.line_end()
        return end.join(lines) + (end if self.often(0.7) else "")

    @property
    def sep(self) -> str:
        said = str(self.options.get("sep", ","))
        return "\t" if said == "\\t" else said

    @property
    def quote(self) -> str:
        return self.options.get("quote") or '"'

    @property
    def escape(self) -> str:
        return self.options.get("escape") or "\\"

    def _line(self) -> str:
        sep, quote, width = self.sep, self.quote, len(self.types)
        if self.often(self.mistakes / 2):
            lone = ["", " ", "\t", sep, sep * 5, "#x", "a", "-", quote, quote * 2, sep + quote, "\x00"]
            return self.random.choice(lone)
        if self.often(self.mistakes):
            width = self.random.choice([1, width - 1, width + 1, width + 3])
        return sep.join(self._cell(self.types[place % len(self.types)]) for place in range(width))

    def _cell(self, type_: str) -> str:
        cell, quote = self.word(type_), self.quote
        if self.sep in cell or self.often(0.2):
            cell = self._quoted(cell)
        if self.often(0.04):
            cell = self.random.choice([" ", "\t", "\u00a0"]) + cell
        if self.often(0.04):
            cell += self.random.choice([" ", "\t", "x"])
        if self.often(self.mistakes * 0.3):
            cell = self.random.choice(self._odd_quotes()) + self.random.choice(["", cell])
        return quote * 2 if not cell and self.often(0.5) else cell

    def _quoted(self, cell: str) -> str:
        quote, escape = self.quote, self.escape
        if escape != quote and self.often(0.8):
            cell = cell.replace(escape, escape * 2)
        return quote + cell.replace(quote, escape + quote) + quote

    def _odd_quotes(self) -> list[str]:
        q, e = self.quote, self.escape
        return [
            *(q, e, f"{q}x", f"x{q}", f"{q}\n{q}", "\r", e + q, q * 3, f"{q}a{q}b{q}", e * 2),
            *(f"{q}a\nb{q}", f"{q}a\r\nb{q}"),
        ]


class JsonWriter(Writer):
    def file(self) -> str:
        self.mistakes = self.random.choice([0, 0.1, 0.3])
        if str(self.options.get("multiLine")).lower() == "true" and self.often(0.7):
            several = ",\n".join(self._line() for _ in range(self.random.randint(0, 4)))
            text = self.random.choice([self._line(), f"[{several}]", f"{self._line()}\n{self._line()}"])
            return text.replace(",", ",\n") if self.often(0.3) else text
        end = self.line_end()
        lines = [self._line() for _ in range(self.random.choice([0, 1, 3, 8]))]
        return end.join(lines) + (end if self.often(0.7) else "")

    def _line(self) -> str:
        if self.often(self.mistakes):
            record = self._object()
            return self.random.choice([*JSON_LINES, record[: self.random.randrange(len(record))], f"[{record}]"])
        return self._object()

    def _object(self) -> str:
        fields = [self._field(place) for place in range(len(self.types)) if self.often(0.88)]
        if fields and self.often(0.05):
            fields.append(self._field(self.random.randrange(len(self.types))))
        if self.often(0.1):
            fields.append('"more":{"deep":[1,{"a":null}]}')
        self.random.shuffle(fields)
        return "{" + self.random.choice([",", ", "]).join(fields) + "}"

    def _field(self, place: int) -> str:
        name = f"c{place}" if self.often(0.95) else self.random.choice([f"C{place}", "x", f" c{place}", ""])
        quoted = f'"{name}"' if self.often(0.97) else self.random.choice([name, f"'{name}'"])
        return quoted + self.random.choice([":", ": ", " :"]) + self._value(self.types[place])

    def _value(self, type_: str) -> str:
        if self.often(0.07):
            return "null"
        if self.often(0.1):
            return self.random.choice(JSON_VALUES)
        if type_.startswith("struct"):
            inner = [f'"x":{self._value("int")}', f'"y":{self._value("string")}', '"z":1', '"x":2']
            return "{" + ",".join(self.random.sample(inner, self.random.randint(0, 3))) + "}"
        if type_.startswith("map"):
            items = [f'"{self.random.choice("abc")}":{self._value("int")}' for _ in range(self.random.randint(0, 3))]
            return "{" + ",".join(items) + "}"
        if type_.startswith("array"):
            elements = [self._element(type_[len("array<") : -1]) for _ in range(self.random.randint(0, 3))]
            return "[" + ",".join(elements) + "]"
        return self._scalar(type_)

    def _element(self, type_: str) -> str:
        return f'{{"x":{self._value("double")}}}' if type_.startswith("struct") else self._value(type_)

    def _scalar(self, type_: str) -> str:
        word = self.word(type_)
        text = json.dumps(word, ensure_ascii=self.often(0.5))
        if type_ == "boolean":
            return self.random.choice(["true", "false", text])
        is_number = type_ not in ("string", "date", "binary") and not type_.startswith("timestamp")
        return word if is_number and self.often(0.8) else text
