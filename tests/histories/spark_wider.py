"""Random histories with more of Spark's SQL: texts of a length, versions that are vacuumed or expired, clones, tables
replaced by what they hold, partition fields that others take the place of."""

from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from tests.histories.spark import SparkHistory, q
from tests.histories.vocabulary import LENGTHS


@dataclass
class WiderHistory(SparkHistory):
    """See `SparkHistory`. `fields`: what the table was partitioned by at some time."""

    fields: list[str] = field(default_factory=list)

    def types(self) -> list[str]:
        return [*super().types(), *LENGTHS, *LENGTHS]

    def __post_init__(self) -> None:
        super().__post_init__()
        own = "refield refield refield refield set_current" if self.iceberg else "clone clone clone lengthen"
        self.verbs = f"{self.verbs} replace replace forget forget order {own}"

    def replace(self) -> None:
        """By what it holds; the statement is a new table's, and its columns are of other ids."""
        self.sql(f"CREATE OR REPLACE TABLE {self.name} USING {self.format} AS SELECT * FROM {self.name}")
        self._look()

    def forget(self) -> None:
        """Files that no version of now has are gone, and older versions with them."""
        if self.iceberg:
            plain = self.name.removeprefix("iceberg.")
            self.sql(
                f"CALL iceberg.system.expire_snapshots(table => '{plain}', older_than => TIMESTAMP'2999-01-01"
                f" 00:00:00', retain_last => {self.random.randint(1, 3)})"
            )
            return
        self.sql("SET spark.databricks.delta.retentionDurationCheck.enabled = false")
        self.sql(f"VACUUM {self.name} RETAIN 0 HOURS")

    def order(self) -> None:
        by = self.random.choice(["id", *map(q, self.columns)])
        self.sql(f"ALTER TABLE {self.name} {'WRITE ORDERED' if self.iceberg else 'CLUSTER'} BY ({by})")

    def clone(self) -> None:
        """Another table of the same files, which then is the table, with a log of its own: files lie elsewhere."""
        other = f"{self.name[:-1]}_{len(self.statements)}`"
        if self.sql(f"CREATE TABLE {other} SHALLOW CLONE {self.name}"):
            self.sql(f"INSERT INTO {other} (id) SELECT id FROM range({self.rows}, {self.rows + 3})")
            self.sql(f"DELETE FROM {other} WHERE {self.predicate()}")
            if self.sql(f"CREATE OR REPLACE TABLE {self.name} SHALLOW CLONE {other}"):
                self.rows += 3

    def lengthen(self) -> None:
        able = [name for name, type_ in self.columns.items() if type_ in LENGTHS]
        if able:
            self.sql(f"ALTER TABLE {self.name} ALTER COLUMN {q(self.random.choice(able))} TYPE VARCHAR(50)")

    def refield(self) -> None:
        if self.fields and self.random.random() < 0.7:
            old, new = self.random.choice(self.fields), self.random.choice(self.transforms())
            if self.sql(f"ALTER TABLE {self.name} REPLACE PARTITION FIELD {old} WITH {new}"):
                self.fields.append(new)
            return
        new = self.random.choice(self.transforms())
        if self.sql(f"ALTER TABLE {self.name} ADD PARTITION FIELD {new}"):
            self.fields.append(new)

    def set_current(self) -> None:
        ids = [row.snapshot_id for row in self.spark.sql(f"SELECT snapshot_id FROM {self.name}.snapshots").collect()]
        plain = self.name.removeprefix("iceberg.")
        self.sql(f"CALL iceberg.system.set_current_snapshot('{plain}', {self.random.choice(ids[-4:])})")


def without_filling(table: pa.Table, frame: DataFrame) -> pa.Table:
    """Texts of CHAR(n) without the blanks behind them: Spark alone fills them up as it reads. `frame`: its columns say
    which they are."""
    for each in frame.schema.fields:
        said = str((each.metadata or {}).get("__CHAR_VARCHAR_TYPE_STRING", ""))
        if said.startswith("char") and each.name in table.column_names:
            at = table.column_names.index(each.name)
            table = table.set_column(at, each.name, pc.utf8_rtrim(table.column(at), " "))
    return table
