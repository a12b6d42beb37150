"""What may be asked of a footer: whatever its bytes are, Arrow's accessors are not asked what ends the process."""

import contextlib
import datetime as dt
import io
import os
from decimal import Decimal
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.core import CorruptTableError, MetaIndexError
from metaindex.formats.parquet import chunks as footer_chunks
from metaindex.formats.parquet.chunks import Chunks, look
from metaindex.formats.parquet.file import FileSchema, Layouts
from metaindex.formats.parquet.footers import Footer
from metaindex.formats.parquet.schema import Compact
from tests.formats.encrypted import write_encrypted
from tests.formats.footer_surgery import BINARY, COLUMNS, I32, META_DATA, ROW_GROUPS, SCHEMA, Struct, change, statistics
from tests.formats.footers_of import footers, one, said, schema_of
from tests.formats.writers import WRITERS
from tests.histories.driver import RANDOM
from tests.hostile.changes import random_bytes
from tests.processes import python

TABLE = pa.table(
    {
        "i": pa.array([1, 2, None, 4], pa.int64()),
        "j": pa.array([1, 2, 3, 4], pa.int32()),
        "t": ["x", "y", "z", None],
        "s": [{"x": 1, "y": 2.5}] * 4,
        "b": [True, False, None, True],
        "d": [Decimal("1.50")] * 4,
        "w": [dt.datetime(2020, 1, 1)] * 4,
        "l": [[1], [], None, [2, 3]],
    }
)


def parts(data: bytes) -> tuple[bytes, FileSchema]:
    footer = Footer.read(lambda start, length: data[start : start + length], len(data)).raw
    return footer, Layouts(()).schema_of(footer)


def asked(data: bytes) -> Chunks:
    footer, schema = parts(data)
    return look(footer, len(schema.prefix), schema.forms)


def bytes_of(table: pa.Table, **how: object) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out, **how)
    return out.getvalue()


def test_encrypted_columns_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    write_encrypted(path, TABLE, "j", "s.y")
    assert asked(path.read_bytes()) == Chunks(frozenset({1, 4}))


def test_an_encrypted_column_is_unknown_and_the_others_are_told(tmp_path: Path) -> None:
    write_encrypted(tmp_path / "a.parquet", TABLE, "j")
    pq.write_table(TABLE, tmp_path / "b.parquet")
    found = footers([tmp_path / "a.parquet", tmp_path / "b.parquet"], TABLE.schema)
    assert found.failures.to_pylist() == [None, None]
    hidden = one(found, "j")
    assert said(hidden) == (None, None, None)
    assert said(hidden, 1) == (1, 4, 0)
    assert hidden.doubt.to_pylist() == ["the column is encrypted in the file", None]
    assert hidden.present.to_pylist() == [None, True]
    assert said(one(found, "i")) == said(one(found, "i"), 1) == (1, 4, 1)


def test_an_encrypted_footer_is_a_failure_of_its_file(tmp_path: Path) -> None:
    write_encrypted(tmp_path / "a.parquet", TABLE, "j", plaintext_footer=False)
    (why,) = footers([tmp_path / "a.parquet"], TABLE.schema).failures.to_pylist()
    assert "encrypted" in why


@pytest.mark.parametrize("writer", sorted(WRITERS))
def test_what_writers_write_is_of_a_known_form(writer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else each column of each row group of such files costs ten times as much."""
    path = tmp_path / "a.parquet"
    WRITERS[writer](TABLE, path)
    known = footer_chunks._known_form
    answers = []

    def counted(walk: Compact, form: footer_chunks.LeafForm) -> int | None:
        answers.append(known(walk, form))
        return answers[-1]

    monkeypatch.setattr(footer_chunks, "_known_form", counted)
    assert asked(path.read_bytes()) == Chunks()
    assert answers
    assert set(answers) == {0}


def _of_another_type(footer: Struct) -> None:
    footer[ROW_GROUPS].values[0][COLUMNS].values[0][META_DATA].put(1, I32, 1)


def _of_no_type(footer: Struct) -> None:
    footer[SCHEMA].values[1].put(1, I32, 39)


def _with_a_column_too_few(footer: Struct) -> None:
    footer[ROW_GROUPS].values[0][COLUMNS].values.pop()


def _with_other_levels(footer: Struct) -> None:
    footer[ROW_GROUPS].values[0][COLUMNS].values[0][META_DATA][16][3].values.append(0)


def _with_a_bound_that_is_a_number(footer: Struct) -> None:
    statistics(footer)[0].put(6, I32, 1)


@pytest.mark.parametrize(
    "damage",
    [
        _of_another_type,
        _of_no_type,
        _with_a_column_too_few,
        _with_other_levels,
        _with_a_bound_that_is_a_number,
    ],
)
def test_a_footer_that_contradicts_itself_is_a_failure(damage: object, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(TABLE, path)
    change(path, damage)
    found = footers([path], TABLE.schema)
    (why,) = found.failures.to_pylist()
    assert "damaged" in why
    assert said(one(found, "i")) == (None, None, None)


def test_a_bound_that_is_cut_is_none(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(TABLE, path)

    def cut(footer: Struct) -> None:
        stated = statistics(footer)[0]
        stated.put(6, BINARY, stated[6][:3])

    change(path, cut)
    assert asked(path.read_bytes()) == Chunks(unstated=frozenset({(0, 0)}))
    found = footers([path], TABLE.schema)
    assert said(one(found, "i")) == (None, None, None)
    assert said(one(found, "j")) == (1, 4, 0)


WHOLE = [
    bytes_of(TABLE, row_group_size=2),
    bytes_of(TABLE, row_group_size=3, store_schema=False, write_page_index=True),
]


def mutated(random: Random, whole: bytes) -> bytes:
    """A file whose footer was changed at random."""
    size = int.from_bytes(whole[-8:-4], "little")
    footer = whole[-8 - size : -8]
    for _ in range(random.randint(1, 3)):
        footer = random_bytes(random, footer, lambda: ("the whole", whole))[0]
    return whole[: -8 - size] + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def _answer(data: bytes) -> Chunks | str:
    try:
        return asked(data)
    except MetaIndexError as error:
        return type(error).__name__


@given(RANDOM, st.sampled_from(WHOLE))
def test_patterns_say_what_thrift_says(random: Random, whole: bytes) -> None:
    data = mutated(random, whole)
    fast = _answer(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(footer_chunks, "_known_form", lambda walk, form: None)
        assert _answer(data) == fast


@pytest.mark.slow
def test_no_footer_ends_the_process() -> None:
    """In a process of its own, which is what would end: 3,000 footers changed at random, their statistics asked."""
    count = 300 if os.environ.get("METAINDEX_FAST") else 3000
    code = f"import tests.formats.{Path(__file__).stem} as it; it.survive({count})"
    root = Path(__file__).parents[2]
    python("-c", code, cwd=root)


def survive(count: int) -> None:
    """Raises what is no error of ours and none of Arrow."""

    random = Random(7)
    leaves = tuple(schema_of(TABLE.schema).leaves())
    for _ in range(count):
        data = mutated(random, WHOLE[0])
        with contextlib.suppress(MetaIndexError, pa.ArrowException):
            Footer.read(lambda start, length, of=data: of[start : start + length], len(data)).columns(Layouts(leaves))
    os._exit(0)


def test_a_long_number_is_refused_at_once() -> None:
    with pytest.raises(CorruptTableError, match="damaged"):
        Layouts(()).schema_of(b"\x15" + b"\x80" * 5_000_000 + b"\x00")
