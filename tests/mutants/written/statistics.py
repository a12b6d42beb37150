"""What statistics prove, how they are made, and what footers say."""

from __future__ import annotations

from .mutant import Mutant

_STATISTICS = ("tests/query/pruning/test_no_false_skip.py", "tests/query/pruning/test_many_terms.py")
_BUILD = (
    "tests/index/build/test_statistics.py",
    "tests/index/build/test_local_builder.py",
    "tests/index/build/test_prepared.py",
)
_FOOTERS = ("tests/formats/test_footers.py", "tests/formats/test_footer_columns.py", "tests/formats/test_lessons.py")

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "nothing found, everything proved",
        "metaindex/index/kinds/column_stats/reader.py",
        "        if not holding:\n            return self.constant(True)\n",
        "        if not holding:\n            return self.constant(False)\n",
        (
            *_STATISTICS,
            "tests/query/pruning/test_uncovered_columns.py",
            "tests/query/pruning/test_damage.py",
            "tests/query/pruning/test_known_columns.py",
        ),
        "a covered column without rows proves every file out",
    ),
    Mutant(
        "an unknown column answers",
        "metaindex/index/kinds/column_stats/reader.py",
        '        if stored is None or (stored.partition and self._units.kind == "column_stats"):\n            return'
        " self.constant(True)\n",
        '        if stored is None or (stored.partition and self._units.kind == "column_stats"):\n            return'
        " self.constant(False)\n",
        (*_STATISTICS, "tests/query/pruning/test_uncovered_columns.py", "tests/query/pruning/test_known_columns.py"),
        "a column that is not indexed proves files out",
    ),
    Mutant(
        "a partition's scope forgets its first",
        "metaindex/index/kinds/column_stats/reader.py",
        "self._cumulated = np.concatenate((np.zeros(1, np.int64), np.cumsum(self._scope)))",
        "self._cumulated = np.concatenate((np.cumsum(self._scope), np.zeros(1, np.int64)))",
        (*_STATISTICS, "tests/query/pruning/test_many_parts.py", "tests/query/pruning/test_few_files.py"),
        "row groups of partitions that may match are passed over",
    ),
    Mutant(
        "no scope, no files",
        "metaindex/index/kinds/column_stats/levels.py",
        "        out[:] = np.repeat(partitions, count)\n",
        "        out[:] = np.repeat(~partitions, count)\n",
        (
            "tests/query/pruning/test_many_parts.py",
            "tests/query/pruning/test_lookup.py",
            "tests/query/pruning/test_no_false_skip.py",
            "tests/index/build/test_local_builder.py",
            "tests/index/actions/test_keys.py",
        ),
        "the files of the wrong partitions are kept",
    ),
    Mutant(
        "an unknown file in a partition",
        "metaindex/index/kinds/column_stats/rows.py",
        '"state": pc.if_else(unknown, int(StatState.UNKNOWN), known)',
        '"state": known',
        (*_BUILD, "tests/index/build/test_merging.py", *_STATISTICS),
        "a partition is believed of which one file is not known",
    ),
    Mutant(
        "bounds of an unknown partition",
        "metaindex/index/kinds/column_stats/rows.py",
        "out[column] = pc.if_else(unknown, None, plain(groups.column(name)))",
        "out[column] = plain(groups.column(name))",
        (*_BUILD, "tests/index/build/test_merging.py", *_STATISTICS),
        "a partition has bounds that leave out its unknown file",
    ),
    Mutant(
        "upper bounds cut downwards",
        "metaindex/index/kinds/facts.py",
        "upper = pc.replace_with_mask(upper, cut_upper, successors(matrix))",
        "upper = pc.if_else(cut_upper, pc.binary_slice(upper, 0, BOUND_BYTES), upper)",
        (*_BUILD, *_STATISTICS),
        "a long text above its cut bound is lost",
    ),
    Mutant(
        "a cut bound is called exact",
        "metaindex/index/kinds/facts.py",
        "        exact(bounds.upper_exact, upper, cut_upper),\n",
        "        exact(bounds.upper_exact, upper, pc.less(cut_upper, cut_upper)),\n",
        _BUILD,
        "`certain` names files of which not every row matches",
    ),
    Mutant(
        "the successor of ff",
        "metaindex/index/kinds/facts.py",
        "below = matrix != 0xFF",
        "below = matrix >= 0",
        _BUILD,
        "the bound above ff ff ... wraps around to below everything",
    ),
    Mutant(
        "reversed bounds believed",
        "metaindex/formats/parquet/bounds.py",
        "reversed_ = known & _greater(low, high)",
        "reversed_ = known & ~known",
        _FOOTERS,
        "bounds in an order of long ago lose rows",
    ),
    Mutant(
        "a null count that cannot be",
        "metaindex/formats/parquet/bounds.py",
        "null_known &= (nulls >= 0) & (nulls <= values) & (values == group_rows)",
        "null_known &= nulls >= 0",
        _FOOTERS,
        "a file with values is taken for all NULL, or none",
    ),
    Mutant(
        "bounds beside all NULL",
        "metaindex/formats/parquet/bounds.py",
        "null_known &= ~contradiction",
        "null_known &= null_known",
        _FOOTERS,
        "a writer that counts wrongly loses the rows of the file",
    ),
    Mutant(
        "a row group without bounds",
        "metaindex/formats/parquet/bounds.py",
        "group_doubt[~no_values & ~said] = DOUBTS.index(Doubt.NO_STATISTICS)",
        "pass",
        _FOOTERS,
        "the bounds of one row group stand for those of two",
    ),
    Mutant(
        "older calendars",
        "metaindex/formats/parquet/bounds.py",
        "group_doubt[~no_values & old] = DOUBTS.index(Doubt.LEGACY_CALENDAR)",
        "pass",
        (*_FOOTERS, "tests/formats/test_older_calendar.py"),
        "dates before 1582 are days off",
    ),
    Mutant(
        "unsigned as signed",
        "metaindex/formats/parquet/bounds.py",
        "return pa.array([None if r is None else r & mask for r in raw], file.arrow)",
        "return pa.array([None if r is None else r & (mask >> 1) for r in raw], file.arrow)",
        (*_FOOTERS, "tests/formats/test_footers_against_data.py"),
        "large unsigned numbers are lost",
    ),
    Mutant(
        "decimals without a sign",
        "metaindex/formats/parquet/bounds.py",
        'int.from_bytes(r, "big", signed=True)',
        'int.from_bytes(r, "big", signed=False) % (1 << 100)',
        (*_FOOTERS, "tests/formats/test_footers_against_data.py"),
        "negative decimals are lost",
    ),
    Mutant(
        "row groups by another predicate",
        "metaindex/query/readers/row_groups.py",
        "known = result is not None and result.knows_row_groups and result.predicate == predicate",
        "known = result is not None and result.knows_row_groups",
        ("tests/query/readers/test_row_groups.py",),
        "row groups that one predicate left out are left out of another's answer",
    ),
    Mutant(
        "a row that is not there",
        "metaindex/formats/parquet/rows.py",
        "        if first != end:\n",
        "        if False:\n",
        ("tests/query/readers/test_parquet_scan.py",),
        "a file that gives fewer rows than its footer counts loses them in silence",
    ),
)
