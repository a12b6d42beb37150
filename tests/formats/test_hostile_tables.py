"""Every broken or hostile table, and every hostile text, is read right or refused by an error of ours: no other
exception, no hang, no memory without bound."""

import contextlib
import json
import os
import re
from pathlib import Path

import pytest

import metaindex as mi
from tests.hostile.asked import MADE, TEXTS, csv, delta, iceberg, json_lines, parquet
from tests.hostile.driver import at_most, told

_SECONDS = 20


@pytest.mark.exhaustive(but="iceberg")
@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(MADE))
def test_a_changed_table_is_read_right_or_refused(name: str, tmp_path: Path) -> None:
    """In a process of its own: what other tests held in this one says nothing of the memory that a table takes."""
    said = told("tests.hostile.asked", name, tmp_path)
    assert not said["wrong"], f"{said['seen']}\n" + "\n".join(said["wrong"])
    assert sum(said["seen"].values()) >= 100


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(TEXTS))
def test_a_written_text_is_read_as_it_should_be_or_refused(name: str, tmp_path: Path) -> None:
    said = told("tests.hostile.asked", name, tmp_path)
    assert {case: wrong for case, wrong in said["asked"].items() if wrong} == {}
    assert len(said["asked"]) > 20


@pytest.mark.parametrize("depth", [400, 3_000, 100_000])
def test_a_schema_nested_beyond_the_stack_is_refused(depth: int, tmp_path: Path) -> None:
    deep = (
        '{"type":"struct","fields":[{"id":7,"name":"a","required":false,"nullable":true,"metadata":{},"type":' * depth
    )
    deep += '"long"' + "}]}" * depth
    made = delta(tmp_path)
    first = made.metadata[0]
    schema = json.dumps(deep)[1:-1]
    lines = [
        re.sub(r'"schemaString":"(\\.|[^"\\])*"', lambda _: f'"schemaString":"{schema}"', line)
        for line in first.read_text().splitlines()
    ]
    for path in made.metadata[1:]:
        path.unlink()
    assert any(schema in line for line in lines)
    first.write_text("\n".join(lines))
    with at_most(_SECONDS), contextlib.suppress(mi.MetaIndexError):
        mi.open_table(str(made.root)).scan().to_arrow()
    metadata = iceberg(tmp_path).metadata[0]
    whole = json.loads(metadata.read_text())
    whole["schemas"] = [{**whole["schemas"][0], "fields": "HERE"}]
    metadata.write_text(json.dumps(whole).replace('"HERE"', deep[deep.index("[") : -1]))
    with at_most(_SECONDS), contextlib.suppress(mi.MetaIndexError):
        mi.open_table(str(metadata.parent.parent)).scan().to_arrow()


FILES = {"parquet": parquet, "csv": csv, "json": json_lines}


@pytest.mark.parametrize("kind", FILES)
def test_what_is_no_file_among_files_is_passed_over(kind: str, tmp_path: Path) -> None:
    made = FILES[kind](tmp_path)
    ending = "".join(made.metadata[0].suffixes)
    elsewhere = tmp_path / f"elsewhere{ending}"
    made.metadata[0].rename(elsewhere)
    made.metadata[0].symlink_to(elsewhere)  # read, as by Spark
    os.mkfifo(made.root / f"pipe{ending}")
    (made.root / f"nothing{ending}").symlink_to(tmp_path / "nothing")
    (made.root / f"device{ending}").symlink_to("/dev/zero")
    with at_most(_SECONDS):
        found = mi.open_table(str(made.root), **made.options).scan().to_arrow()
    assert sorted(found.column("id").to_pylist()) == sorted([*range(5), *range(10, 15), *range(20, 25), *range(30, 35)])


@pytest.mark.parametrize("kind", FILES)
def test_a_link_to_a_folder_above_is_refused(kind: str, tmp_path: Path) -> None:
    made = FILES[kind](tmp_path)
    (made.root / "again").symlink_to(made.root)
    with at_most(_SECONDS), pytest.raises(mi.StorageError, match=r"again.*the link leads to .*; remove the link"):
        mi.open_table(str(made.root), **made.options).scan().to_arrow()


@pytest.mark.parametrize("kind", ["delta", *FILES])
def test_a_file_that_has_become_a_pipe_keeps_nobody_waiting(kind: str, tmp_path: Path) -> None:
    made = {"delta": delta, **FILES}[kind](tmp_path)
    scan = mi.open_table(str(made.root), **made.options).scan()
    for path in [path for path in made.root.rglob("*") if path.is_file() and "_delta_log" not in path.parts]:
        path.unlink()
        os.mkfifo(path)
    with at_most(_SECONDS), pytest.raises(mi.MetaIndexError, match="no regular file"):
        scan.to_arrow()
