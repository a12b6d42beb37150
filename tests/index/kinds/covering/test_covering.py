"""Covering indexes without a JVM: what may be asked for, and what becomes of the parts: merged, erased, read back,
damaged."""

import argparse
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import metaindex as mi
from metaindex.cli import arguments
from metaindex.core import BuildError, DamagedIndexError, UnknownColumnError, UnsupportedFeatureError
from metaindex.formats import Schema
from metaindex.index import Kind
from metaindex.index.build.row_source import DataFile, RowSource
from metaindex.index.kinds.covering.layout import RowLayout
from metaindex.index.kinds.covering.murmur3 import buckets_of, hashed
from metaindex.index.kinds.covering.order import SORT, in_spark_order, out_of_order, sort_columns
from metaindex.index.kinds.covering.parts import stored_parts
from metaindex.index.kinds.registry import KINDS
from metaindex.index.kinds.served import ORDINAL, ROW
from metaindex.index.kinds.spark_types import arrow_schema, spark_schema, stored_type
from metaindex.storage import Storage
from tests.hostile.changes import turned
from tests.index.actions.index_bytes import everything
from tests.index.build.lake import fields_of
from tests.tables import FORMATS, settle, settled

from .arrow_builder import ArrowBuilder
from .awkward import ALL, CURVE, awkward, grow, indexed, parquet_folder
from .served import Held, index_folder, objects, shown

WIDE = mi.Covering(["k", "st.x"], [one for one in ALL if one != "k"], buckets=3)
RANGE = mi.CoveringRange(["f", "s"], ["k"])


def physical(*tables: pa.Table) -> tuple[Counter[str], Counter[str]]:
    """The rows of WIDE and of RANGE."""
    whole = pa.concat_tables(tables)
    inner = pc.struct_field(whole.column("st").combine_chunks(), "x")
    wide = whole.append_column("st.x", inner).select(["k", "st.x", *(one for one in ALL if one != "k")])
    return shown(wide.to_pylist()), shown(whole.select(["f", "s", "k"]).to_pylist())


def test_specs_say_what_they_are_and_come_back() -> None:
    for kind in (WIDE, RANGE, mi.Covering("a"), mi.CoveringRange("a", "b")):
        assert KINDS.of(kind.spec()) == kind
    assert mi.Covering("a").buckets is None
    for wrong in (
        lambda: mi.Covering([]),
        lambda: mi.Covering(["a"], ["a"]),
        lambda: mi.Covering("a", buckets=0),
        lambda: mi.Covering("a", buckets=100_000),
        lambda: mi.CoveringRange(["a", "a"]),
    ):
        with pytest.raises(ValueError, match=r"Covering|buckets"):
            wrong()
    with pytest.raises(TypeError, match="columns are names"):
        mi.Covering([1])  # type: ignore[list-item]


def test_columns_that_spark_and_arrow_do_not_carry_alike_are_refused() -> None:
    schema = Schema(
        fields_of(
            pa.schema(
                [
                    ("a", pa.int64()),
                    ("A2", pa.string()),
                    ("st", pa.struct([("x", pa.int32())])),
                    ("ns", pa.timestamp("ns")),
                    ("u", pa.uint32()),
                    ("id", pa.binary(16)),
                    ("_mi_row", pa.int64()),
                ]
            )
        )
    )
    plan = KINDS.row_plans([mi.Covering("a2", ["st", "ST.X"])], schema)[0]
    assert plan.stored.names == ["A2", "st", "st.x"]
    for kind, error, why in (
        (mi.Covering("b"), UnknownColumnError, "there is no .b."),
        (mi.Covering("a", ["ns"]), UnsupportedFeatureError, "'ns' is timestamp"),
        (mi.Covering("a", ["u"]), UnsupportedFeatureError, "'u' is uint32"),
        (mi.Covering("a", ["id"]), UnsupportedFeatureError, "'id' is fixed"),
        (mi.Covering("st"), UnsupportedFeatureError, "has an order"),
        (mi.Covering("a", ["_mi_row"]), UnsupportedFeatureError, "_mi_row"),
        (mi.Covering("a", ["A"]), UnsupportedFeatureError, "without regard to case"),
    ):
        with pytest.raises(error, match=why):
            KINDS.row_plans([kind], schema)
    of_partition = replace(schema.fields[0], type=pa.timestamp("us", "UTC"), partition=True)
    with pytest.raises(UnsupportedFeatureError, match="time zone"):
        KINDS.row_plans([mi.Covering("A2", ["a"])], Schema((of_partition, *schema.fields[1:])))
    ids = {plan.key_id for kind in (WIDE, mi.Covering("k", buckets=3), mi.Covering("k", buckets=4),
        mi.CoveringRange("k"), mi.Covering(["k", "s"], buckets=3), mi.Covering("k", "s", 3))
           for plan in KINDS.row_plans([kind], Schema(fields_of(awkward(0).schema)))}  # fmt: skip
    assert len(ids) == 6


