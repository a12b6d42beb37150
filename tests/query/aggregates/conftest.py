"""A table of 60 rows in six files, in each format, with statistics, sums and sketches: not to be changed."""

import pyarrow as pa
import pytest

import metaindex as mi
from metaindex.index import Kind
from tests.tables import FIVE, Lake

FILES, ROWS = 6, 10


def kinds() -> list[Kind]:
    values = mi.ValueList("name", "day"), mi.Values("id", by="value")
    return [mi.ColumnStats(), mi.Sums("id", "day"), mi.Sketches("name", "day"), *values]


def fill(lake: Lake) -> Lake:
    for number in range(FILES):
        ids = range(number * ROWS, number * ROWS + ROWS)
        names, days = [f"n{i:04d}" for i in ids], [number // 2] * ROWS
        lake.append(pa.table({"id": pa.array(ids, pa.int64()), "name": names, "day": pa.array(days, pa.int32())}))
    return lake


@pytest.fixture(params=FIVE, scope="module")
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> mi.Table:
    lake = fill(FIVE[request.param](tmp_path_factory.mktemp(request.param)))
    made = lake.open()
    made.create_index("stats", *kinds(), builder="local")
    return made
