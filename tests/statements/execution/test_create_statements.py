"""CREATE INDEX without Spark: what is there already, of which version, and kinds of other packages."""

from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest

import metaindex as mi
from metaindex.core import IndexExistsError
from tests.index.kinds.null_files import NullFiles, installed
from tests.statements.execution.stated import filled, named, told
from tests.statements.execution.stated import plain as plain  # the fixture


def test_a_kind_of_another_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(NullFiles, tmp_path / "packages", monkeypatch)
    lake = filled(tmp_path, "delta")
    (made,) = told(f"CREATE INDEX a ON {named(lake)} USING null_files (user)")
    assert made["kinds"] == ["null_files"]


def test_if_not_exists_takes_the_same_kinds_only(plain: Path) -> None:
    table = mi.open_table(plain)
    kinds = (mi.Values("id"), mi.ColumnStats("id", "N"))
    assert table.create_index("a", *kinds, builder="local", if_not_exists=True).changed
    assert not table.create_index("a", *reversed(kinds), builder="local", if_not_exists=True).changed
    assert not table.create_index(  # names as the table has them
        "a", mi.ColumnStats("ID", "n"), mi.Values("Id"), builder="local", if_not_exists=True
    ).changed
    for others in (
        kinds[:1],
        (*kinds, mi.Bloom("id")),
        (mi.Values("id", by="value"), kinds[1]),
        (mi.Values("N"), kinds[1]),
        (kinds[0], mi.ColumnStats("id", "N", scan_floats=False)),
    ):
        with pytest.raises(IndexExistsError, match="is asked"):
            table.create_index("a", *others, builder="local", if_not_exists=True)
    with pytest.raises(IndexExistsError, match="is ACTIVE"):
        table.create_index("a", *kinds, builder="local")
    table.drop_index("a")
    with pytest.raises(IndexExistsError, match="is DELETED"):
        table.create_index("a", *kinds, builder="local", if_not_exists=True)


def test_if_not_exists_takes_an_index_whose_name_differs_in_capital_letters(plain: Path) -> None:
    mi.open_table(plain).create_index("find", mi.Values("id"), builder="local")
    quoted = str(plain).replace("'", "''")
    create = f"CREATE INDEX IF NOT EXISTS FIND ON '{quoted}' USING values"
    (there,) = told(f"{create} (id)")
    assert (there["index"], there["changed"]) == ("find", False)
    with pytest.raises(IndexExistsError, match="'find' has"):
        told(f"{create} (N)")
    with pytest.raises(IndexExistsError, match="capital letters"):
        mi.open_table(plain).create_index("FIND", mi.Values("id"), builder="local")
    mi.open_table(plain).drop_index("find")
    with pytest.raises(IndexExistsError, match="capital letters"):
        told(f"{create} (id)")


def test_a_renamed_column_is_the_same_one(tmp_path: Path) -> None:
    lake = filled(tmp_path, "iceberg")
    lake.open().create_index("a", mi.Values("user"), builder="local")
    with lake._iceberg().update_schema() as change:
        change.rename_column("user", "who")
    table = lake.open()
    assert not table.create_index("a", mi.Values("who"), builder="local", if_not_exists=True).changed
    with pytest.raises(IndexExistsError):
        table.create_index("a", mi.Values("n"), builder="local", if_not_exists=True)
    iceberg = lake._iceberg()
    iceberg.append(iceberg.scan().to_arrow())
    assert lake.open().refresh_index("a", builder="local").changed
    info = lake.open().indexes()["a"]
    assert (info.columns, info.keys, info.columns_said) == (("who",), ("values(who)",), "who")


def test_another_writer_may_make_it_meanwhile(plain: Path) -> None:
    """Both begin; whoever comes second finds it made."""
    table, other = mi.open_table(plain), mi.open_table(plain)

    class Late:
        """Tells progress: the other writer is done while this one still builds."""

        done = False

        def __call__(self, *_: object) -> None:
            if not self.done:
                self.done = True
                other.create_index("a", mi.Values("id"), builder="local")

    from metaindex.index.build.local import LocalBuilder

    late = Late()

    class Slow(LocalBuilder):
        def facts(self, *given: Any, **named_: Any) -> Any:
            late()
            return super().facts(*given, **named_)

        def keys(self, *given: Any, **named_: Any) -> Any:
            late()
            return super().keys(*given, **named_)

    outcome = table.create_index("a", mi.Values("id"), builder=Slow(), if_not_exists=True)
    assert late.done
    assert not outcome.changed
    assert [info.state for info in table.indexes()] == ["ACTIVE"]


def test_a_version_is_indexed_where_it_is_asked(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    for part in range(3):
        deltalake.write_deltalake(path, pa.table({"id": [part]}), mode="append")
    assert told(f"CREATE INDEX a ON delta.`{path}` VERSION AS OF 1 USING values (id)")[0]["files"] == 2
    assert told(f"SHOW INDEXES ON delta.`{path}` VERSION AS OF 1")[0]["fresh"] is True
    assert told(f"REFRESH INDEX a ON delta.`{path}` VERSION AS OF 2")[0]["files"] == 3
