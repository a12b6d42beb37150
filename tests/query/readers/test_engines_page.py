"""The page of engines says what is so: its examples are run."""

import doctest
import warnings
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from tests.tables import catalog_in

PAGE = Path(__file__).parents[3] / "docs" / "engines.md"
FILES = 10


def orders(file: int) -> pa.Table:
    ids = range(file * 100, file * 100 + 100)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "customer": [f"c{i % 100 if file % 3 == i % 2 else i % 1000:03d}" for i in ids],
            "city": [["Oslo", "Lima", "Lagos", "Bergen"][i % 4] for i in ids],
            "amount": [float(i % 100 + file) for i in ids],
        }
    )


@pytest.mark.slow
def test_the_examples_of_the_page(tmp_path: Path) -> None:
    delta = str(tmp_path / "orders")
    catalog = catalog_in(tmp_path)
    catalog.create_namespace("shop")
    table = catalog.create_table("shop.orders", orders(0).schema)
    for file in range(FILES):
        write_deltalake(delta, orders(file), mode="append")
        table.append(orders(file))
    catalog.engine.dispose()
    with warnings.catch_warnings():
        found = doctest.testfile(
            str(PAGE),
            module_relative=False,
            globs={"delta": delta, "iceberg": table.location()},
            optionflags=doctest.NORMALIZE_WHITESPACE,
        )
    assert found.attempted > 20
    assert not found.failed, pytest.fail("see the output above")
