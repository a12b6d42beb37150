"""Which rows live, and which are read: deletes of Delta and Iceberg, row groups, texts."""

from __future__ import annotations

from .mutant import Mutant

_DELETES = ("tests/query/readers/test_parquet_deletes.py", "tests/query/readers/test_formats_scan.py")
_DELTA = (
    "tests/formats/delta/test_deltalake.py",
    "tests/formats/delta/test_deletes.py",
    "tests/formats/delta/test_damage.py",
    "tests/formats/delta/test_log_segment.py",
)
_ICEBERG = ("tests/formats/iceberg/test_deletes.py", "tests/formats/iceberg/test_live_rows.py")

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "positions counted from one",
        "metaindex/query/readers/deletes.py",
        "mask[(self.positions[start:end] - np.uint64(first)).astype(np.int64)] = False",
        "mask[(self.positions[start:end] - np.uint64(first)).astype(np.int64) - 1] = False",
        _DELETES,
        "another row is deleted",
    ),
    Mutant(
        "NULL equals no NULL",
        "metaindex/query/readers/deletes.py",
        "places = pc.fill_null(pc.index_in(column, value_set=values), -1)",
        "places = pc.fill_null(pc.index_in(column, value_set=values, skip_nulls=True), -1)",
        (*_DELETES, "tests/query/readers/test_random_histories.py", "tests/formats/iceberg/test_live_rows.py"),
        "a row that was deleted by NULL comes back",
    ),
    Mutant(
        "deletes not read",
        "metaindex/query/readers/arrow.py",
        'if self._snapshot.files.table.column("deletes")[row].as_py() is None:',
        "if True:",
        _DELETES,
        "deleted rows come back",
    ),
    Mutant(
        "a file of a delete vector by path alone",
        "metaindex/formats/delta/replay.py",
        "dropped = [key in gone or key in live for key in keys]",
        "dropped = [key in gone for key in keys]",
        _DELTA,
        "a file is live twice",
    ),
    Mutant(
        "removed and there",
        "metaindex/formats/delta/replay.py",
        "                live.pop(key, None)\n",
        "                pass\n",
        _DELTA,
        "a removed file is read",
    ),
    Mutant(
        "equality deletes of their own commit",
        "metaindex/formats/iceberg/deletes.py",
        "local = by(dels.filter(equality & ~everywhere), place, place, newer)",
        "local = by(dels.filter(equality & ~everywhere), place, place, not_older)",
        _ICEBERG,
        "rows that were written with the delete are lost",
    ),
    Mutant(
        "positions beside a vector",
        "metaindex/formats/iceberg/deletes.py",
        'vectors.select("file"), on="file", how="anti"',
        'vectors.select("file").head(0), on="file", how="anti"',
        _ICEBERG,
        "positions that a vector has taken over are counted twice, and with the vector's own meaning gone",
    ),
    Mutant(
        "the checksum of a vector",
        "metaindex/formats/deletion_vectors.py",
        "if zlib.crc32(blob) != checksum:",
        "if False:",
        ("tests/formats/test_deletion_vectors.py",),
        "a turned bit deletes another row",
    ),
    Mutant(
        "the length of a vector",
        "metaindex/formats/deletion_vectors.py",
        "if cardinality is not None and len(positions) != cardinality:",
        "if False:",
        (
            "tests/formats/test_deletion_vectors.py",
            "tests/formats/delta/test_deletes.py",
        ),
        "a vector of another file deletes its rows",
    ),
    Mutant(
        "half a pair as Python reads it",
        "metaindex/formats/text/encodings.py",
        'return _HALF.sub("\\ufffd".encode(), data).decode("utf-8", "replace")',
        'return data.decode("utf-8", "replace")',
        ("tests/query/readers/test_text_scan.py",),
        "a text of CSV is another than Spark's, and is not found",
    ),
    Mutant(
        "a mark at a later line",
        "metaindex/formats/text/json_rows.py",
        "        if not self._decoded:\n            raw = raw.removeprefix(codecs.BOM_UTF8)\n",
        "",
        ("tests/query/readers/test_text_scan.py",),
        "a row of JSON files that were put together is NULL",
    ),
    Mutant(
        "compressed text that is not unpacked",
        "metaindex/formats/files/compressed.py",
        "    if suffix in REFUSED or suffix in only_spark.SUFFIXES:\n",
        "    if suffix in REFUSED:\n",
        ("tests/query/readers/test_text_limits.py",),
        "compressed bytes are read as lines: rows are lost",
    ),
    Mutant(
        "lines that end otherwise",
        "metaindex/formats/files/only_spark.py",
        'if "linesep" in reader:',
        "if False:",
        ("tests/query/readers/test_text_limits.py",),
        "lines with an end of their own are read as one: rows are lost",
    ),
    Mutant(
        "bytes that are no text",
        "metaindex/formats/text/json_rows.py",
        "if self._of_bytes or not is_utf8(block):",
        "if self._of_bytes:",
        ("tests/query/readers/test_text_scan.py",),
        "a row that Spark shows as NULLs is shown with its values",
    ),
    Mutant(
        "bytes behind their quote",
        "metaindex/formats/text/json_rows.py",
        "if name in self._of_bytes and not are_bytes(value):",
        "if False:",
        ("tests/query/readers/test_text_scan.py",),
        "a row that Spark shows as NULLs is shown with its values",
    ),
    Mutant(
        "broken inside a value",
        "metaindex/formats/text/json_rows.py",
        "if name in self._types and json_breaks.goes_on(self._types[name], at, error):",
        "if False:",
        ("tests/query/readers/test_text_scan.py",),
        "a row of which Spark shows what stands behind the break is NULLs, and an index loses it",
    ),
    Mutant(
        "a zone behind minutes",
        "metaindex/formats/text/values.py",
        r"[\x00-\x20]*(Z|UTC|GMT|[+-][0-9]{1,2}(?::?[0-9]{2})?)?)?)?)?)?)?",
        r")?[\x00-\x20]*(Z|UTC|GMT|[+-][0-9]{1,2}(?::?[0-9]{2})?)?)?)?)?)?",
        ("tests/query/readers/test_text_scan.py",),
        "a moment that is NULL to Spark is a value, and IS NULL loses its row",
    ),
    Mutant(
        "quotes that open anywhere",
        "metaindex/formats/text/csv_rows.py",
        "        if not (before.all() and after.all()):\n",
        "        if False:\n",
        ("tests/query/readers/test_text_scan.py",),
        "quotes inside values shift the columns",
    ),
)
