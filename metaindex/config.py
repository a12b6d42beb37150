"""Every knob, with its unit and default. One frozen value; pass it to `open_table`."""

from __future__ import annotations

from typing import Literal

from expressions.records import dataclass

BuilderName = Literal["spark", "local", "default"]


@dataclass(frozen=True, slots=True)
class Config:
    """How metaindex works for one table.

    * `index_location`: folder (path or URI) that holds the indexes; None: beside the table, see `store.layout`.
    * `namespace`: a name of its own for a set of indexes, of a team say: they lie beside the others, and only who names the namespace sees them. None: the common one.
    * `builder`: "spark" (the PySpark pipeline), "local" (in this process, no JVM), or "default": spark where pyspark is installed, else local.
    * `cache_bytes`: decoded index columns kept in memory by an opened table, and a quarter as much for footers of data files.
    * `settle_seconds`: how old a plain file must be before its identity is believed (a file system's clock ticks coarsely); create and refresh wait for it once.
    * `time_zone`: of dates and times without a zone in predicates over columns of instants.
    * `use_indexes`: False answers every query from the table alone.
    * `single_writer`: no other process ever writes these indexes. Allows stores of which it is not known whether put-if-absent has one winner (`docs/storage.md`).
    """

    index_location: str | None = None
    namespace: str | None = None
    builder: BuilderName = "default"
    cache_bytes: int = 128 << 20
    settle_seconds: float = 2.0
    time_zone: str = "UTC"
    use_indexes: bool = True
    single_writer: bool = False
