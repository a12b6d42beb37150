"""Keys: values, value lists, bloom filters, covering parts."""

from __future__ import annotations

from .mutant import Mutant

_VALUES = ("tests/index/kinds/test_values.py", "tests/index/kinds/test_value_rows.py")
_BLOOM = ("tests/index/kinds/bloom",)

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "NaN has no key",
        "metaindex/index/kinds/values/asked.py",
        "return NAN if pa.types.is_floating(plain_type(stored)) else NO_VALUE",
        "return NO_VALUE",
        _VALUES,
        "`= NaN` finds nothing",
    ),
    Mutant(
        "doubt is no value",
        "metaindex/index/kinds/values/asked.py",
        "    if doubt:\n        return None\n",
        "    if doubt:\n        return NO_VALUE\n",
        (*_VALUES, "tests/contract", "tests/query/pruning/test_keyed_tables.py"),
        "what cannot be said of a value proves every file out",
    ),
    Mutant(
        "long keys cut short",
        "metaindex/index/kinds/values/asked.py",
        'high = high[:KEPT] + b"\\xff" * (CUT - KEPT + 1)',
        "high = high[:KEPT]",
        _VALUES,
        "a range up to a long text loses the texts that begin alike",
    ),
    Mutant(
        "an open end that is closed",
        "metaindex/expressions/places.py",
        "low, low_open, empty = min(low + 1, INT64_MAX), False",
        "low, low_open, empty = min(low + 2, INT64_MAX), False",
        _VALUES,
        "`> 5` loses 6",
    ),
    Mutant(
        "an open end that is closed in many",
        "metaindex/expressions/places.py",
        "low = low + interval.low_open",
        "low = low + 2 * interval.low_open",
        _VALUES,
        "`> 5` loses 6",
    ),
    Mutant(
        "bloom frames not checked",
        "metaindex/index/kinds/bloom/reader.py",
        "            if payload is None:\n",
        "            if payload is None and False:\n",
        _BLOOM,
        "a turned bit loses a value",
    ),
    Mutant(
        "files of a bloom class by place",
        "metaindex/index/kinds/bloom/reader.py",
        "                    holders[ordinals[here]] = True\n",
        "                    holders[: size_class.files] |= here\n",
        (*_BLOOM, "tests/contract", "tests/query/pruning/test_keyed_tables.py"),
        "filters of some files answer for others",
    ),
    Mutant(
        "a key under another text type",
        "metaindex/index/lookup/run_source.py",
        "if index.of_text and types != [column.type for column in key.columns]:",
        "if False:",
        ("tests/query/pruning/test_text_types.py",),
        "values read under one type answer for texts read under another",
    ),
    Mutant(
        "files without a key",
        "metaindex/index/lookup/key_source.py",
        "return files | self.asked.unkeyed_files() if self.asked.key.unkeyed_files else files",
        "return files",
        ("tests/index/lookup/test_key_source.py",),
        "files of which a key knows nothing are proved out by it",
    ),
    Mutant(
        "exact beside unkeyed files",
        "metaindex/index/lookup/key_source.py",
        "return KINDS.looked_up_rows(self.key).exact and not self.key.unkeyed_files",
        "return True",
        (
            "tests/query/pruning/test_keyed_tables.py",
            "tests/index/lookup/test_key_source.py",
            "tests/query/pruning/test_lookup.py",
            "tests/contract",
        ),
        "a bloom filter's maybe is taken for an answer that leaves nothing to prove",
    ),
    Mutant(
        "parts between two bounds",
        "metaindex/index/kinds/covering/range_parts.py",
        "(low is None or greatest >= low) and (high is None or least <= high)",
        "(low is None or greatest > low) and (high is None or least < high)",
        ("tests/index/kinds/covering/test_range_parts.py",),
        "a part whose bound is the value asked for is left out",
    ),
    Mutant(
        "a cut bound of a part",
        "metaindex/index/kinds/covering/range_parts.py",
        'return key[:KEPT], key[:KEPT] + b"\\xff" * (CUT - KEPT + 1)',
        "return key, key",
        ("tests/index/kinds/covering/test_range_parts.py",),
        "a part of long texts that begin alike is left out",
    ),
    Mutant(
        "NULL in a part",
        "metaindex/index/kinds/covering/range_parts.py",
        'not known or least == b""',
        'known and least == b""',
        ("tests/index/kinds/covering/test_range_parts.py",),
        "IS NULL leaves out parts of which nothing is known",
    ),
    Mutant(
        "sums answer look-ups",
        "metaindex/index/kinds/of_files.py",
        "finds_values = False",
        "finds_values = True",
        ("tests/query/pruning/test_lacking.py",),
        "an equality reads every file, as the table's own log is not asked",
    ),
)
