"""What is believed of footers, by who wrote them: golden files whose footers lie, and counts of NULLs by writer."""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from tests.formats import footer_surgery as surgery
from tests.formats.footers_of import footers, one, said
from tests.formats.writers import hold

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.parquet"))


@pytest.mark.parametrize("file", GOLDEN, ids=lambda file: file.stem)
def test_of_a_footer_that_lies_only_what_holds_is_believed(file: Path) -> None:
    rows, metadata = pq.read_table(file), pq.read_metadata(file)
    lies = 0
    statistics = footers([file], rows.schema)
    for at, name in enumerate(rows.column_names):
        values = (
            pc.cast(rows[name], rows[name].type.value_type) if pa.types.is_dictionary(rows[name].type) else rows[name]
        )
        groups = [metadata.row_group(group).column(at).statistics for group in range(metadata.num_row_groups)]
        least, greatest = pc.min_max(values).as_py().values()
        lies += sum(group.null_count for group in groups) != values.null_count
        lies += min(group.min for group in groups) > least or max(group.max for group in groups) < greatest
        hold(values, one(statistics, name).bounds, 0)
    assert lies, "a golden file is kept for what is wrong in it"


@pytest.mark.parametrize(
    ("created_by", "believed"),
    [
        ("parquet-cpp-arrow version 26.0.0", {0, 2, 4}),
        ("parquet-cpp-arrow version 5.0.0", {4}),
        ("parquet-mr version 1.9.0 (build 38262e2c80015d0935dad20f8e18f2d6f9fbd03c)", set()),
        ("parquet-mr version 1.13.1 (build db4183109d5b734ec5930d870cdae161e408ddba)", {0, 2, 4}),
        ("Polars", {0}),
        ("a stranger", set()),
        ("", set()),
    ],
)
def test_a_count_of_nulls_is_believed_by_its_writer(created_by: str, believed: set[int], tmp_path: Path) -> None:
    for nulls in (0, 2, 4):
        path = tmp_path / f"{nulls}.parquet"
        pq.write_table(pa.table({"n": pa.array([None] * nulls + [7] * (4 - nulls), pa.int32())}), path)
        surgery.change(path, lambda footer: footer.put(surgery.CREATED_BY, surgery.BINARY, created_by.encode()))
        known = said(one(footers([path], pa.schema({"n": pa.int32()})), "n"))[2]
        assert known == (nulls if nulls in believed else None)
