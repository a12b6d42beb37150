"""CSV and JSON files that are broken or hostile, each with what must come of it: written ones here, and an own reader
of two columns for those that `hostile` makes by change."""

import bz2
import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

SCHEMA = pa.schema([("id", pa.int64()), ("word", pa.string())])
NO_ROW: tuple[None, None] = (None, None)
MB = 1 << 20
_CSV = b"id,word\n1,w1\n"
_JSON = b'{"id":1,"word":"w1"}\n'
_FIRST = (1, "w1")
DEEP = 100_000
Rows = list[tuple[int | None, str | None]]


class NotCertain(Exception):
    """The own reader does not know what Spark makes of it."""


@dataclass(frozen=True)
class Text:
    """`rows`: what is read with the schema named; a text: what the refusal says. `inferred`: the same where columns and
    types are read from the file; None: not asked."""

    file: str
    data: Callable[[], bytes]
    rows: Rows | str
    inferred: Rows | str | None = None
    options: dict[str, Any] = field(default_factory=dict)


def packed(unit: bytes, times: int) -> Callable[[], bytes]:
    """So many units as gzip, never in memory at once."""

    def made() -> bytes:
        stream = zlib.compressobj(9, wbits=31)
        return b"".join([*(stream.compress(unit) for _ in range(times)), stream.flush()])

    return made


