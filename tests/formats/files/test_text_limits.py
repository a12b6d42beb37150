"""Text files are decoded as Spark decodes them or refused by name, and a line of theirs is bounded; long lines of JSON
go the quick way unless Spark's parser would stop at a name or a text in them."""

import codecs
import encodings
import gzip
import json
import os
import pkgutil
import subprocess
import sys
import zlib
from collections.abc import Callable
from encodings.aliases import aliases
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import metaindex as mi
from metaindex.core import MetaIndexError, ScanError, UnsupportedFeatureError
from metaindex.formats.text import json_values, reader
from metaindex.formats.text.encodings import ONE_BYTE, codec_of
from metaindex.formats.text.json_values import MOST_OF_NAME, MOST_OF_TEXT, has_long_texts
from tests.tables import settled

NAMES = sorted(
    {m.name for m in pkgutil.iter_modules(encodings.__path__)}
    | {*aliases, *aliases.values()}
    | {name.replace("_", "-") for name in (*aliases, *aliases.values())}
    | {"ms936", "TIS-620", "x-windows-874", "GB18030", "Big5-HKSCS", "IBM437", "ISO8859_8", "x-MacCyrillic", "x\0"}
)


@pytest.mark.spark
def test_every_byte_of_an_encoding_is_the_character_that_java_has(spark: SparkSession) -> None:
    charset, string = spark._jvm.java.nio.charset.Charset, spark._jvm.java.lang.String
    everything = bytes(range(256))
    compared = set()
    for name in NAMES:
        known = codec_of(name)
        if known is None or known == "utf-8" or not charset.isSupported(name):
            continue
        compared.add(known)
        assert string(everything, name) == everything.decode(known, "replace"), name
        assert everything[:128].decode(known) == everything[:128].decode("ascii"), name
    assert compared == ONE_BYTE


@pytest.mark.parametrize(
    "name", ["GBK", "Shift_JIS", "EUC-KR", "MS949", "Big5", "GB18030", "ISO-2022-JP", "cp874", "UTF-16", "UTF-32LE"]
)
def test_encodings_whose_tables_differ_are_refused_by_name(tmp_path: Path, name: str) -> None:
    text = "a,b\n1,x\n2,\u4e00\n".encode(name, "replace")
    settled(tmp_path, {"0.csv": text})
    with pytest.raises(UnsupportedFeatureError, match=rf"Java decodes alike.*{name}.*schema="):
        mi.open_table(tmp_path, encoding=name).scan()
    with pytest.raises(ScanError, match=rf"Java decodes alike.*{name}.*to_spark"):
        mi.open_table(tmp_path, encoding=name, schema="a INT, b STRING").scan().to_arrow()


def test_a_name_is_no_other_encoding() -> None:
    assert {codec_of(name) for name in ("idna", "punycode", "unicode_escape", "utf-7", "utf-8-sig", "hex", "")} == {
        None
    }
    assert codec_of("latin1") == codecs.lookup("ISO-8859-1").name


FILES = 3


def hadoop_snappy(data: bytes) -> bytes:
    """One block of one chunk."""
    packed = pa.Codec("snappy").compress(data, asbytes=True)
    return len(data).to_bytes(4, "big") + len(packed).to_bytes(4, "big") + packed


def text(file: int) -> str:
    return "".join(f"{file * 10 + row},näme {file * 10 + row}\n" for row in range(10))


def lines(file: int) -> str:
    return "".join(f'{{"id":{file * 10 + row},"name":"näme {file * 10 + row}"}}\n' for row in range(10))


Files = tuple[str, Callable[[int], bytes], dict[str, Any], str]
"""The end of their names, their bytes, the options that read them, and what the refusal names."""
UNREAD: dict[str, Files] = {
    "UTF-16": ("csv", lambda n: text(n).encode("utf-16"), {"encoding": "UTF-16", "multiLine": True}, "UTF-16"),
    "UTF-16LE": ("json", lambda n: f"[{','.join(lines(n).splitlines())}]".encode("utf-16-le"),
        {"charset": "UTF-16LE", "multiLine": True}, "UTF-16LE"),
    "line ends": ("csv", lambda n: text(n).replace("\n", "|").encode(), {"lineSep": "|"}, "lineSep"),
    "line ends of JSON": ("json", lambda n: lines(n).replace("\n", "||").encode(), {"lineSep": "||"}, "lineSep"),
    "a usual line end that is said": ("csv", lambda n: text(n).encode(), {"lineSep": "\n"}, "lineSep"),
    "deflate": ("csv.deflate", lambda n: zlib.compress(text(n).encode()), {}, "deflate"),
    "snappy": ("json.SNAPPY", lambda n: hadoop_snappy(lines(n).encode()), {}, "snappy"),
}  # fmt: skip
SCHEMA = "id BIGINT, name STRING"


def written(root: Path, suffix: str, data: Callable[[int], bytes]) -> Path:
    settled(root, {f"{number}.{suffix}": data(number) for number in range(FILES)})
    return root