def test_types_come_back_from_the_schema_of_spark() -> None:
    types = [stored_type(t) for t in awkward(0).schema.types]
    fields = [pa.field(f"c{place}", t) for place, t in enumerate(types)]
    assert arrow_schema(spark_schema(fields)) == pa.schema(fields)


@pytest.mark.parametrize(
    "type_", [f'"decimal({"9" * 5000},0)"', f'"decimal({"9" * 30},0)"', "9" * 5000, "7", '"nothing"', "{}"]
)
def test_columns_that_a_stranger_wrote_are_damage(type_: str) -> None:
    with pytest.raises(mi.DamagedIndexError, match="a StructType of Spark"):
        arrow_schema(f'{{"fields": [{{"name": "a", "type": {type_}}}]}}')


@given(
    st.lists(
        st.tuples(
            st.none() | st.floats(width=32),
            st.none() | st.text(max_size=2),
            st.none() | st.integers(-(2**31), 2**31 - 1),
            st.integers(0, 2),
        ),
        max_size=30,
    )
)
def test_the_order_is_sparks(rows: list[tuple[float | None, str | None, int | None, int]]) -> None:
    table = pa.table(
        {
            "f": pa.array([row[0] for row in rows], pa.float32()),
            "s": pa.array([row[1] for row in rows], pa.string()),
            "d": pa.array([row[2] for row in rows], pa.int32()).cast(pa.date32()),
            ORDINAL: pa.array([row[3] for row in rows], pa.int32()),
            ROW: pa.array(range(len(rows)), pa.int64()),
        }
    )

    def key(place: int) -> tuple[object, ...]:
        f, s, d, ordinal = rows[place]
        number = (False, 0.0) if f is None else (True, (f != f, 0.0 if f != f else f + 0.0))
        text = (False, b"") if s is None else (True, s.encode())
        return number, text, (False, 0) if d is None else (True, d), ordinal, place

    wide, names = sort_columns(table, 3), [f"{SORT}{place}" for place in range(3)]
    found = in_spark_order(wide, names)
    assert found.column(ROW).to_pylist() == sorted(range(len(rows)), key=key)
    assert not out_of_order(found, names)
    given_order = table.column(ROW).to_pylist()
    assert out_of_order(wide, names) == (given_order != found.column(ROW).to_pylist())


@pytest.mark.slow
def test_built_refreshed_merged_and_built_anew_are_the_same_rows(tmp_path: Path) -> None:
    root = parquet_folder(tmp_path / "lake", 2)
    table = mi.open_table(str(root))
    builder = ArrowBuilder()
    outcome = table.create_index("c", mi.ColumnStats("k"), WIDE, RANGE, mi.Values("s"), builder=builder)
    assert outcome.notes == ("2 files, 1 column, 1 key and 2 covering indexes indexed by the arrow builder",)
    told = table.indexes()[0].keys
    assert told[1].startswith("covering(3 buckets of k, st.x; f, g, s,")
    assert (told[0], told[2]) == ("values(s)", "covering(ranges of f, s; k)")
    rows = [awkward(0), awkward(1)]
    for seed in (2, 3):
        grow(root, seed, 50)
        rows.append(awkward(seed, 50))
        table.refresh_index("c", builder=builder)
    (root / "f1.parquet").unlink()
    table.refresh_index("c", builder=builder)
    held = Held.of(table, "c")
    assert (held.physical(0), held.physical(1)) == physical(*rows)  # what left the table is still there ...
    live = physical(rows[0], *rows[2:])
    assert [held.served(place=place) for place in (0, 1)] == [(live[0], 0), (live[1], 0)]  # ... and not served
    assert table.verify_index("c", files=None, versions="all").sound
    kept = table.prune("s = 'bé' AND k > 3").paths
    table.optimize_index("c", mode="full", builder="local")
    merged = Held.of(table, "c")
    assert len(merged.runs) == 1
    assert [merged.served(place=place) for place in (0, 1)] == [(live[0], 0), (live[1], 0)]
    report = table.verify_index("c", files=None, versions="all")
    assert report.sound, str(report)
    assert report.rows_compared == 2 * sum(live[0].values())
    assert table.prune("s = 'bé' AND k > 3").paths == kept
    table.create_index("anew", WIDE, RANGE, builder=builder)
    anew = Held.of(table, "anew")
    # f1 may still be told of by a recorded version that is gone from the folder.
    table.erase_index("c", builder="local")
    erased = Held.of(table, "c")
    for place in (0, 1):
        assert erased.physical(place) == anew.physical(place) == live[place]
        key = erased.key(place)
        sizes = RowLayout.of(key).sizes.column_bytes
        parts = stored_parts(erased.index.reader(erased.runs[0]), key)
        assert 0 < sum(sizes.values()) < sum(part.info.size_bytes for part in parts)
        if place == 0:  # one part a bucket, that says which
            assert [part.bucket for part in parts] == sorted({part.bucket for part in parts})
    assert table.verify_index("c", files=None, versions="all").sound
    table.clean_index("c", retention=0)
    assert objects(erased.index) == {p.path for p in erased.index.reader(erased.runs[0]).parts("covering")}
    table.drop_index("c")
    table.vacuum_index("c")
    assert not objects(erased.index)


