"""Indexes that 956c3373 wrote, one of each kind for each format, are read by today's program with the same answers,
verified, and refreshed after one more commit."""

from pathlib import Path

import pytest

from metaindex.index import KINDS
from tests.baseline import golden


def expected(format_: str, part: int) -> list[str]:
    """The answers at first (0), and after one more commit (1)."""
    text = (golden.HERE / f"{format_}.txt").read_text().replace("at first:\n", "")
    return text.split("after one more commit:\n")[part].splitlines()


@pytest.mark.parametrize("format_", golden.FORMATS)
def test_old_indexes_answer_as_they_did(format_: str, tmp_path: Path) -> None:
    with golden.opened(format_, tmp_path) as table:
        assert {index.name for index in table.indexes() if index.fresh} == set(golden.KINDS)
        assert [line for index in golden.KINDS for line in golden.answers(table, index)] == expected(format_, 0)


@pytest.mark.slow(but="parquet")
@pytest.mark.parametrize("format_", golden.FORMATS)
def test_old_indexes_are_refreshed(format_: str, tmp_path: Path) -> None:
    said = []
    with golden.opened(format_, tmp_path, grown=True) as table:
        assert not [index.name for index in table.indexes() if index.fresh]
        for index in golden.KINDS:
            done = table.refresh_index(index, builder=golden.builder_of(index))
            assert done.changed, done
            assert len(done.entry.content.runs) == 2, f"{index} was built anew: {done}"
            said += golden.answers(table, index)
    assert said == expected(format_, 1)


def test_every_kind_has_a_golden_index() -> None:
    assert [type(kind) for kind in golden.KINDS.values()] == list(KINDS)


def test_every_index_takes_part() -> None:
    """Each kind that leaves files out is used, each that answers aggregates opens none, and the rows of the others are
    compared with the table's, but for those of text files, which are read by Spark alone."""
    for format_ in golden.FORMATS:
        lines = expected(format_, 0)
        for index in golden.KINDS:
            of_index = [line for line in lines if line.startswith(f"{index} |")]
            assert any(
                " | used | " in line or "files opened 0" in line or line.endswith("0, 0, 0, 24)") for line in of_index
            ) or (format_ in ("csv", "json") and index.startswith("covering")), (format_, index)
