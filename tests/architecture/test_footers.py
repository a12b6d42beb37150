"""Arrow ends the process where it is asked for a column of a row group that is encrypted: whoever asks has looked
before (`formats.footer_chunks`), or asks of files that nobody else writes."""

import re

from tests.architecture.sources import package

_ASKS = re.compile(r"\.(?:row_group|num_row_groups)\b")
_CHUNKS = re.compile(r"\.column\(|\.column,|num_columns")

LOOKED = {
    "formats/parquet/file.py": "what was looked at is handed to `collect`",
    "formats/delta/checkpoint.py": "`unstated` refuses what is encrypted",
    "index/build/key_parquet.py": "columns that are encrypted are left uncovered before",
    "query/query_log/files.py": "`Footer.unasked`",
    "query/query_log/pages.py": "querylog/files.py has looked",
    "index/kinds/covering/parts.py": "of a part that was written a moment ago, in memory",
    "index/kinds/values/collecting.py": "of this process",
    "index/kinds/bloom/reader.py": "a part of an index, its footer checked by digest",
    "formats/parquet/footers.py": "`chunk_bytes` looks before it asks",
    "formats/parquet/opened.py": "columns of the schema and of tables alone",
    "formats/parquet/rows.py": "columns of tables alone",
    "formats/delta/parquet_part.py": "columns of tables alone",
    "index/build/parquet_scan.py": "columns of tables alone",
    "index/store/cache.py": "a part of an index, its footer checked by digest",
    "index/store/reader.py": "a part of an index, its footer checked by digest",
}


def test_columns_of_row_groups_are_asked_of_where_they_were_looked_at() -> None:
    asking = set()
    for place, text in package().items():
        if _ASKS.search(text) and _CHUNKS.search(text):
            asking.add(place.removeprefix("metaindex/"))
    assert asking == set(LOOKED)
