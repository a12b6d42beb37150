"""The written list: lines on which rows, or somebody's files, hang, each with what to put in its place and the tests
that must then fail.

`before` stands exactly once in its file (a test of `make test` says so: whoever rewrites such a line brings its mutant
along). Those of `expressions/` are run by every `make test` (`tests/expressions/test_mutations.py`); these take
processes of their own: `make mutants`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """`says`: what the changed line would do to a user."""

    name: str
    file: str
    before: str
    after: str
    tests: tuple[str, ...]
    says: str


_STATISTICS = ("tests/pruning/test_no_false_skip.py", "tests/pruning/test_many_terms.py")
_DELETES = ("tests/readers/test_parquet_deletes.py", "tests/readers/test_formats_scan.py")
_BUILD = ("tests/build/test_statistics.py", "tests/build/test_local_builder.py", "tests/build/test_prepared.py")
_FOOTERS = ("tests/formats/test_footers.py", "tests/formats/test_footer_columns.py", "tests/formats/test_lessons.py")
_VALUES = ("tests/kinds/test_values.py", "tests/kinds/test_value_rows.py")
_BLOOM = ("tests/kinds/bloom",)
_LOG = ("tests/log", "tests/actions/test_lifecycle.py")
_CLEAN = ("tests/actions/test_lifecycle.py", "tests/actions/test_upkeep.py", "tests/actions/test_runs.py")
_DOORS = ("tests/actions/test_doors.py",)
_DELTA = (
    "tests/formats/delta/test_deltalake.py",
    "tests/formats/delta/test_deletes.py",
    "tests/formats/delta/test_damage.py",
)
_IDENTITY = ("tests/actions/test_identity.py",)
_ICEBERG = ("tests/formats/iceberg/test_deletes.py", "tests/formats/iceberg/test_live_rows.py")
_STORE = ("tests/store", "tests/pruning/test_damage.py", "tests/pruning/test_damaged_keys.py")

MUTANTS: tuple[Mutant, ...] = (
    # which file is which
    Mutant(
        "etag not compared",
        "metaindex/keys.py",
        "_mixed(_mixed(_mixed(_numbers(size)) ^ _numbers(modified)) ^ _hashes(etag))",
        "_mixed(_mixed(_mixed(_numbers(size)) ^ _numbers(modified)))",
        _IDENTITY,
        "a plain file that was replaced with the same size and time answers for its rows of before",
    ),
    Mutant(
        "a text type carried over",
        "metaindex/pruning/open_index.py",
        "            if stored == leaf.type or not self.of_text:\n",
        "            if True:\n",
        ("tests/pruning/test_text_types.py",),
        "what texts are under one type answers for what they are under another",
    ),
    Mutant(
        "certain by the first index",
        "metaindex/pruning/recorded.py",
        "surely(asked.predicate, s.together(), s.segment.run.files)",
        "surely(asked.predicate, s.segment.whole(), s.segment.run.files)",
        ("tests/pruning/test_several_runs.py",),
        "a bloom filter on a column empties what is certain",
    ),
    Mutant(
        "numbering taken for equal",
        "metaindex/pruning/recorded.py",
        "if (run.table_uuid, run.files_digest) == (segment.run.table_uuid, segment.run.files_digest):",
        "if run.files == segment.run.files:",
        (*_IDENTITY, "tests/pruning"),
        "another index answers for other files",
    ),
    Mutant(
        "first file for every id",
        "metaindex/pruning/open_index.py",
        "same = mine[here, 1] == asked[rows, 1]",
        "same = mine[here, 0] == asked[rows, 0]",
        (*_IDENTITY, "tests/pruning", "tests/actions/test_runs.py"),
        "half an id is taken for the whole",
    ),
    Mutant(
        "time left out of the id",
        "metaindex/keys.py",
        "_mixed(_mixed(_mixed(_numbers(size)) ^ _numbers(modified)) ^ _hashes(etag))",
        "_mixed(_mixed(_mixed(_numbers(size))) ^ _hashes(etag))",
        _IDENTITY,
        "a file that was written anew under its path answers with its rows of before",
    ),
    Mutant(
        "runs of another table",
        "metaindex/pruning/open_index.py",
        "if run.table_uuid != files.table_uuid:",
        "if False:",
        _IDENTITY,
        "the index of a table that was dropped answers for the one made at its place",
    ),
    Mutant(
        "replaced files stay live",
        "metaindex/actions/follow.py",
        "named = pa.concat_arrays([path_ids(gone.paths), touched.ids])",
        "named = path_ids(gone.paths)",
        _IDENTITY,
        "a recorded version lists a path twice, as it was and as it is",
    ),
    Mutant(
        "log written anew while read",
        "formats/delta/changes.py",
        "if fingerprint != to.fingerprint:",
        "if False:",
        _IDENTITY,
        "the files of a log that is there no more are recorded for the one that is",
    ),
    Mutant(
        "ordinals of a part not looked at",
        "metaindex/pruning/open_index.py",
        'if not np.array_equal(numbers(picked.column("ordinal")), inside + start):',
        "if False:",
        ("tests/pruning/test_damage.py", "tests/pruning/test_lookup.py", "tests/pruning/test_many_parts.py"),
        "rows of a part that is out of order name other files",
    ),
    Mutant(
        "aggregates not counted",
        "metaindex/pruning/open_index.py",
        "if not np.array_equal(number, np.arange(run.partitions)) or int(count.sum()) != run.files:",
        "if False:",
        ("tests/pruning/test_damage.py", "tests/pruning/test_many_parts.py"),
        "a partition that is missing from the aggregates shifts the files of all behind it",
    ),
    # what statistics prove
    Mutant(
        "nothing found, everything proved",
        "metaindex/pruning/run_statistics.py",
        "        if not holding:\n            return self.constant(True)\n",
        "        if not holding:\n            return self.constant(False)\n",
        (*_STATISTICS, "tests/pruning/test_uncovered_columns.py", "tests/pruning/test_damage.py"),
        "a covered column without rows proves every file out",
    ),
    Mutant(
        "an unknown column answers",
        "metaindex/pruning/run_statistics.py",
        '        if stored is None or (stored.partition and self._units.kind == "column_stats"):\n            return self.constant(True)\n',
        '        if stored is None or (stored.partition and self._units.kind == "column_stats"):\n            return self.constant(False)\n',
        (*_STATISTICS, "tests/pruning/test_uncovered_columns.py", "tests/pruning/test_known_columns.py"),
        "a column that is not indexed proves files out",
    ),
    Mutant(
        "a partition's scope forgets its first",
        "metaindex/pruning/run_statistics.py",
        "self._cumulated = np.concatenate((np.zeros(1, np.int64), np.cumsum(self._scope)))",
        "self._cumulated = np.concatenate((np.cumsum(self._scope), np.zeros(1, np.int64)))",
        (*_STATISTICS, "tests/pruning/test_many_parts.py", "tests/pruning/test_few_files.py"),
        "row groups of partitions that may match are passed over",
    ),
    Mutant(
        "no scope, no files",
        "metaindex/pruning/open_index.py",
        "            out[:] = np.repeat(partitions, count)\n",
        "            out[:] = np.repeat(~partitions, count)\n",
        (
            "tests/pruning/test_many_parts.py",
            "tests/pruning/test_no_false_skip.py",
            "tests/build/test_local_builder.py",
            "tests/actions/test_keys.py",
        ),
        "the files of the wrong partitions are kept",
    ),
    # how statistics are made
    Mutant(
        "an unknown file in a partition",
        "metaindex/build/statistics.py",
        '"state": pc.if_else(unknown, int(StatState.UNKNOWN), known)',
        '"state": known',
        (*_BUILD, "tests/build/test_merging.py", *_STATISTICS),
        "a partition is believed of which one file is not known",
    ),
    Mutant(
        "bounds of an unknown partition",
        "metaindex/build/statistics.py",
        "out[column] = pc.if_else(unknown, None, _plain(groups.column(name)))",
        "out[column] = _plain(groups.column(name))",
        (*_BUILD, "tests/build/test_merging.py", *_STATISTICS),
        "a partition has bounds that leave out its unknown file",
    ),
    Mutant(
        "upper bounds cut downwards",
        "metaindex/build/statistics.py",
        "upper = pc.replace_with_mask(upper, cut_upper, successors(matrix))",
        "upper = pc.if_else(cut_upper, pc.binary_slice(upper, 0, BOUND_BYTES), upper)",
        (*_BUILD, *_STATISTICS),
        "a long text above its cut bound is lost",
    ),
    Mutant(
        "a cut bound is called exact",
        "metaindex/build/statistics.py",
        "        exact(bounds.upper_exact, upper, cut_upper),\n",
        "        exact(bounds.upper_exact, upper, pc.less(cut_upper, cut_upper)),\n",
        _BUILD,
        "`certain` names files of which not every row matches",
    ),
    Mutant(
        "the successor of ff",
        "metaindex/build/statistics.py",
        "below = matrix != 0xFF",
        "below = matrix >= 0",
        _BUILD,
        "the bound above ff ff ... wraps around to below everything",
    ),
    # what footers say
    Mutant(
        "reversed bounds believed",
        "formats/footer_bounds.py",
        "reversed_ = known & _greater(low, high)",
        "reversed_ = known & ~known",
        _FOOTERS,
        "bounds in an order of long ago lose rows",
    ),
    Mutant(
        "a null count that cannot be",
        "formats/footer_bounds.py",
        "null_known &= (nulls >= 0) & (nulls <= values) & (values == group_rows)",
        "null_known &= nulls >= 0",
        _FOOTERS,
        "a file with values is taken for all NULL, or none",
    ),
    Mutant(
        "bounds beside all NULL",
        "formats/footer_bounds.py",
        "null_known &= ~contradiction",
        "null_known &= null_known",
        _FOOTERS,
        "a writer that counts wrongly loses the rows of the file",
    ),
    Mutant(
        "a row group without bounds",
        "formats/footer_bounds.py",
        "group_doubt[~no_values & ~said] = DOUBTS.index(Doubt.NO_STATISTICS)",
        "pass",
        _FOOTERS,
        "the bounds of one row group stand for those of two",
    ),
    Mutant(
        "older calendars",
        "formats/footer_bounds.py",
        "group_doubt[~no_values & old] = DOUBTS.index(Doubt.LEGACY_CALENDAR)",
        "pass",
        (*_FOOTERS, "tests/formats/test_older_calendar.py"),
        "dates before 1582 are days off",
    ),
    Mutant(
        "unsigned as signed",
        "formats/footer_bounds.py",
        "return pa.array([None if r is None else r & mask for r in raw], file.arrow)",
        "return pa.array([None if r is None else r & (mask >> 1) for r in raw], file.arrow)",
        (*_FOOTERS, "tests/formats/test_footers_against_data.py"),
        "large unsigned numbers are lost",
    ),
    Mutant(
        "decimals without a sign",
        "formats/footer_bounds.py",
        'int.from_bytes(r, "big", signed=True)',
        'int.from_bytes(r, "big", signed=False) % (1 << 100)',
        (*_FOOTERS, "tests/formats/test_footers_against_data.py"),
        "negative decimals are lost",
    ),
    # keys
    Mutant(
        "NaN has no key",
        "metaindex/kinds/values/asked.py",
        "return NAN if pa.types.is_floating(plain_type(stored)) else NO_VALUE",
        "return NO_VALUE",
        _VALUES,
        "`= NaN` finds nothing",
    ),
    Mutant(
        "doubt is no value",
        "metaindex/kinds/values/asked.py",
        "    if doubt:\n        return None\n",
        "    if doubt:\n        return NO_VALUE\n",
        (*_VALUES, "tests/contract", "tests/pruning/test_keyed_tables.py"),
        "what cannot be said of a value proves every file out",
    ),
    Mutant(
        "long keys cut short",
        "metaindex/kinds/values/asked.py",
        'high = high[:KEPT] + b"\\xff" * (CUT - KEPT + 1)',
        "high = high[:KEPT]",
        _VALUES,
        "a range up to a long text loses the texts that begin alike",
    ),
    Mutant(
        "an open end that is closed",
        "metaindex/kinds/values/asked.py",
        "low = low + 1 if low is not None and within.low_open else low",
        "low = low + 2 if low is not None and within.low_open else low",
        _VALUES,
        "`> 5` loses 6",
    ),
    Mutant(
        "bloom frames not checked",
        "metaindex/kinds/bloom/reader.py",
        "            if payload is None:\n",
        "            if payload is None and False:\n",
        _BLOOM,
        "a turned bit loses a value",
    ),
    Mutant(
        "files of a bloom class by place",
        "metaindex/kinds/bloom/reader.py",
        "                    found[ordinals[here]] = True\n",
        "                    found[: size_class.files] |= here\n",
        (*_BLOOM, "tests/contract", "tests/pruning/test_keyed_tables.py"),
        "filters of some files answer for others",
    ),
    # deletes
    Mutant(
        "positions counted from one",
        "metaindex/readers/deletes.py",
        "mask[(self.positions[start:end] - np.uint64(first)).astype(np.int64)] = False",
        "mask[(self.positions[start:end] - np.uint64(first)).astype(np.int64) - 1] = False",
        _DELETES,
        "another row is deleted",
    ),
    Mutant(
        "NULL equals no NULL",
        "metaindex/readers/deletes.py",
        "places = pc.fill_null(pc.index_in(column, value_set=values), -1)",
        "places = pc.fill_null(pc.index_in(column, value_set=values, skip_nulls=True), -1)",
        (*_DELETES, "tests/readers/test_random_histories.py", "tests/formats/iceberg/test_live_rows.py"),
        "a row that was deleted by NULL comes back",
    ),
    Mutant(
        "deletes not read",
        "metaindex/readers/arrow.py",
        'if self._snapshot.files.table.column("deletes")[row].as_py() is None:',
        "if True:",
        _DELETES,
        "deleted rows come back",
    ),
    Mutant(
        "a file of a delete vector by path alone",
        "formats/delta/replay.py",
        "dropped = [key in gone or key in live for key in keys]",
        "dropped = [key in gone for key in keys]",
        _DELTA,
        "a file is live twice",
    ),
    Mutant(
        "removed and there",
        "formats/delta/replay.py",
        "                live.pop(key, None)\n",
        "                pass\n",
        _DELTA,
        "a removed file is read",
    ),
    Mutant(
        "equality deletes of their own commit",
        "formats/iceberg/deletes.py",
        "local = by(dels.filter(equality & ~everywhere), place, place, newer)",
        "local = by(dels.filter(equality & ~everywhere), place, place, not_older)",
        _ICEBERG,
        "rows that were written with the delete are lost",
    ),
    Mutant(
        "positions beside a vector",
        "formats/iceberg/deletes.py",
        'vectors.select("file"), on="file", how="anti"',
        'vectors.select("file").head(0), on="file", how="anti"',
        _ICEBERG,
        "positions that a vector has taken over are counted twice, and with the vector's own meaning gone",
    ),
    # storage and the log
    Mutant(
        "put replaces",
        "formats/storage_local.py",
        "os.link(temporary, where)",
        "os.replace(temporary, where)",
        ("tests/formats/test_storage_local.py", "tests/log/test_operation_log.py"),
        "two writers both win an entry",
    ),
    Mutant(
        "out of the root",
        "formats/storage_local.py",
        'if ".." in path.split("/"):',
        "if False:",
        (
            "tests/formats/test_storage_local.py",
            "tests/formats/delta/test_damage.py",
            "tests/formats/delta/test_actions.py",
        ),
        "a path of a log leads out of its table",
    ),
    Mutant(
        "a lost race is won",
        "metaindex/log/operation_log.py",
        "if nonce != entry.nonce:",
        "if False:",
        ("tests/log/test_operation_log.py", "tests/actions/test_races.py"),
        "an operation believes in an entry that is another's",
    ),
    Mutant(
        "a copied entry",
        "metaindex/log/operation_log.py",
        "if found.id != number:",
        "if False:",
        _LOG,
        "an entry that a sync tool copied counts as the newest",
    ),
    Mutant(
        "no retention",
        "metaindex/actions/clean.py",
        "horizon = now_ns - int(retention_seconds * 1e9)",
        "horizon = now_ns",
        _CLEAN,
        "a query that runs loses the parts under its feet",
    ),
    Mutant(
        "listed after the entry was read",
        "metaindex/actions/clean.py",
        "        return self._names(latest.content) | kept | {run for mark in latest.under_way for run in mark.runs}\n",
        "        return self._names(latest.content) | kept\n",
        (*_CLEAN, "tests/actions/test_races.py"),
        "what a live writer has written is removed",
    ),
    Mutant(
        "in use when an operation began",
        "metaindex/actions/clean.py",
        "if until > horizon or until >= began",
        "if until > horizon",
        _DOORS,
        "an optimize loses the runs that it merges",
    ),
    Mutant(
        "vacuum without its mark",
        "metaindex/actions/removal.py",
        "if latest is None or all(mark.nonce != nonce for mark in latest.under_way):",
        "if latest is None:",
        _DOORS,
        "a vacuum that was cancelled removes the index created since",
    ),
    Mutant(
        "cancel of a live run",
        "metaindex/actions/cancel.py",
        "if is_run(run)} - live))",
        "if is_run(run)}))",
        _DOORS,
        "what queries read is removed",
    ),
    Mutant(
        "entries of operations under way",
        "metaindex/actions/clean.py",
        "return min([latest.id - max(keep_entries, 1) + 1, *(mark.began for mark in latest.under_way)])",
        "return latest.id - max(keep_entries, 1) + 1",
        (*_CLEAN, "tests/actions/test_races.py"),
        "an operation finds its own begin gone",
    ),
)
