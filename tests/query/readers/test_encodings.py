"""A text is decoded as Spark decodes it, or not at all: one other character is a value that no index finds."""

from __future__ import annotations

import codecs
import encodings
import pkgutil
from encodings.aliases import aliases
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import metaindex as mi
from metaindex.core import ScanError, UnsupportedFeatureError
from metaindex.formats.encodings import ONE_BYTE, codec_of
from tests.tables import settle

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMES = sorted(
    {m.name for m in pkgutil.iter_modules(encodings.__path__)}
    | {*aliases, *aliases.values()}
    | {name.replace("_", "-") for name in (*aliases, *aliases.values())}
    | {"ms936", "TIS-620", "x-windows-874", "GB18030", "Big5-HKSCS", "IBM437", "ISO8859_8", "x-MacCyrillic", "x\0"}
)


@pytest.mark.spark
def test_every_byte_of_an_encoding_is_the_character_that_java_has(spark: SparkSession) -> None:
    assert spark._jvm is not None
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
    (tmp_path / "0.csv").write_bytes(text)
    settle(tmp_path)
    with pytest.raises(UnsupportedFeatureError, match=rf"Java decodes alike.*{name}.*schema="):
        mi.open_table(tmp_path, encoding=name).scan()
    with pytest.raises(ScanError, match=rf"Java decodes alike.*{name}.*to_spark"):
        mi.open_table(tmp_path, encoding=name, schema="a INT, b STRING").scan().to_arrow()


def test_a_name_is_no_other_encoding() -> None:
    assert {codec_of(name) for name in ("idna", "punycode", "unicode_escape", "utf-7", "utf-8-sig", "hex", "")} == {
        None
    }
    assert codec_of("latin1") == codecs.lookup("ISO-8859-1").name
