"""How statements without Spark name a table."""

from pathlib import Path
from typing import Any

import pytest

import metaindex as mi
from metaindex.statements.execution.files import FileTables
from metaindex.statements.execution.run import run
from metaindex.statements.grammar.parsing import parsed
from tests.statements.execution.stated import plain as plain  # the fixture


@pytest.mark.parametrize(
    "name", ["'{root}'", "parquet.`{root}`", "`{root}`", "`ä b`", '"ä b"', "/* c */ 'ä b' -- c\n", "T.É", "`t`.`é`"]
)
def test_a_table_by_its_names(plain: Path, name: str) -> None:
    quoted = name.format(root=plain) if "`" in name else name.format(root=str(plain).replace("'", "''"))
    shown = mi.sql(f"CREATE INDEX a ON {quoted} (id)", builder="local", tables={"t.é": plain})
    assert shown.to_json()[0]["files"] == 3
    assert (plain.parent / "_metaindex" / "ä b" / "a").is_dir()


@pytest.mark.parametrize(
    ("name", "error", "said"),
    [
        ("a.b", mi.ArgumentError, "write the path between quotes"),
        ("other.`ä b`", mi.ArgumentError, "is a name"),
        ("'nowhere'", mi.NotATableError, "does not exist"),
        ("delta.`ä b`", mi.NotATableError, "no table of format delta"),
        ("'ä b\0'", mi.MetaIndexError, "."),
    ],
)
def test_what_is_no_table_is_refused(plain: Path, name: str, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        mi.sql(f"CREATE INDEX a ON {name} (id)", builder="local")
    assert not (plain.parent / "_metaindex").exists()


def test_a_catalog_knows_names_of_several_parts(plain: Path) -> None:
    asked = []

    def opens(path: str, format_: str | None, options: Any) -> mi.Table:
        asked.append((path, format_, dict(options)))
        return mi.open_table(plain)

    run(parsed("SHOW INDEXES ON a.b.`c d` WITH ('x.y' = 1)"), FileTables(opens, catalog=True))
    run(parsed("SHOW INDEXES ON a.`b.c``d`"), FileTables(opens, catalog=True))
    assert asked == [("a.b.c d", None, {"x.y": 1}), ("a.`b.c``d`", None, {})]