ERASED = {
    "rows": ([mi.Covering("name", "n", buckets=2), mi.CoveringRange("n", "name")], None),
    "a curve": ([mi.CoveringCurve(["name", "n"])], "keeps cut points.*mode='full'"),
}


@pytest.mark.parametrize("which", ERASED)
def test_erased_values_are_in_no_byte(tmp_path: Path, which: str) -> None:
    kinds_, note = ERASED[which]
    root = tmp_path / "lake"
    root.mkdir()
    for number, name in enumerate(("alice", "barbara")):
        names = [f"{name}-{n}" for n in range(50)]
        pq.write_table(pa.table({"n": list(range(50)), "name": names}), root / f"f{number}.parquet")
    settle(root)
    table = mi.open_table(str(root))
    table.create_index("c", *kinds_, builder=ArrowBuilder())
    (root / "f0.parquet").unlink()
    table.refresh_index("c", builder=ArrowBuilder())
    assert "alice" in everything(index_folder(table, "c"))
    notes = table.erase_index("c", builder="local").notes
    assert note is None or re.search(note, "\n".join(notes)), notes
    left = everything(index_folder(table, "c"))
    assert "alice" not in left
    assert left.count("barbara-49") >= len(kinds_)
    held = Held.of(table, "c")
    assert ORDINAL in held.stored(held.runs[0], held.key().key_id).column_names
    assert table.verify_index("c", files=None).sound


@pytest.mark.parametrize("form", ["delta", "iceberg"])
def test_every_format_is_read_as_its_table_shows_it(form: str, tmp_path: Path) -> None:
    lake = FORMATS[form](tmp_path)
    rows = awkward(5, 60).select(["k", "f", "s", "d", "t", "m9", "st"])
    lake.append(rows)
    lake.append(rows.slice(0, 10))
    table = lake.open()
    table.create_index("c", mi.Covering(["s"], ["st", "st.x", "d", "t", "m9", "f"], buckets=2), builder=ArrowBuilder())
    held = Held.of(table, "c")
    shown_rows = table.scan(None).to_arrow()
    inner = pc.struct_field(shown_rows.column("st").combine_chunks(), "x")
    whole = shown_rows.append_column("x", inner).select(["s", "st", "x", "d", "t", "m9", "f"])
    assert held.served() == (shown(whole.to_pylist()), 0)
    assert table.verify_index("c").sound


