"""What every table format promises. A format's test class inherits the suite and gives the fixture `made`: a table
with a history.

The fixture makes a table of at least one file, and its `change` appends to it (a commit of at least one new file).
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest

from metaindex.core import FormatError, VersionNotFoundError
from metaindex.formats import At, Diff, FileTable, Format, Snapshot, TableRef
from metaindex.storage import storage_for


@dataclass(frozen=True)
class MadeTable:
    """A table, the format that reads it, what commits to it, and how many rows it has now (physical ones, where no
    deletes are attached)."""

    format: Format
    ref: TableRef
    change: Callable[[], None]
    rows: int


class FormatContract:
    """Inherit, and define the fixture `made`."""

    def now(self, made: MadeTable) -> Snapshot:
        return made.format.snapshot(made.ref, At())

    def test_it_is_detected(self, made: MadeTable) -> None:
        assert made.format.detect(made.ref)

    def test_it_is_not_detected_elsewhere(self, made: MadeTable, tmp_path: Path) -> None:
        (tmp_path / "empty").mkdir()
        for name in ("empty", "missing"):
            storage, root = storage_for(tmp_path / name)
            assert not made.format.detect(TableRef(storage, root))

    def test_a_path_without_a_table_is_an_error(self, made: MadeTable, tmp_path: Path) -> None:
        storage, root = storage_for(tmp_path / "missing")
        with pytest.raises(FormatError):
            made.format.snapshot(TableRef(storage, root), At())

    def test_files_have_the_columns_of_the_model(self, made: MadeTable) -> None:
        snapshot = self.now(made)
        table = snapshot.files.table
        assert table.schema.names[: len(FileTable.SCHEMA)] == FileTable.SCHEMA.names
        for field in FileTable.SCHEMA:
            assert table.schema.field(field.name).type == field.type
            if not field.nullable:
                assert table.column(field.name).null_count == 0
        assert len(set(table.column("path").to_pylist())) == table.num_rows > 0
        assert snapshot.format == made.format.name

    def test_every_file_is_there_with_its_size(self, made: MadeTable) -> None:
        snapshot = self.now(made)
        for entry in snapshot.files.entries():
            uri = snapshot.uri(entry.path)
            assert made.ref.storage.head(uri).size_bytes == entry.size_bytes
            assert not entry.path.startswith("./")

    def test_two_snapshots_of_one_version_are_equal(self, made: MadeTable) -> None:
        one, two = self.now(made), self.now(made)
        assert one.version == two.version
        assert one.schema == two.schema
        columns = FileTable.SCHEMA.names
        assert one.files.table.select(columns).equals(two.files.table.select(columns))

    def test_resolve_says_the_version_of_the_snapshot(self, made: MadeTable) -> None:
        version = made.format.resolve(made.ref, At())
        assert version == self.now(made).version
        assert made.format.resolve(made.ref, At(version=version.id)) == version

    def test_the_present_version_is_among_the_versions_and_last(self, made: MadeTable) -> None:
        made.change()
        assert made.format.versions(made.ref)[-1] == self.now(made).version

    def test_a_change_makes_another_version_and_a_diff_of_what_came(self, made: MadeTable) -> None:
        base = self.now(made)
        made.change()
        target = self.now(made)
        assert base.version != target.version
        diff = Diff.between(base, target)
        assert len(diff.appended) > 0
        assert (diff.base, diff.target) == (base.version, target.version)
        back = Diff.between(target, base)
        assert back.appended.table.equals(diff.deleted.table)
        assert back.deleted.table.equals(diff.appended.table)

    def test_the_formats_own_diff_agrees_with_the_comparison(self, made: MadeTable) -> None:
        base = self.now(made)
        made.change()
        target = self.now(made)
        own = made.format.diff(made.ref, base, At())
        if own is None:
            return
        compared = Diff.between(base, target)
        for name in ("appended", "deleted", "deletes_changed"):
            assert sorted(getattr(own, name).paths.to_pylist()) == sorted(getattr(compared, name).paths.to_pylist())
        assert own.schema_changed == compared.schema_changed

    def test_a_version_that_never_was_is_not_found(self, made: MadeTable) -> None:
        for at in (At(version="987654321"), At(timestamp_ms=1)):
            with pytest.raises(VersionNotFoundError):
                made.format.snapshot(made.ref, at)

    def test_bounds_have_one_row_for_each_file(self, made: MadeTable) -> None:
        snapshot = self.now(made)
        for leaf in snapshot.schema.leaves():
            for bounds in (snapshot.details.log_bounds(leaf), snapshot.details.partition_bounds(leaf)):
                said = () if bounds is None else (bounds.lower, bounds.upper, bounds.null_count, bounds.nan_count)
                assert all(values is None or len(values) == len(snapshot.files) for values in said)

    def test_partition_columns_are_columns(self, made: MadeTable) -> None:
        snapshot = self.now(made)
        assert set(snapshot.partition_columns) <= set(snapshot.schema.names)
        assert isinstance(snapshot.schema.arrow(), pa.Schema)

    def test_read_options_name_the_file_format(self, made: MadeTable) -> None:
        assert self.now(made).details.read_options()["file_format"] in ("parquet", "csv", "json")

    def test_counts_of_rows_are_those_of_the_bytes(self, made: MadeTable) -> None:
        snapshot = self.now(made)
        counts = snapshot.files.table.column("record_count").to_pylist()
        if None not in counts:
            assert sum(counts) == made.rows
