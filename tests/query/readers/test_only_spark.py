"""Text that only Spark reads is refused here by name, when a table is opened, indexed or scanned; never is a row of it
lost, or another one. `tests/spark/optimizer/test_text_scans.py` has what an index of Spark's does for it."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import metaindex as mi
from metaindex.core import MetaIndexError, UnsupportedFeatureError
from tests.tables import settle

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
    for number in range(FILES):
        (root / f"{number}.{suffix}").write_bytes(data(number))
    settle(root)
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
