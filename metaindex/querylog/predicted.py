"""What was expected of an index when it was recommended, kept beside the query log as `<index uuid>.predicted`, and
what came: the queries that were noted since.

Shares of bytes are compared, and not bytes: the table grows. They lie in a lake that others write, so nothing in such
a file is believed before it is checked.
"""

from __future__ import annotations

import json
import logging
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from metaindex.expressions.errors import MetaIndexError, ObjectNotFoundError, first_line
from metaindex.expressions.records import dataclass
from metaindex.formats.storage import Storage
from metaindex.pruning.result import human_bytes
from metaindex.views.text_table import Column, TextTable
from metaindex.views.words import percent

logger = logging.getLogger("metaindex")

_FORMAT: Final = 1
_UUID: Final = re.compile(r"[0-9a-f-]{32,36}")
_MOST_BYTES: Final = 4_096
_MOST_NUMBER: Final = 2.0**60


@dataclass(frozen=True, slots=True)
class ExpectedBounds:
    """A number as it was expected, and the bounds between which it is with 90%."""

    low: float
    expected: float
    high: float

    def to_json(self) -> dict[str, float]:
        """Plain data for machines."""
        return {"low": self.low, "expected": self.expected, "high": self.high}


@dataclass(frozen=True, slots=True)
class Prediction:
    """`queries`: of the workload, of the table; `helps`: the share of them that the index helps, and `helps_bounds` its
    bounds; `left_out`: of the bytes of the table, the share that those do not read, with all that was recommended
    beside it."""

    index_uuid: str
    made_ms: int
    queries: int
    helps: float
    left_out: ExpectedBounds
    size_bytes: ExpectedBounds
    helps_bounds: ExpectedBounds


@dataclass(frozen=True, slots=True)
class PredictedAgainst:
    """An index that was recommended: what was expected, and what came of the `queries` that were noted since it was
    created. `helped` and `left_out` are shares as in `Prediction`, None where no query tells."""

    index: str
    prediction: Prediction
    queries: int
    helped: float | None
    left_out: float | None
    size_bytes: int | None

    @property
    def as_expected(self) -> bool | None:
        """Is what helped queries do not read within the bounds? None where no query tells."""
        if self.left_out is None:
            return None
        return self.prediction.left_out.low <= self.left_out <= self.prediction.left_out.high

    def to_json(self) -> dict[str, object]:
        """Plain data for machines."""
        expected = self.prediction
        return {
            "index": self.index,
            "created_ms": expected.made_ms,
            "expected": {
                "queries": expected.queries,
                "helped": expected.helps,
                "helped_bounds": expected.helps_bounds.to_json(),
                "left_out": expected.left_out.to_json(),
                "size_bytes": expected.size_bytes.to_json(),
            },
            "came": {
                "queries": self.queries,
                "helped": self.helped,
                "left_out": self.left_out,
                "size_bytes": self.size_bytes,
            },
            "as_expected": self.as_expected,
        }


def keep(storage: Storage, prediction: Prediction) -> None:
    """Beside the query log of the table. StorageError where it cannot be written."""
    said = {
        "format": _FORMAT,
        "made_ms": prediction.made_ms,
        "queries": prediction.queries,
        "helps": prediction.helps,
        "helps_bounds": prediction.helps_bounds.to_json(),
        "left_out": prediction.left_out.to_json(),
        "size_bytes": prediction.size_bytes.to_json(),
    }
    storage.put_if_absent(f"{prediction.index_uuid}.predicted", json.dumps(said, allow_nan=False).encode())


def forget(storage: Storage, uuid: str) -> None:
    """Of an index that is gone. StorageError where it cannot be deleted."""
    if _UUID.fullmatch(uuid):
        with suppress(ObjectNotFoundError):
            storage.delete(f"{uuid}.predicted")


