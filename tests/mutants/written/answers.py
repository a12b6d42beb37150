"""What is answered without reading, and which files hold the first rows."""

from .mutant import Mutant

_AGGREGATES = ("tests/query/aggregates/test_aggregates.py",)
_ORDER = ("tests/query/aggregates/test_order_by.py",)

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "deleted rows are counted",
        "metaindex/query/aggregates/known.py",
        "return rows.less(KnownCounts.deleted(files))",
        "return rows",
        _AGGREGATES,
        "a count from metadata has deleted rows in it",
    ),
    Mutant(
        "a deleted row is the greatest",
        "metaindex/query/aggregates/aggregating.py",
        "return Attained(extreme.values, extreme.known & (~files.deletes | column.constant.known))",
        "return Attained(extreme.values, extreme.known)",
        _AGGREGATES,
        "an extreme is that of a row that is not there any more",
    ),
    Mutant(
        "NaN is no greatest value",
        "metaindex/query/aggregates/known.py",
        "Attained(greatest.values, greatest.known & (all_null | no_nan))",
        "Attained(greatest.values, greatest.known)",
        _AGGREGATES,
        "a greatest value from metadata is less than NaN",
    ),
    Mutant(
        "a cut bound is a row",
        "metaindex/query/aggregates/order_by.py",
        "attained = bounded & self._attained & (gone == 0)",
        "attained = bounded & (gone == 0)",
        _ORDER,
        "a threshold that no row reaches leaves out the file with the first row",
    ),
    Mutant(
        "NULL has no place of its own",
        "metaindex/query/aggregates/order_by.py",
        "ranks = np.where(no_null, ranks, NULL_FIRST)",
        "ranks = np.where(no_null, ranks, ranks)",
        _ORDER,
        "rows whose NULL comes first are missing",
    ),
    Mutant(
        "level by the first key is not better by the second",
        "metaindex/query/readers/first_rows.py",
        "or_level=len(first.keys) == 1)",
        "or_level=True)",
        _ORDER,
        "a row that the second column puts first is missing",
    ),
)
