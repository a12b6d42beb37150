"""A kind that knows nothing of `=`: of a column it keeps how many NULLs each file has, and answers in which there are
some."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pytest

from metaindex.expressions import Literal
from metaindex.index.kinds import registry
from metaindex.index.kinds.keyed import EqualityReader, Hits
from metaindex.index.kinds.kind import Kind, LayoutRule
from metaindex.index.kinds.of_files import OfFilesKind, one_column_each
from metaindex.index.kinds.stored_rows import stored_rows
from metaindex.index.log.entry import CoveredKey
from metaindex.index.store.reader import RunReader


class AnyType:
    @staticmethod
    def takes(type_: pa.DataType) -> bool:
        return True


@dataclass(frozen=True, init=False)
class NullFiles(OfFilesKind):
    """The files in which a column is NULL somewhere."""

    keys: tuple[tuple[str, ...], ...]
    name = "null_files"
    layout = LayoutRule()
    schema = pa.schema([("key_id", pa.int64()), ("ordinal", pa.int32()), ("nulls", pa.int64())])
    tells = AnyType
    finds_values = True
    row_bytes = 30

    def __init__(self, *columns: str | Sequence[str]) -> None:
        object.__setattr__(self, "keys", one_column_each("NullFiles", columns))

    def of_file(self, type_: pa.DataType) -> "Counted":
        return Counted()

    @classmethod
    def made_by(cls, key: CoveredKey) -> Self:
        return cls(*(column.name for column in key.columns))

    @classmethod
    def wrong_row(cls, row: Mapping[str, Any]) -> str | None:
        return "counts fewer NULLs than none" if row["nulls"] < 0 else None

    @classmethod
    def reader(cls, run: RunReader, key: CoveredKey, types: Sequence[pa.DataType]) -> "Reader":
        return Reader(run, key)


class Counted:
    """See `of_files.OfFile`."""

    def __init__(self) -> None:
        self._nulls = 0

    def add(self, values: pa.Array) -> None:
        self._nulls += values.null_count

    def row(self) -> Mapping[str, object]:
        return {"nulls": self._nulls}


class Reader(EqualityReader):
    """See `keyed.KeyReader`."""

    def __init__(self, run: RunReader, key: CoveredKey) -> None:
        self._run, self._key = run, key

    def among(self, values: Sequence[Sequence[Literal]]) -> Hits | None:
        return None

    def null(self) -> Hits | None:
        rows = [row for table in stored_rows(self._run, self._key) for row in table.to_pylist()]
        return Hits(units=np.array([row["ordinal"] for row in rows if row["nulls"]], np.int64))


def installed(kind: type[Kind], place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an installation leaves of a package whose module is there already: its entry point."""
    info = place / f"{kind.name}-0.0.1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {kind.name}\nVersion: 0.0.1\n")
    (info / "entry_points.txt").write_text(f"[{registry.GROUP}]\n{kind.name} = {kind.__module__}:{kind.__qualname__}\n")
    monkeypatch.syspath_prepend(str(place))