def kept(storage: Storage, uuids: Sequence[str]) -> dict[str, Prediction]:
    """By the index's uuid. One that cannot be read is left out, with a warning."""
    known: dict[str, Prediction] = {}
    for uuid in uuids:
        if not _UUID.fullmatch(uuid):
            continue
        try:
            known[uuid] = _read(uuid, storage.read(f"{uuid}.predicted", 0, _MOST_BYTES))
        except ObjectNotFoundError:
            continue  # nobody recommended it
        except (MetaIndexError, ValueError, LookupError, TypeError, ArithmeticError, RecursionError) as error:
            logger.warning("what was expected of index %s is left out: %s", uuid, first_line(error))
    return known


def _read(uuid: str, data: bytes) -> Prediction:
    said = json.loads(data)
    if not isinstance(said, dict) or said["format"] != _FORMAT:
        raise ValueError("it is of another format")
    share = ExpectedBounds(*(_number(said["left_out"][end], 1.0) for end in ("low", "expected", "high")))
    size = ExpectedBounds(*(_number(said["size_bytes"][end]) for end in ("low", "expected", "high")))
    helps = _number(said["helps"], 1.0)
    ends = said.get("helps_bounds") or dict.fromkeys(("low", "expected", "high"), helps)  # older ones have none
    bounds = ExpectedBounds(*(_number(ends[end], 1.0) for end in ("low", "expected", "high")))
    return Prediction(uuid, int(_number(said["made_ms"])), int(_number(said["queries"])), helps, share, size, bounds)


def _number(value: object, most: float = _MOST_NUMBER) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("a number is missing")
    if not 0 <= value <= most:
        raise ValueError("a number is out of bounds")
    return float(value)


def against(rows: pa.Table, predictions: Mapping[str, Prediction], sizes: Mapping[str, int]) -> list[PredictedAgainst]:
    """`rows`: of the query log; `predictions`, `sizes`: by index."""
    return [_against(rows, index, prediction, sizes.get(index)) for index, prediction in sorted(predictions.items())]


def _against(rows: pa.Table, index: str, prediction: Prediction, size: int | None) -> PredictedAgainst:
    at = pc.cast(rows.column("at"), pa.int64())
    since = rows.filter(pc.greater_equal(at, pa.scalar(prediction.made_ms * 1000, pa.int64())))
    names = since.column("indexes").combine_chunks()
    places = pc.filter(pc.list_parent_indices(names), pc.equal(pc.list_flatten(names), index))
    helped = since.take(pc.unique(places))
    left, read = (_sum(helped, name) for name in ("bytes_left_out", "bytes_read"))
    return PredictedAgainst(
        index,
        prediction,
        since.num_rows,
        helped.num_rows / since.num_rows if since.num_rows else None,
        left / (left + read) if left + read else None,
        size,
    )


def _sum(rows: pa.Table, name: str) -> float:
    return float(pc.sum(rows.column(name).cast(pa.float64())).as_py() or 0.0)


def table_of(several: Sequence[PredictedAgainst]) -> TextTable:
    """A row an index: expected, and what came."""
    titles = ("queries since", "helps", "came", "they leave out", "came", "size", "came")
    columns = (Column("recommended index"), *(Column(title, right=True) for title in titles))
    return TextTable(columns, tuple(map(_row, several)))


def _row(told: PredictedAgainst) -> tuple[str, ...]:
    expected = told.prediction
    return (
        told.index,
        f"{told.queries:,}",
        _shown(expected.helps_bounds),
        "-" if told.helped is None else percent(told.helped),
        _shown(expected.left_out),
        "-" if told.left_out is None else percent(told.left_out),
        human_bytes(round(expected.size_bytes.expected)),
        "-" if told.size_bytes is None else human_bytes(told.size_bytes),
    )


def _shown(share: ExpectedBounds) -> str:
    low, expected, high = (percent(end) for end in (share.low, share.expected, share.high))
    return expected if low == high else f"{expected} [{low} to {high}]"