@pytest.mark.parametrize("kind", [RANGE, pytest.param(CURVE, marks=pytest.mark.slow)], ids=lambda kind: kind.name)
def test_a_damaged_part_is_found_and_not_merged(tmp_path: Path, kind: Kind) -> None:
    root, table = indexed(tmp_path, kind)
    held = Held.of(table, "c")
    path = index_folder(table, "c") / sorted(objects(held.index))[-1]
    path.chmod(0o644)
    whole = path.read_bytes()
    for at in (len(whole) // 3, len(whole) - 20):  # a page, the footer
        path.write_bytes(turned(whole, at, 0x5A))
        assert table.verify_index("c").damaged_runs == {held.runs[0].run}
    grow(root, 2)
    table.refresh_index("c", builder=ArrowBuilder())
    with pytest.raises(DamagedIndexError):
        table.optimize_index("c", mode="full", builder="local")
    table.repair_index("c", builder=ArrowBuilder())
    assert table.verify_index("c", files=None).sound
    assert Held.of(table, "c").served()[1] == 0
    sound = Held.of(table, "c")
    path = index_folder(table, "c") / stored_parts(sound.index.reader(sound.runs[0]), sound.key())[0].path
    path.unlink()
    assert not table.verify_index("c").sound


class OtherValues(RowSource):
    def read(self, storage: Storage, file: DataFile) -> Iterator[tuple[int, list[pa.Array]]]:
        for first, (k, s) in super().read(storage, file):
            yield first, [k, s.take(pa.array(range(len(s) - 1, -1, -1)))]


class FewerRows(RowSource):
    def read(self, storage: Storage, file: DataFile) -> Iterator[tuple[int, list[pa.Array]]]:
        for first, columns in super().read(storage, file):
            yield first, [column.slice(0, len(column) - 1) for column in columns]


@pytest.mark.parametrize("source", [OtherValues, FewerRows])
def test_rows_of_other_values_and_too_few_rows_are_found(tmp_path: Path, source: type[RowSource]) -> None:
    """Parts that are whole, and not true."""
    _, table = indexed(tmp_path, mi.Covering("k", ["s"], buckets=2), builder=ArrowBuilder(source=source))
    assert [finding.kind for finding in table.verify_index("c").findings] == ["covering"]


def test_rows_in_another_bucket_are_found(tmp_path: Path) -> None:
    shifted = ArrowBuilder(hashes=lambda columns, count: (buckets_of(columns, count) + 1) % count)
    _, table = indexed(tmp_path, mi.Covering("k", buckets=3), builder=shifted)
    assert "hash to" in str(table.verify_index("c"))


def test_the_local_builder_says_who_builds_it(tmp_path: Path) -> None:
    table = mi.open_table(str(parquet_folder(tmp_path / "lake", 1)))
    with pytest.raises(BuildError, match="builder='spark'"):
        table.create_index("c", mi.Covering("k"), builder="local")
    assert not table.indexes()
    table.create_index("c", mi.Covering("k"), builder=ArrowBuilder())
    before = Held.of(table, "c").index.entry.id
    grow(tmp_path / "lake", 3)
    with pytest.raises(BuildError, match="builder='spark'"):
        table.refresh_index("c", builder="local")  # as a hook would
    assert Held.of(table, "c").index.entry.id == before  # nothing was begun
    table.refresh_index("c", "quick", builder="local")
    assert Held.of(table, "c").served()[1] == 1
    with pytest.raises(UnknownColumnError):
        table.create_index("d", mi.Covering("kk"), builder="local")


def asked(*words: str) -> list[object]:
    """The kinds that `metaindex create` is asked for."""
    parser = argparse.ArgumentParser()
    arguments.kind_options(parser)
    return list(arguments.kinds_of(parser.parse_args(words), usual=True))


def test_the_command_line_asks_for_the_same() -> None:
    assert asked("--covering", "indexed=a,payload.user", "included=b, c", "buckets=8") == [
        mi.Covering(["a", "payload.user"], ["b", "c"], buckets=8)
    ]
    assert asked("--covering-range", "indexed=a", "--covering", "indexed=b", "--covering", "indexed=c", "--stats") == [
        mi.ColumnStats(),
        mi.Covering("b"),
        mi.Covering("c"),
        mi.CoveringRange("a"),
    ]
    for words, why in (
        (["--covering", "a"], "is followed by indexed="),
        (["--covering", "included=a"], "at least one column"),
        (["--covering", "indexed=a", "indexed=b"], "once at most"),
        (["--covering", "indexed=a", "buckets=many"], "a number"),
        (["--covering-range", "indexed=a", "buckets=3"], "is followed by"),
    ):
        with pytest.raises(ValueError, match=why):
            asked(*words)


def test_the_hash_is_sparks() -> None:
    """Values as Spark 4.1 says them: `SELECT hash(...)`."""
    seeds = np.full(2, 42, np.uint32)
    for column, hashes in (
        (pa.array(["Spark", ""]), [228093765, 142593372]),
        (pa.array([1, 0], pa.int32()), [-559580957, 933211791]),
        (pa.array([1, 0], pa.int64()), [-1712319331, -1670924195]),
        (pa.array([-0.0, 0.0]), [-1670924195, -1670924195]),
    ):
        assert hashed(column, seeds).view(np.int32).tolist() == hashes
    rows = pa.array(["a", None, "b"])
    assert buckets_of([rows, pa.array([1, None, 2])], 7).tolist()[1] == 42 % 7


def test_verify_tells_of_files_that_cannot_be_read_where_only_rows_are_kept(tmp_path: Path) -> None:
    files = {f"f{number}.parquet": pa.table({"k": [number] * 5, "v": [1] * 5}) for number in range(4)}
    root = settled(tmp_path / "whole", files)
    some = {path.name: path.read_bytes()[: 200 if path.stem in ("f1", "f2") else None] for path in root.iterdir()}
    root = settled(tmp_path / "lake", some)
    table = mi.open_table(str(root))
    table.create_index("c", mi.Covering("k", "v", buckets=2), builder=ArrowBuilder())
    report = table.verify_index("c", files=None)
    assert report.sound
    assert report.to_json()["unread"] == ["f1.parquet", "f2.parquet"]
    assert "data files (f1.parquet, f2.parquet), the first: data file 'f1.parquet' cannot be read: " in str(report)