def zstandard(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as out:
        out.write(data)
    return bytes(sink.getvalue())


def nested(opening: bytes, closing: bytes, depth: int) -> bytes:
    return opening * depth + b"1" + closing * depth


_DEEP_LISTS, _DEEP_OBJECTS = nested(b"[", b"]", DEEP), nested(b'{"a":', b"}", DEEP)
_TOO_LONG, _TOO_WIDE = "a line of a text file has at most", "at most 20,480 columns"
_TOO_MANY, _DAMAGED = "at most 2,000,000 values", "cannot be unpacked|cannot read"
_TOO_DEEP, _NAMES = "to 500 levels|deeper than 200 levels", "more than 20,480 names"

CSV: dict[str, Text] = {
    "a gzip that ends early": Text("a.csv.gz", lambda: gzip.compress(_CSV * 999)[:-20], _DAMAGED, _DAMAGED),
    "a gzip of another sum": Text("a.csv.gz", lambda: gzip.compress(_CSV)[:-8] + b"\1" * 8, _DAMAGED, _DAMAGED),
    "a gzip bomb of zeros": Text("a.csv.gz", packed(bytes(MB), 1000), _TOO_LONG, _TOO_LONG),
    "a gzip bomb of empty lines": Text("a.csv.gz", packed(b"\n" * MB, 100), []),
    "a gzip bomb of separators": Text("a.csv.gz", packed(b"," * MB, 400), _TOO_LONG, _TOO_WIDE),
    "a bzip2 bomb": Text("a.csv.bz2", lambda: bz2.compress(bytes(200 * MB)), _TOO_LONG, _TOO_LONG),
    "a zstandard bomb": Text("a.csv.zst", lambda: zstandard(bytes(200 * MB)), _TOO_LONG, _TOO_LONG),
    "no gzip at all": Text("a.csv.gz", lambda: _CSV, _DAMAGED, _DAMAGED),
    "a line of 50 MB": Text("a.csv", lambda: _CSV + b"2," + b"x" * (50 * MB) + b"\n3,w3\n",
        [_FIRST, (2, "x" * (50 * MB)), (3, "w3")]),
    "a line of 50 MB of separators": Text("a.csv", lambda: _CSV + b"," * (50 * MB) + b"\n3,w3\n", _TOO_WIDE, _TOO_WIDE),
    "the same in quotes": Text("a.csv", lambda: _CSV + b'2,"x"' + b"," * (50 * MB) + b"\n3,w3\n", _TOO_WIDE, _TOO_WIDE),
    "a header of 30 MB of separators": Text("a.csv", lambda: b"," * (30 * MB) + b"\n2,w2\n", [(2, "w2")], _TOO_WIDE),
    "zeros": Text("a.csv", lambda: _CSV + b"2,a\0b\n\0\0,c\n\0\n", [_FIRST, (2, "a\0b"), (None, "c")]),
    "bytes that are no text": Text("a.csv", lambda: _CSV + b"2,a\xffb\n\xfe3,c\xc3\n4,d\n",
        [_FIRST, (2, "a\ufffdb"), (None, "c\ufffd"), (4, "d")]),
    "half a surrogate pair": Text("a.csv", lambda: _CSV + b"2,a\xed\xa0\xbdb\n3,\xed\xb8\n",
        [_FIRST, (2, "a\ufffdb"), (3, "\ufffd")]),
    "a mark inside": Text("a.csv", lambda: _CSV + b"\xef\xbb\xbf3,z\n", [_FIRST, (None, "z")]),
    "mixed line ends": Text("a.csv", lambda: b"id,word\r\n1,w1\r2,w2\n\r\n\n3,w3\r\r4,w4",
        [_FIRST, (2, "w2"), (3, "w3"), (4, "w4")], [_FIRST, (2, "w2"), (3, "w3"), (4, "w4")]),
    "a mark before the header": Text("a.csv", lambda: b"\xef\xbb\xbf" + _CSV, [_FIRST], [_FIRST]),
    "a header alone": Text("a.csv", lambda: b"id,word", []),
    "a header of other names": Text("a.csv", lambda: b"word,id\n1,w1\n", [_FIRST]),
    "a header of too few names": Text("a.csv", lambda: b"id\n1,w1\n2\n", [_FIRST, (2, None)]),
    "a header of too many names": Text("a.csv", lambda: b"id,word,more,still\n1,w1\n2,w2,x,y,z\n", [_FIRST, (2, "w2")]),
    "a header that is data": Text("a.csv", lambda: b"7,w7\n1,w1\n", "say header=False"),
    "the same with a header said": Text("a.csv", lambda: b"7,w7\n1,w1\n", [_FIRST], None, {"header": True}),
    "numbers beyond the type": Text("a.csv", lambda: _CSV + b"9223372036854775808,a\n" + b"9" * 5000 + b",b\n",
        [_FIRST, (None, "a"), (None, "b")]),
}  # fmt: skip

JSON: dict[str, Text] = {
    "a gzip that ends early": Text("a.json.gz", lambda: gzip.compress(_JSON * 999)[:-20], _DAMAGED, _DAMAGED),
    "a gzip bomb of zeros": Text("a.json.gz", packed(bytes(MB), 1000), _TOO_LONG, "not JSON lines of one shape"),
    "a gzip bomb of empty lines": Text("a.json.gz", packed(b"\n" * MB, 100), [],
        "columns are found in a file that has a line"),
    "a gzip bomb of open lists": Text("a.json.gz", packed(b"[1," * (MB // 3), 400), _TOO_LONG,
        "nested deeper than 200 levels"),
    "a gzip bomb with multiLine": Text("a.json.gz", packed(b"1," * (MB // 2), 40), "10,000,000", None,
        {"multiLine": True}),
    "deep lists": Text("a.json", lambda: _JSON + b'{"id":2,"word":"x","z":' + _DEEP_LISTS + b"}\n", _TOO_DEEP,
        _TOO_DEEP),
    "deep objects": Text("a.json", lambda: _JSON + b'{"id":2,"word":"x","z":' + _DEEP_OBJECTS + b"}\n", _TOO_DEEP,
        _TOO_DEEP),
    "deep lists that stay open": Text("a.json", lambda: _JSON + b'{"id":2,"z":' + b"[" * DEEP + b"\n", _TOO_DEEP,
        _TOO_DEEP),
    "deep lists in the way": Text("a.json", lambda: _JSON + b'{"z":' + _DEEP_LISTS + b',"id":' + _DEEP_LISTS + b"}\n",
        _TOO_DEEP, _TOO_DEEP),
    "brackets in a text": Text("a.json", lambda: _JSON + b'{"id":2,"word":"' + b"[{" * 500 + b'"}\n',
        [_FIRST, (2, "[{" * 500)], [_FIRST, (2, "[{" * 500)]),
    "a line of 50 MB": Text("a.json", lambda: _JSON + b'{"id":2,"word":"' + b"x" * (50 * MB) + b'"}\n',
        "a text of more than"),
    "a list of 50 MB": Text("a.json", lambda: _JSON + b'{"id":2,"word":"x","z":[' + b"1," * (25 * MB) + b"1]}\n",
        [_FIRST, (2, "x")]),
    "a list of 50 MB beside a broken line": Text("a.json",
        lambda: _JSON + b'{"id":2,"word":"x","z":[' + b"1," * (25 * MB) + b"1]}\n{\n", _TOO_MANY),
    "a line of 16 million rows": Text("a.json", lambda: _JSON + b"[" + b"{}," * (16 * MB) + b"{}]\n", _TOO_MANY,
        _TOO_MANY),
    "a million names": Text("a.json",
        lambda: _JSON + b'{"a":{' + b",".join(b'"k%d":1' % n for n in range(MB)) + b"}}\n", [_FIRST, NO_ROW], _NAMES),
    "a name a line": Text("a.json", lambda: _JSON + b"".join(b'{"k%d":1}\n' % n for n in range(100_000)),
        [_FIRST, *[NO_ROW] * 100_000], _NAMES),
    "zeros": Text("a.json", lambda: _JSON + b'{"id":2,"word":"a\0b"}\n', "holds zero bytes"),
    "bytes that are no text": Text("a.json", lambda: _JSON + b'{"id":2,"word":"a\xffb"}\n{"id":3,"word":"c"}\n',
        [_FIRST, NO_ROW, (3, "c")]),
    "characters in more bytes than they need": Text("a.json", lambda: _JSON + b'{"id":2,"word":"a\xc0\xafb"}\n',
        "bytes that are none"),
    "characters beyond Unicode": Text("a.json", lambda: _JSON + b'{"id":2,"word":"a\xf4\x90\x80\x80b"}\n',
        "bytes that are none"),
    "half a surrogate pair in bytes": Text("a.json", lambda: _JSON + b'{"id":2,"word":"a\xed\xa0\xbdb"}\n',
        "bytes that are none"),
    "a mark inside": Text("a.json", lambda: _JSON + b'\xef\xbb\xbf{"id":3,"word":"z"}\n', [_FIRST, (3, "z")]),
    "half a surrogate pair": Text("a.json", lambda: _JSON + b'{"id":2,"word":"\\ud83d"}\n', "half a surrogate pair"),
    "a surrogate pair": Text("a.json", lambda: _JSON + b'{"id":2,"word":"\\ud83d\\ude00"}\n',
        [_FIRST, (2, "\U0001f600")], [_FIRST, (2, "\U0001f600")]),
    "mixed line ends": Text("a.json", lambda: _JSON.strip() + b'\r\r\n{"id":2}\r{"id":3}\n\n{"id":4}',
        [_FIRST, (2, None), (3, None), (4, None)]),
    "a mark before the text": Text("a.json", lambda: b"\xef\xbb\xbf" + _JSON, [_FIRST], [_FIRST]),
    "names that come twice": Text("a.json", lambda: _JSON + b'{"id":2,"id":3,"word":"x","word":"y"}\n',
        [_FIRST, (3, "y")]),
    "numbers beyond the type": Text("a.json",
        lambda: _JSON + b'{"id":9223372036854775808,"word":"a"}\n{"id":' + b"9" * 1000 + b',"word":"b"}\n',
        [_FIRST, (None, "a"), (None, "b")]),
    "a number of 5,000 digits": Text("a.json", lambda: _JSON + b'{"id":' + b"9" * 5000 + b',"word":"b"}\n',
        "a number of JSON has at most 1,000 digits"),
    "lines that are no objects": Text("a.json", lambda: _JSON + b'1\n"x"\nnull\n[]\n[1]\n{"id":2}{"id":3}\n}{\n',
        [_FIRST, NO_ROW, NO_ROW, NO_ROW, NO_ROW, (2, None), NO_ROW]),
}  # fmt: skip


_UNPACKED: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.decompress,
    "bz2": bz2.decompress,
    "csv": bytes,
    "json": bytes,
}


def own_rows(root: Path) -> list[dict[str, Any]]:
    """Of the files of a folder, by a reader that knows two columns, no quotes and no options."""
    rows: Rows = []
    for path in sorted(path for path in root.iterdir() if path.stat().st_size):
        data = _UNPACKED[path.suffix[1:]](path.read_bytes())
        data = data.removeprefix(b"\xef\xbb\xbf")
        rows += _csv(data) if ".csv" in path.name else _json(data)
    return [{"id": number, "word": word} for number, word in rows]


def _csv(data: bytes) -> Iterator[tuple[int | None, str | None]]:
    if re.search(rb'["\\\0]', data):
        raise NotCertain
    lines = [line for line in re.split(rb"[\r\n]+", data) if line.strip(bytes(range(33)))]
    for line in lines[1:]:
        number, word, *_ = [*line.decode("utf-8", "replace").split(","), ""]
        yield _long(number), word or None


def _json(data: bytes) -> Iterator[tuple[int | None, str | None]]:
    if re.search(rb"['\0]", data):
        raise NotCertain
    for line in re.split(rb"[\r\n]+", data):
        if text := line.strip(bytes(range(33))):
            try:
                values = json.JSONDecoder(parse_float=str).raw_decode(text.decode())[0]
            except (ValueError, RecursionError):
                values = None
            for one in values if isinstance(values, list) else [values]:
                yield _object(one)


def _object(value: object) -> tuple[int | None, str | None]:
    if not isinstance(value, dict):
        return NO_ROW
    number, word = value.get("id"), value.get("word")
    if isinstance(number, bool) or not isinstance(number, int):
        number = None
    if not isinstance(word, str | None) or set(value) - {"id", "word"}:
        raise NotCertain
    return _long(str(number)), word


def _long(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[+-]?[0-9]{1,30}", text) and -(2**63) <= int(text) < 2**63 else None
