"""What every kind promises that keeps a row of each file: the row is that of the file's values, however it is built,
spilled and merged; a file that fails has none; and what is damaged is found.

A kind inherits `OfFilesContract` and says what the rows of a file come to, value by value."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.core import ArgumentError
from metaindex.expressions import Literal
from metaindex.index.kinds import registry
from metaindex.index.kinds.checks import Mismatch
from metaindex.index.kinds.keyed import Spill
from metaindex.index.kinds.of_files import OfFilesKind
from tests.index.contract.built_keys import (
    MANY,
    TINY,
    Built,
    File,
    folder,
    merged,
    merged_of_two,
    on_disk,
    plan_of,
    written,
    written_but_one,
)
from tests.index.contract.key_contract import inherited, kind_from_log, tables
from tests.strategies import TYPES


class OfFilesContract:
    """Promises of a kind."""

    @abstractmethod
    def kind(self, *columns: str) -> OfFilesKind:
        """Of these columns."""

    @abstractmethod
    def check_row(self, row: Mapping[str, object], values: Sequence[object], type_: pa.DataType) -> None:
        """Is a stored row that of a file with these values?"""

    @property
    def types(self) -> list[pa.DataType]:
        """Those that it takes."""
        return [t for t in TYPES if self.kind("c0").tells.takes(t)]

    def check_all(self, built: Built, files: Sequence[File], type_: pa.DataType) -> None:
        """A row for each file that is keyed, in order."""
        rows = [row for table in built.rows() for row in table.to_pylist()]
        assert [row["ordinal"] for row in rows] == [i for i in range(len(files)) if i not in built.unkeyed]
        for row in rows:
            self.check_row(row, [row_[0] for group in files[row["ordinal"]] for row_ in group], type_)

    @inherited
    @given(st.data())
    def test_a_row_is_that_of_its_file_however_it_is_built(self, data: st.DataObject) -> None:
        t = data.draw(st.sampled_from(self.types))
        files, kind = data.draw(tables([t])), self.kind("c0")
        with folder() as a, folder() as b, folder() as c:
            whole = written(a, kind, files, [t])
            self.check_all(whole, files, t)
            spilled = written(b, kind, files, [t], limit=TINY, pieces=data.draw(st.integers(0, 3)))
            limit = data.draw(st.sampled_from([TINY, MANY]))
            shared = written(c, kind, files, [t], limit=limit, shares=data.draw(st.integers(1, 3)))
            assert whole.key == spilled.key == shared.key
            assert whole.rows() == spilled.rows() == shared.rows()

    @inherited
    @given(st.data())
    def test_merged_runs_are_the_run_of_all_their_files(self, data: st.DataObject) -> None:
        t = data.draw(st.sampled_from(self.types))
        files, kind = data.draw(tables([t])), self.kind("c0")
        order = data.draw(st.permutations(range(len(files))))
        cut = data.draw(st.integers(0, len(files)))
        with pytest.MonkeyPatch.context() as patch, folder() as a, folder() as b:
            most = data.draw(st.sampled_from([1, 2, 1 << 18]))
            patch.setattr("metaindex.index.kinds.of_files._MOST_ROWS", most)
            both = merged_of_two(b, kind, files, [t], order, cut)
            assert both.rows() == written(a, kind, files, [t]).rows()

    def test_nothing_is_left_of_a_file_that_is_left_out_of_a_merge(self, tmp_path: Path) -> None:
        files: list[File] = [[[(10**6 + file,)] * 3] for file in range(3)]
        built = written(tmp_path / "a", self.kind("c0"), files, [pa.int64()])
        both = merged(tmp_path / "b", [(built, [0, -1, 1])], 2)
        self.check_all(both, [files[0], files[2]], pa.int64())

    def test_a_file_that_fails_is_unkeyed_and_forgotten(self, tmp_path: Path) -> None:
        files: list[File] = [[[(file * 100 + row,) for row in range(40)]] for file in range(4)]
        for limit in (TINY, MANY):
            built = written_but_one(tmp_path, self.kind("c0"), files, limit, pa.array([1, 2, 3]))
            assert built.unkeyed == [2]
            self.check_all(built, files, pa.int64())

    def test_it_finds_no_value_and_leaves_no_file_out(self, tmp_path: Path) -> None:
        built = written(tmp_path, self.kind("c0"), [[[(1,)]]], [pa.int64()])
        reader = built.reader([pa.int64()])
        assert reader.among([(Literal(7),)]) is None
        assert reader.null() is None

    def test_no_files_and_files_without_rows(self, tmp_path: Path) -> None:
        for name, files in {"none": [], "empty": [[], [[]]], "null": [[[(None,), (None,)]]]}.items():
            self.check_all(written(tmp_path / name, self.kind("c0"), files, [pa.int64()]), files, pa.int64())

    def test_rows_that_do_not_fit_are_found(self, tmp_path: Path) -> None:
        files: list[File] = [[[(file,), (None,)]] for file in range(3)]
        built = written(tmp_path / "a", self.kind("c0"), files, [pa.int64()])
        records = pa.chunked_array([pa.array([2, 2, 2])])
        kind, none = type(self.kind("c0")), np.zeros(3, np.bool_)
        kind.check(built.run_reader(), built.key, none, records)
        said_unkeyed = none.copy()
        said_unkeyed[1] = True
        with pytest.raises(Mismatch, match="has a row for each file"):
            kind.check(built.run_reader(), built.key, said_unkeyed, records)
        short = on_disk(built.storage, "run", built.key, built.parts, [], 2)
        with pytest.raises(Mismatch, match="files that the run does not have"):
            kind.check(short.run_reader(), built.key, none[:2], records)

    def test_rows_that_are_not_those_of_the_files_are_found(self, tmp_path: Path) -> None:
        files: list[File] = [[[(file,), (file + 7,)]] for file in range(3)]
        built = written(tmp_path, self.kind("c0"), files, [pa.int64()])
        plan = plan_of(self.kind("c0"), [pa.int64()])
        check = type(self.kind("c0")).compared(
            built.run_reader(), built.key, plan, np.arange(3), Spill(built.storage, "spill")
        )
        for ordinal, values in enumerate(([0, 7], [1, 9], [2, 9])):
            check.begin(ordinal, 1)
            check.add(0, [pa.array(values)])
            check.end()
        assert [ordinal for ordinal, _ in check.wrong([0, 1, 2])] == [1]

    def test_its_form_in_the_log_says_all_of_it(self) -> None:
        asked = [self.kind("c0"), self.kind("c0", "c1")]
        assert asked[0] != asked[1]
        for kind in asked:
            assert kind_from_log(kind) == kind
            assert registry.KINDS.named(kind.name) is type(kind)
        with pytest.raises(ArgumentError, match="of one column each"):
            type(asked[0])(("c0", "c1"))  # type: ignore[call-arg]
