"""Which file is which, and which table."""

from __future__ import annotations

from .mutant import Mutant

_IDENTITY = ("tests/index/actions/test_identity.py",)

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "etag not compared",
        "metaindex/index/keys.py",
        "_mixed(_mixed(_mixed(_numbers(size)) ^ _numbers(modified)) ^ _hashes(etag))",
        "_mixed(_mixed(_mixed(_numbers(size)) ^ _numbers(modified)))",
        _IDENTITY,
        "a plain file that was replaced with the same size and time answers for its rows of before",
    ),
    Mutant(
        "a text type carried over",
        "metaindex/index/open_index.py",
        "            if stored == leaf.type or not self.of_text:\n",
        "            if True:\n",
        ("tests/query/pruning/test_text_types.py",),
        "what texts are under one type answers for what they are under another",
    ),
    Mutant(
        "certain by the first index",
        "metaindex/query/pruning/recorded.py",
        "surely(asked.predicate, s.together(), s.segment.run.files)",
        "surely(asked.predicate, s.segment.known.whole(), s.segment.run.files)",
        ("tests/query/pruning/test_several_runs.py",),
        "a bloom filter on a column empties what is certain",
    ),
    Mutant(
        "numbering taken for equal",
        "metaindex/query/pruning/recorded.py",
        "if (run.table_uuid, run.files_digest) == (segment.run.table_uuid, segment.run.files_digest):",
        "if run.files == segment.run.files:",
        (*_IDENTITY, "tests/query/pruning"),
        "another index answers for other files",
    ),
    Mutant(
        "first file for every id",
        "metaindex/index/open_index.py",
        "same = mine[here, 1] == asked[rows, 1]",
        "same = mine[here, 0] == asked[rows, 0]",
        (*_IDENTITY, "tests/query/pruning", "tests/index/actions/test_runs.py"),
        "half an id is taken for the whole",
    ),
    Mutant(
        "time left out of the id",
        "metaindex/index/keys.py",
        "_mixed(_mixed(_mixed(_numbers(size)) ^ _numbers(modified)) ^ _hashes(etag))",
        "_mixed(_mixed(_mixed(_numbers(size))) ^ _hashes(etag))",
        _IDENTITY,
        "a file that was written anew under its path answers with its rows of before",
    ),
    Mutant(
        "runs of another table",
        "metaindex/index/open_index.py",
        "if run.table_uuid != files.table_uuid:",
        "if False:",
        _IDENTITY,
        "the index of a table that was dropped answers for the one made at its place",
    ),
    Mutant(
        "replaced files stay live",
        "metaindex/index/actions/refresh.py",
        "named = pa.concat_arrays([path_ids(gone.paths), touched.ids])",
        "named = path_ids(gone.paths)",
        _IDENTITY,
        "a recorded version lists a path twice, as it was and as it is",
    ),
    Mutant(
        "log written anew while read",
        "metaindex/formats/delta/changes.py",
        "if fingerprint != to.fingerprint:",
        "if False:",
        _IDENTITY,
        "the files of a log that is there no more are recorded for the one that is",
    ),
    Mutant(
        "ordinals of a part not looked at",
        "metaindex/index/open_index.py",
        'if not np.array_equal(Vector(picked.column("ordinal")).numbers, inside + start):',
        "if False:",
        (
            "tests/query/pruning/test_damage.py",
            "tests/query/pruning/test_lookup.py",
            "tests/query/pruning/test_many_parts.py",
        ),
        "rows of a part that is out of order name other files",
    ),
    Mutant(
        "aggregates not counted",
        "metaindex/index/kinds/column_stats/levels.py",
        "if not np.array_equal(number, np.arange(run.run.partitions)) or int(count.sum()) != run.run.files:",
        "if False:",
        (
            "tests/query/pruning/test_damage.py",
            "tests/query/pruning/test_many_parts.py",
            "tests/query/pruning/test_lookup.py",
        ),
        "a partition that is missing from the aggregates shifts the files of all behind it",
    ),
    Mutant(
        "a replaced plain file is read",
        "metaindex/query/readers/replaced.py",
        "if had is not None and value is not None and had != value:",
        "if False:",
        ("tests/api/test_plain_files.py",),
        "rows of a later file are shown as those of an older version",
    ),
    Mutant(
        "a footer of before",
        "metaindex/formats/parquet/opened.py",
        "if held is None or held[0] != now:",
        "if held is None:",
        ("tests/query/readers/test_held_footers.py",),
        "row groups of a replaced file are passed over by the footer of the old one",
    ),
    Mutant(
        "a footer that may still change",
        "metaindex/formats/parquet/opened.py",
        "    if _lately_changed(then) or footer",
        "    if footer",
        ("tests/query/readers/test_held_footers.py",),
        "a file that is written twice within a tick is read by its first footer",
    ),
)