@pytest.mark.parametrize(("suffix", "data", "options", "named"), UNREAD.values(), ids=UNREAD)
def test_it_is_refused_with_what_to_do(
    tmp_path: Path, suffix: str, data: Callable[[int], bytes], options: dict[str, Any], named: str
) -> None:
    root = written(tmp_path, suffix, data)
    if "csv" in suffix:
        options = {**options, "header": False}
    with pytest.raises(UnsupportedFeatureError, match=rf"(?i){named}.*builder='spark', or read with \.to_spark"):
        mi.open_table(root, **options).snapshot()
    table = mi.open_table(root, schema=SCHEMA, **options)
    with pytest.raises(UnsupportedFeatureError, match=rf"(?i){named}.*builder='spark', or read with \.to_spark"):
        table.create_index("i", mi.ColumnStats(), builder="local")
    assert table.indexes() == []
    with pytest.raises(MetaIndexError, match=rf"(?i){named}.*builder='spark', or read with \.to_spark"):
        table.scan("id = 11").to_arrow()


_ROOT = Path(__file__).parents[3]
_BUILD = """
import resource, sys
import metaindex as mi
from tests.processes import peak_bytes
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
table = mi.open_table(sys.argv[1], header="true", schema="a INT, s STRING")
table.create_index("ix", mi.ColumnStats(), builder="local")
print(table.indexes()[0].uncovered_files, table.prune("a = 7").kept_files, peak_bytes() >> 20)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "lake"
    root.mkdir()
    (root / "small.csv").write_text("a,s\n1,x\n")
    with gzip.open(root / "x.csv.gz", "wb", 1) as out:
        out.write(b"a,s\n7,")
        for _ in range(300):
            out.write(b"A" * (1 << 20))
        out.write(b"\n")
    for path in root.iterdir():
        os.utime(path, (1_600_000_000, 1_600_000_000))
    return root


@pytest.mark.slow
def test_a_field_of_300_megabytes_leaves_its_file_uncovered_and_the_builder_small(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _BUILD, str(folder)], capture_output=True, text=True, check=True, cwd=_ROOT
    )
    uncovered, kept, megabytes = map(int, done.stdout.split())
    assert (uncovered, kept) == (1, 1)
    assert megabytes < 1200


@pytest.mark.parametrize("options", [{}, {"multiLine": "true"}])
def test_a_reader_refuses_it_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, str]) -> None:
    monkeypatch.setattr(reader, "_MOST_LINE_BYTES", 1 << 22)
    monkeypatch.setattr(reader, "_MOST_WHOLE_BYTES", 1 << 22)
    root = tmp_path / "lake"
    root.mkdir()
    (root / "x.csv").write_text('1,"' + "A" * (3 * reader._BLOCK_BYTES) + '"\n')
    table = mi.open_table(str(root), format="csv", schema="a INT, s STRING", **options)
    with pytest.raises(ScanError, match=r"at most 4,194,304 bytes, unpacked; .*x\.csv"):
        table.scan("a = 1").to_arrow()


TEXTS = st.text(alphabet='ab\\" :,[', max_size=14)
VALUES = st.recursive(
    TEXTS | st.integers(), lambda some: st.lists(some, max_size=3) | st.dictionaries(TEXTS, some, max_size=3)
)


def lengths(value: Any, names: list[int], texts: list[int]) -> None:
    match value:
        case str():
            texts.append(len(value))
        case list():
            for item in value:
                lengths(item, names, texts)
        case dict():
            for name, item in value.items():
                names.append(len(name))
                lengths(item, names, texts)


@given(st.dictionaries(TEXTS, VALUES, max_size=4), st.sampled_from([(",", ":"), (" , ", "  : ")]))
def test_no_long_name_or_text_is_missed(record: dict[str, Any], separators: tuple[str, str]) -> None:
    names: list[int] = []
    texts: list[int] = []
    lengths(record, names, texts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_values, "MOST_OF_NAME", 4)
        patch.setattr(json_values, "MOST_OF_TEXT", 9)
        told = has_long_texts(json.dumps(record, separators=separators).encode())
    if max(names, default=0) > 4 or max(texts, default=0) > 9:
        assert told


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b'{"z":[' + b"1," * MOST_OF_NAME + b"1]}", False),  # numbers
        (b'{"z":"' + b"x" * (3 * MOST_OF_NAME) + b'"}', False),  # a text
        (b'{"z":"' + b'\\"' * MOST_OF_NAME + b'"}', False),  # a text of quotes
        (b'{"z":"x\\\\","b":"' + b"y" * (2 * MOST_OF_NAME) + b'"}', False),  # behind a backslash
        (b'{"' + b"k" * (MOST_OF_NAME + 1) + b'" :1}', True),
        (b'{"' + b'\\"' * MOST_OF_NAME + b'":1}', True),
        (b'{"a":"' + b"x" * (MOST_OF_TEXT + 1) + b'"}', True),
    ],
    ids=["numbers", "text", "quotes", "backslash", "name", "name of quotes", "long text"],
)
def test_a_long_line(line: bytes, told: bool) -> None:
    assert has_long_texts(line) == told
