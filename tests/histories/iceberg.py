"""An Iceberg table to which pyiceberg does random things."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

import metaindex as mi
from tests.histories.driver import History
from tests.tables import catalog_in


class IcebergHistory(History):
    """Says what it appends (`rows`) and what it deletes (`condition`); `verbs` chooses of what is below."""

    def __init__(self, folder: Path | str, random: Random, schema: pa.Schema, **properties: str) -> None:
        super().__init__(random)
        self.path = f"{folder}/warehouse/db/lake"
        self.catalog = catalog_in(folder)
        self.table: Any = self.catalog.create_table("db.lake", schema, properties=properties)
        self.names = schema.names
        self.number = 0  # of files appended

    def rows(self) -> pa.Table:
        raise NotImplementedError

    def condition(self) -> str:
        """In pyiceberg's own words."""
        raise NotImplementedError

    @property
    def schema(self) -> pa.Schema:
        """Of now, as pyarrow has it without field ids."""
        from pyiceberg.io.pyarrow import schema_to_pyarrow

        found = schema_to_pyarrow(self.table.schema(), include_field_ids=False)
        return pa.schema([(f.name, pa.string() if pa.types.is_large_string(f.type) else f.type) for f in found])

    def open(self) -> mi.Table:
        return mi.open_table(self.path)

    def snapshots(self) -> list[int]:
        return [one.snapshot_id for one in self.table.snapshots()]

    def committing(self) -> AbstractContextManager[object]:
        """Around each commit."""
        return nullcontext()

    # What happens -----------------------------------------------------------------------------------------------------

    def append(self, **how: Any) -> None:
        self.number += 1
        with self.committing():
            self.table.append(self._whole(), **how)

    def branch(self) -> None:
        if "audit" not in self.table.refs():
            self.table.manage_snapshots().create_branch(self.table.current_snapshot().snapshot_id, "audit").commit()
        self.append(branch="audit")

    def delete(self) -> None:
        with self.committing():
            self.table.delete(self.condition())

    def overwrite(self) -> None:
        self.number += 1
        with self.committing():
            self.table.overwrite(self._whole(), overwrite_filter=self.condition())

    def compact(self) -> None:
        """All rows in one new file."""
        with self.committing():
            self.table.overwrite(self.table.scan().to_arrow())

    def roll_back(self) -> None:
        """To any version that was the table's."""
        past = self.random.choice([entry.snapshot_id for entry in self.table.history()])
        with self.committing():
            self.table.manage_snapshots().set_current_snapshot(past).commit()

    def add(self) -> None:
        from pyiceberg.types import LongType

        with self.table.update_schema() as update:
            update.add_column(f"extra{len(self.statements)}", LongType())

    def rename(self, *names: str) -> None:
        """One of these names, else of the columns that were added."""
        able = [*names] or [name for name in self.schema.names if name not in self.names]
        if able:
            name = self.random.choice(able)
            with self.table.update_schema() as update:
                update.rename_column(name, name[:-1] if name.endswith("_") else f"{name}_")

    def _whole(self) -> pa.Table:
        """With NULL in the columns that were added."""
        rows = self.rows()
        for field in self.schema:
            if field.name not in rows.column_names:
                rows = rows.append_column(field.name, pa.nulls(len(rows), field.type))
        return rows.select(self.schema.names)
