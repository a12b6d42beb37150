"""The table of what works on which Spark is what the runs have seen, of all the tests that there are."""

import json

from tests.each_spark import (
    DOCS,
    FEATURES,
    INSTALL,
    NAMES,
    PINNED,
    PINS,
    RELEASES,
    ROOT,
    SEEN,
    drawn,
    offered,
    table,
)


def test_the_table_of_the_docs_is_what_was_seen() -> None:
    assert DOCS.read_text("utf-8") == drawn(DOCS, table(json.loads(SEEN.read_text())))


def test_the_formats_of_the_docs_are_those_that_are_pinned() -> None:
    assert INSTALL.read_text("utf-8") == drawn(INSTALL, offered())
    published = sum(release.name in PINS[format_] for format_ in ("delta", "iceberg") for release in RELEASES)
    assert published + offered().count("waits for") == 2 * len(RELEASES)


def test_what_was_seen_is_of_sparks_and_features_that_there_are() -> None:
    seen = json.loads(SEEN.read_text())
    assert list(seen) == [name for name in NAMES if name != PINNED.name]
    for of in seen.values():
        assert of["features"].keys() <= FEATURES.keys()


def test_the_tests_are_there() -> None:
    files = [file for files in FEATURES.values() for file in files]
    assert [file for file in files if not (ROOT / file).is_file()] == []
    assert len(files) == len(set(files))
