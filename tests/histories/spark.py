"""Random histories of Delta and Iceberg tables, written by Spark itself: every verb that its SQL has, in random order,
on random columns.

A history is its seed: the same seed writes the same statements. A statement that Spark refuses (a column of a partition
cannot be dropped, say) is noted and the history goes on.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import metaindex as mi
from tests.histories.driver import History
from tests.histories.vocabulary import DELTA_WIDER, ICEBERG_WIDER, LENGTHS, LITERALS, ODD_NAMES, PLAIN_NAMES, VALUES


@dataclass
class SparkHistory(History):
    """One table and what was done to it; `columns` are those of now, by name."""

    verbs = (
        "append append append append delete delete delete update update update merge merge add add rename rename drop"
        " drop widen widen overwrite rewrite go_back aside default other"
    )

    spark: SparkSession
    seed: int
    format: str
    place: Path  # where a table of Delta is; its name is unlike that of others
    statements: list[str] = field(default_factory=list)
    columns: dict[str, str] = field(default_factory=dict)
    partition: str | None = None
    rows: int = 0

    def __post_init__(self) -> None:
        self.random = Random(f"{self.format} {self.seed}")
        self.names = list(PLAIN_NAMES)
        self.name = f"iceberg.histories.{self.place.name}" if self.iceberg else f"delta.`{self.place}/t`"
        """As SQL takes it."""
        self.create()
        self.root = str(self.place / "t")
        if self.iceberg:
            told = self.spark.sql(f"DESCRIBE TABLE EXTENDED {self.name}").where("col_name = 'Location'").collect()[0]
            self.root = str(told.data_type).removeprefix("file:")

    def open(self, **how: Any) -> mi.Table:
        return mi.open_table(self.root, format=self.format, **how)

    def at(self, version: str | None) -> DataFrame:
        """All rows, as Spark reads them."""
        return self.spark.sql(f"SELECT * FROM {self.name}" + (f" VERSION AS OF {version}" if version else ""))

    def happen(self, verb: str) -> None:
        """One statement of a random kind; the first ones only append."""
        getattr(self, verb if self.rows else "append")()

    @property
    def iceberg(self) -> bool:
        return self.format == "iceberg"

    def sql(self, text: str) -> bool:
        """Whether Spark did it."""
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        try:
            self.spark.sql(text)
        except (PySparkException, Py4JJavaError) as error:
            self.statements.append(f"-- refused: {text}  ({' '.join(str(error).split())[:250]})")
            return False
        self.statements.append(text)
        return True

    # Statements -----------------------------------------------------------------------------------------------------

    def create(self) -> None:
        r = self.random
        for _ in range(r.randint(3, 6)):
            self._new_column(r.choice(self.types()))
        options, partitioned = self._iceberg_options() if self.iceberg else self._delta_options()
        columns = ", ".join(f"{q(n)} {t}" for n, t in {"id": "BIGINT", **self.columns}.items())
        text = ", ".join(f"'{k}'='{v}'" for k, v in options.items())
        assert self.sql(
            f"CREATE TABLE {self.name} ({columns}) USING {self.format} {partitioned} TBLPROPERTIES ({text})"
        ), self.statements[-1]

    def _delta_options(self) -> tuple[dict[str, str], str]:
        r = self.random
        mapping = r.choice(["none", "name", "name", "id"])
        if mapping != "none":
            self.names = list(ODD_NAMES)
        scalar = [
            n for n, t in self.columns.items() if t in ("INT", "STRING", "DATE", "BOOLEAN", "TIMESTAMP", "DECIMAL(6,2)")
        ]
        if scalar and r.random() < 0.4:
            self.partition = r.choice(scalar)
        options = {
            "delta.columnMapping.mode": mapping,
            "delta.minReaderVersion": "3",
            "delta.minWriterVersion": "7",
            "delta.enableDeletionVectors": str(r.random() < 0.8).lower(),
            "delta.enableTypeWidening": "true",
            "delta.feature.allowColumnDefaults": "supported",
            "delta.feature.timestampNtz": "supported",
            "delta.checkpointInterval": str(r.choice([3, 5, 100])),
            "delta.checkpoint.writeStatsAsStruct": str(r.random() < 0.5).lower(),
            "delta.enableRowTracking": str(r.random() < 0.3).lower(),
            "delta.dataSkippingNumIndexedCols": str(r.choice([-1, 2, 32])),
        }
        return options, f"PARTITIONED BY ({q(self.partition)})" if self.partition else ""

    def _iceberg_options(self) -> tuple[dict[str, str], str]:
        r = self.random
        self.names = list(ODD_NAMES)
        version = r.choice([1, 2, 2, 3, 3])
        mode = r.choice(["merge-on-read", "merge-on-read", "copy-on-write"]) if version > 1 else "copy-on-write"
        options = {
            "format-version": str(version),
            "write.spark.fanout.enabled": "true",
            "write.distribution-mode": "none",
            "write.delete.granularity": r.choice(["file", "partition"]),
            **{f"write.{verb}.mode": mode for verb in ("delete", "update", "merge")},
        }
        transforms = self.transforms()
        self.partition = None
        return options, f"PARTITIONED BY ({r.choice(transforms)})" if transforms and r.random() < 0.6 else ""

    def transforms(self) -> list[str]:
        """By which an Iceberg table may be partitioned."""
        found = ["bucket(3, `id`)", "truncate(7, `id`)"]
        for name, t in self.columns.items():
            if t in ("INT", "STRING", "DATE", "BOOLEAN", "TIMESTAMP", "DECIMAL(6,2)", "BINARY"):
                found.append(q(name))
            if t in ("INT", "STRING", "DECIMAL(6,2)"):
                found += [f"bucket(4, {q(name)})", f"truncate(2, {q(name)})"]
            if t in ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ"):
                found += [f"years({q(name)})", f"months({q(name)})", f"days({q(name)})"]
        return found

    def _new_column(self, type_: str) -> str | None:
        free = [n for n in self.names if n.lower() not in {c.lower() for c in self.columns}]
        if not free:
            return None
        name = self.random.choice(free)
        self.columns[name] = type_
        return name

    def types(self) -> list[str]:
        """Of columns that are made."""
        return [t for t in VALUES if t not in LENGTHS and not (self.iceberg and t in ("TINYINT", "SMALLINT"))]

    def values(self, type_: str) -> str:
        """A value that depends on `id`, NULL now and then."""
        salt = self.random.randrange(10**6)
        value = re.sub(r"\bh\b", f"hash(id, {salt})", VALUES[type_])
        return f"IF(pmod(hash(id, {salt + 1}), 6) = 0, NULL, {value})"

    def select(self, first: int, count: int, columns: dict[str, str]) -> str:
        values = "".join(f", {self.values(t)} AS {q(n)}" for n, t in columns.items())
        return f"SELECT id{values} FROM range({first}, {first + count}, 1, {self.random.choice([1, 1, 2])})"

    def append(self) -> None:
        count = self.random.randint(1, 25)
        columns = dict(self.columns)
        if self.random.random() < 0.3:
            columns = {n: t for n, t in columns.items() if self.random.random() < 0.6}
        names = ", ".join(q(n) for n in ["id", *columns])
        if self.sql(f"INSERT INTO {self.name} ({names}) {self.select(self.rows, count, columns)}"):
            self.rows += count

    def delete(self) -> None:
        self.sql(f"DELETE FROM {self.name} WHERE {self.predicate()}")

    def update(self) -> None:
        changed = self.random.sample(list(self.columns), min(2, len(self.columns)))
        sets = ", ".join(f"{q(n)} = {self.values(self.columns[n])}" for n in changed)
        self.sql(f"UPDATE {self.name} SET {sets} WHERE {self.predicate()}")

    def merge(self) -> None:
        first = max(0, self.rows - self.random.randint(0, 15))
        name = self.random.choice(list(self.columns)) if self.columns else "id"
        matched = self.random.choice([f"UPDATE SET {q(name)} = s.{q(name)}", "DELETE", "UPDATE SET *"])
        source = self.select(first, 20, self.columns)
        if self.sql(
            f"MERGE INTO {self.name} t USING ({source}) s ON t.id = s.id WHEN MATCHED AND pmod(t.id, 3) <> 1 THEN"
            f" {matched} WHEN NOT MATCHED THEN INSERT *"
        ):
            self.rows = max(self.rows, first + 20)

    def add(self) -> None:
        structs = [n for n, t in self.columns.items() if t.startswith("STRUCT")]
        if structs and self.random.random() < 0.4:
            self.sql(f"ALTER TABLE {self.name} ADD COLUMN {q(structs[0])}.z{len(self.statements)} BIGINT")
            return
        type_ = self.random.choice(self.types())
        name = self._new_column(type_)
        where = self.random.choice(["", "", " FIRST", " AFTER `id`"])
        initial = (
            " DEFAULT 7" if type_ in ("INT", "BIGINT", "DOUBLE") and self.iceberg and self.random.random() < 0.7 else ""
        )
        if name and not self.sql(f"ALTER TABLE {self.name} ADD COLUMN {q(name)} {type_}{initial}{where}"):
            del self.columns[name]

    def rename(self) -> None:
        if not self.columns:
            return
        old = self.random.choice(list(self.columns))
        new = self._new_column(self.columns[old])
        if not new:
            return
        if self.sql(f"ALTER TABLE {self.name} RENAME COLUMN {q(old)} TO {q(new)}"):
            del self.columns[old]
            self.partition = new if self.partition == old else self.partition
        else:
            del self.columns[new]

    def drop(self) -> None:
        """And often added again under the same name: another column."""
        if len(self.columns) < 2:
            return
        name = self.random.choice(list(self.columns))
        if self.sql(f"ALTER TABLE {self.name} DROP COLUMN {q(name)}"):
            again = self.random.choice([None, self.columns.pop(name), "STRING", "INT"])
            if again and self.sql(f"ALTER TABLE {self.name} ADD COLUMN {q(name)} {again}"):
                self.columns[name] = again

    def widen(self) -> None:
        wider = ICEBERG_WIDER if self.iceberg else DELTA_WIDER
        able = [n for n, t in self.columns.items() if t in wider]
        if not able:
            self.append()
            return
        name = self.random.choice(able)
        to = self.random.choice(wider[self.columns[name]])
        if self.sql(f"ALTER TABLE {self.name} ALTER COLUMN {q(name)} TYPE {to}"):
            self.columns[name] = to

    def overwrite(self) -> None:
        count = self.random.randint(1, 20)
        names = ", ".join(q(n) for n in ["id", *self.columns])
        if self.sql(f"INSERT OVERWRITE {self.name} ({names}) {self.select(self.rows, count, self.columns)}"):
            self.rows += count

    def default(self) -> None:
        able = [n for n, t in self.columns.items() if t in ("INT", "BIGINT")]
        if able:
            self.sql(f"ALTER TABLE {self.name} ALTER COLUMN {q(self.random.choice(able))} SET DEFAULT 9")

    def rewrite(self) -> None:
        if self.iceberg:
            plain = self.name.removeprefix("iceberg.")
            verb = self.random.choice(
                [
                    "rewrite_data_files(table => '{t}', options => map('min-input-files', '2'))",
                    "rewrite_manifests('{t}')",
                    "rewrite_position_delete_files(table => '{t}', options => map('rewrite-all', 'true'))",
                ]
            )
            self.sql(f"CALL iceberg.system.{verb.format(t=plain)}")
        else:
            self.sql(
                self.random.choice(
                    [
                        f"OPTIMIZE {self.name}",
                        f"REORG TABLE {self.name} APPLY (PURGE)",
                        f"OPTIMIZE {self.name} ZORDER BY (id)",
                    ]
                )
            )

    def go_back(self) -> None:
        if not self.iceberg:
            last = self.spark.sql(f"DESCRIBE HISTORY {self.name} LIMIT 1").collect()[0].version
            if self.sql(f"RESTORE TABLE {self.name} TO VERSION AS OF {self.random.randint(max(0, last - 4), last)}"):
                self._look()
            return
        ids = [
            r.snapshot_id
            for r in self.spark.sql(f"SELECT snapshot_id FROM {self.name}.history WHERE is_current_ancestor").collect()
        ]
        self.sql(
            f"CALL iceberg.system.rollback_to_snapshot('{self.name.removeprefix('iceberg.')}',"
            f" {self.random.choice(ids[-4:])})"
        )

    def aside(self) -> None:
        """Iceberg: a branch is written, and sometimes becomes the table. Delta: the rows of a condition are
        replaced."""
        if not self.iceberg:
            names = [n for n in self.spark.table(self.name).columns if n != "id"]
            if set(names) == set(self.columns):
                select = self.select(self.rows, 10, {n: self.columns[n] for n in names})
                ordered = ", ".join(q(n) for n in self.spark.table(self.name).columns)
                if self.sql(
                    f"INSERT INTO {self.name} REPLACE WHERE id >= {max(0, self.rows - 8)} SELECT {ordered} FROM"
                    f" ({select})"
                ):
                    self.rows += 10
            return
        branch, plain = f"b{len(self.statements)}", self.name.removeprefix("iceberg.")
        if self.sql(f"ALTER TABLE {self.name} CREATE BRANCH {branch}"):
            names = ", ".join(q(n) for n in ["id", *self.columns])
            self.sql(f"INSERT INTO {self.name}.branch_{branch} ({names}) {self.select(self.rows, 7, self.columns)}")
            self.sql(f"DELETE FROM {self.name}.branch_{branch} WHERE {self.predicate()}")
            if self.random.random() < 0.5:
                self.sql(f"CALL iceberg.system.fast_forward('{plain}', 'main', '{branch}')")

    def other(self) -> None:
        if not self.iceberg:
            self.sql(
                f"ALTER TABLE {self.name} SET TBLPROPERTIES"
                f" ('delta.enableDeletionVectors'='{self.random.choice(['true', 'false'])}')"
            )
        elif self.random.random() < 0.5:
            self.sql(f"ALTER TABLE {self.name} SET TBLPROPERTIES ('format-version'='{self.random.choice([2, 3])}')")
        else:
            verb = self.random.choice(["ADD", "ADD", "DROP"])
            self.sql(f"ALTER TABLE {self.name} {verb} PARTITION FIELD {self.random.choice(self.transforms())}")

    def _look(self) -> None:
        """The columns as Spark sees them now: an older schema may be back."""
        self.columns = columns_of(self.spark.table(self.name))

    # Questions ------------------------------------------------------------------------------------------------------

    def predicate(self, columns: dict[str, str] | None = None) -> str:
        """Conditions on columns of now, or on those given, that hit some rows and miss some."""
        leaves = [
            self._leaf({"id": "BIGINT", **(self.columns if columns is None else columns)})
            for _ in range(self.random.choice([1, 1, 2, 3]))
        ]
        text = leaves[0]
        for leaf in leaves[1:]:
            text = f"({text} {self.random.choice(['AND', 'OR'])} {leaf})"
        return f"NOT ({text})" if self.random.random() < 0.15 else text

    def _leaf(self, columns: dict[str, str]) -> str:
        r = self.random
        name = r.choice(list(columns))
        column, type_ = q(name), columns[name].split("(")[0]
        if name == "id":
            return f"id {r.choice(['<', '>=', '='])} {r.randint(0, max(1, self.rows))}"
        if type_.startswith("STRUCT"):
            column, type_ = f"{column}.x", "INT"
        if type_ in ("TINYINT", "SMALLINT"):
            type_ = "INT"
        if type_ == "BOOLEAN":
            return r.choice([column, f"NOT {column}", f"{column} IS NULL"])
        if type_ not in LITERALS:
            return f"{column} IS {r.choice(['', 'NOT '])}NULL"
        one, two = r.choice(LITERALS[type_]), r.choice(LITERALS[type_])
        forms = [f"{column} {op} {one}" for op in ("=", "<>", "<", "<=", ">", ">=", "<=>")]
        forms += [
            f"{column} IN ({one}, {two})",
            f"{column} NOT IN ({one}, {two})",
            f"{column} BETWEEN {one} AND {two}",
            f"{column} IS NULL",
            f"{column} IS NOT NULL",
        ]
        if type_ == "STRING":
            forms += [f"{column} LIKE 'a%'", f"{column} NOT LIKE 'k%'"]
        return r.choice(forms)


def columns_of(frame: DataFrame) -> dict[str, str]:
    """Those of types that histories make, but `id`."""
    by_text = {t.replace(" ", "").upper(): t for t in VALUES}
    types = {f.name: f.dataType.simpleString().replace(" ", "").upper() for f in frame.schema}
    return {n: by_text[t] for n, t in types.items() if t in by_text and n != "id"}


def q(name: str | None) -> str:
    return "`" + name.replace("`", "``") + "`"
