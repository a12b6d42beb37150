"""Sums keep what every kind promises that keeps a row of each file."""

from collections.abc import Mapping, Sequence
from decimal import Context, Decimal

import pyarrow as pa
import pytest

from metaindex.core import DamagedIndexError
from metaindex.index.kinds.exact_sums import totals
from metaindex.index.kinds.sums.spec import Sums
from tests.index.contract.of_files_contract import OfFilesContract


class TestSums(OfFilesContract):
    def kind(self, *columns: str) -> Sums:
        return Sums(*columns)

    def check_row(self, row: Mapping[str, object], values: Sequence[object], type_: pa.DataType) -> None:
        there = [value for value in values if value is not None]
        assert (row["row_count"], row["value_count"]) == (len(values), len(there))
        total = totals(pa.array([row["sum"]], pa.binary(32)), type_)[0].as_py()
        exact, truth = Context(prec=90), Decimal(0)
        for value in there:
            truth = exact.add(truth, Decimal(value))  # type: ignore[arg-type]
        assert total == (truth if there else None)


def test_a_sum_that_no_numbers_have_is_damage() -> None:
    with pytest.raises(DamagedIndexError, match="as many digits"):
        totals(pa.array([b"\xff" * 31 + b"\x7f"], pa.binary(32)), pa.int64())
