"""What a person is told of who answered a part of a predicate: a kind that has no answer is not one that found all
files to hold it."""

from pathlib import Path

import pyarrow as pa
import pytest

import metaindex as mi
from tests.tables import settled


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> mi.Table:
    """Five files of ten numbers each; the last one is in no run."""
    root: Path = tmp_path_factory.mktemp("explained") / "t"
    root.mkdir()
    for number in range(5):
        if number == 4:
            mi.open_table(str(root)).create_index("filters", mi.Bloom("k"), builder="local")
        settled(root, {f"f{number}.parquet": pa.table({"k": pa.array(range(number * 10, number * 10 + 10))})})
    return mi.open_table(str(root))


@pytest.mark.parametrize(
    ("predicate", "said", "answered"),
    [
        ("k = 7", "bloom_filters of filters 3", True),
        ("k > 7", "bloom_filters of filters does not answer that", False),
        ("k IN (3, 13, 23, 33)", "nobody can prove any out", True),
    ],
)
def test_a_kind_that_has_no_answer_is_said_to_have_none(
    table: mi.Table, predicate: str, said: str, answered: bool
) -> None:
    explained = table.explain(predicate)
    assert f": {said}\n" in str(explained)
    (told,) = [one for one in explained.to_json()["answered"] if one["kind"] == "bloom_filters"]  # type: ignore[attr-defined]
    assert told["answered"] is answered
