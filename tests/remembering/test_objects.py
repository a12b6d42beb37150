"""What lies beside the indexes: bounded, written by whoever may, believed only where it is whole."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import metaindex as mi
from metaindex.errors import ArgumentError, DamagedIndexError
from metaindex.querylog.writer import WRITER
from metaindex.remembering import memory as memory_module
from metaindex.remembering.memory import FilterMemory, kept, listed
from metaindex.remembering.recorder import FilterRecorder, put, tidy
from metaindex.remembering.stored import (
    FOLDER,
    MOST_BYTES,
    MOST_GROUPS,
    MOST_SECTIONS,
    FilterSection,
    Noted,
    decoded,
    encoded,
    new_name,
    sections,
)
from metaindex.table.face import handle_of
from metaindex.table.noting import place_of
from tests.racers import raced
from tests.remembering.lake import FILES, ONCE, flushed, objects, opened, remembering, six_files, storage

KEY, OTHER = b"k" * 16, b"o" * 16


def noted(number: int, may: list[bool], key: bytes = KEY) -> Noted:
    return Noted.of(key, hashlib.md5(str(number).encode(), usedforsecurity=False).digest(), np.array(may, np.bool_))


def test_what_is_written_is_read() -> None:
    rows = [noted(n, [n == g for g in range(n % 20)], KEY if n % 3 else OTHER) for n in range(100)]
    some = sections(rows)
    back = decoded(encoded(some, None), "here", None)
    assert [row for section in back for row in section.noted()] == [row for section in some for row in section.noted()]
    assert {row.key for section in back for row in section.noted()} == {KEY, OTHER}
    for section in back:
        for place, row in enumerate(section.noted()):
            assert section.may(place).tolist() == np.unpackbits(
                np.frombuffer(row.bits, np.uint8), count=row.groups, bitorder="little"
            ).astype(bool).tolist()  # fmt: skip
            assert section.empty[place] == (not section.may(place).any())


def test_what_is_said_twice_is_true_twice() -> None:
    (section,) = sections([noted(1, [True, False, True]), noted(1, [True, True, False]), noted(2, [True])])
    told = {row.file: section.may(place).tolist() for place, row in enumerate(section.noted())}
    assert sorted(told.values()) == [[True], [True, False, False]]


def _written(data: bytes) -> bytes:
    """With the digest that a hostile writer makes, too."""
    return data + hashlib.sha256(data).digest()


_WHOLE = encoded(sections([noted(n, [True, False]) for n in range(3)]), None)
_BODY = _WHOLE[:-32]
DAMAGE: dict[str, bytes] = {
    "nothing": b"",
    "another object": b"PAR1" + _BODY,
    "a bit is another": bytes([*_WHOLE[:50], _WHOLE[50] ^ 1, *_WHOLE[51:]]),
    "cut short": _WHOLE[:-1],
    "cut short in a section": _written(_BODY[:-2]),
    "cut short in a head": _written(_BODY + b"head"),
    "more files than it has": _written(_BODY[:24] + (1 << 31).to_bytes(4, "little") + _BODY[28:]),
    "more row groups than it has bits": _written(_BODY[:-9] + b"\xff\xff" * 3 + _BODY[-3:]),
    "a filter of no file": _written(_BODY + KEY + bytes(4)),
    "more filters than an object has": _written(_BODY[:8] + _BODY[8:] * (MOST_SECTIONS + 1)),
    "larger than any": b"MIFILTR1" + bytes(MOST_BYTES + 1),
}


@pytest.mark.parametrize("data", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_object_leaves_nothing_out(data: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(DamagedIndexError):
        decoded(data, "here", None)
    table = remembering(six_files(tmp_path))
    storage(table).put_if_absent(new_name(recently()), data)
    assert opened(table, ONCE) == FILES
    assert table.scan(ONCE).to_arrow().num_rows > 0
    assert opened(table, ONCE) == 1


def recently() -> int:
    import time

    return time.time_ns() // 1_000_000


def test_every_byte_of_an_object_counts() -> None:
    for at in range(len(_WHOLE)):
        with pytest.raises(DamagedIndexError):
            decoded(bytes([*_WHOLE[:at], _WHOLE[at] ^ 0x10, *_WHOLE[at + 1 :]]), "here", None)


def test_with_a_seal_key_only_what_has_its_seal_is_believed(tmp_path: Path) -> None:
    lake = six_files(tmp_path)
    secret = "a secret of sixteen bytes"
    sealed = lake.open(config=mi.Config(remember_filters=True, seal_key=secret))
    plain = remembering(lake)
    plain.scan(ONCE).to_arrow()
    flushed()
    assert opened(sealed, ONCE) == FILES
    sealed.scan(ONCE).to_arrow()
    flushed()
    again = lake.open(config=mi.Config(remember_filters=True, seal_key=secret))
    assert opened(again, ONCE) == 1
    with pytest.raises(DamagedIndexError, match="seal"):
        decoded(_WHOLE, "here", secret.encode())


def test_no_text_of_a_filter_is_kept(tmp_path: Path) -> None:
    table = remembering(six_files(tmp_path))
    table.scan("s LIKE '%somebody@example.org%'").to_arrow()
    flushed()
    (name,) = objects(table)
    data = storage(table).read(name)
    assert b"somebody" not in data
    assert b"LIKE" not in data


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    lake = six_files(tmp_path)
    table = remembering(lake)
    folder = Path(storage(table).root)
    folder.parent.mkdir(parents=True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / new_name(1)).write_bytes(_WHOLE)
    folder.symlink_to(elsewhere)
    rows = table.scan(ONCE).to_arrow()
    flushed()
    assert remembering(lake).scan(ONCE).to_arrow() == rows
    assert len(list(elsewhere.iterdir())) == 1, "nothing is written or removed behind the link"


def test_who_may_not_write_only_reads(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    lake = six_files(tmp_path)
    table = remembering(lake)
    table.scan(ONCE).to_arrow()
    flushed()
    before = objects(table)
    folder = Path(storage(table).root)
    other = remembering(lake, keep_days=29.0)  # with a recorder of its own

    def refuse(self: FilterRecorder, rows: object) -> None:
        raise PermissionError(f"no right to write {folder}")

    with pytest.MonkeyPatch.context() as patch, caplog.at_level(logging.WARNING, "metaindex"):
        patch.setattr(FilterRecorder, "write", refuse)
        assert opened(other, ONCE) == 1
        assert other.scan("s LIKE '%nothing%'").to_arrow().num_rows == 0
        flushed()
        assert opened(other, "s LIKE '%nothing%'") == 0, "this process knows it"
    assert objects(table) == before
    assert "are not noted any more" in caplog.text


def test_the_oldest_goes_first(tmp_path: Path) -> None:
    table = remembering(six_files(tmp_path))
    there = storage(table)
    now = recently()
    data = encoded(sections([noted(n, [True]) for n in range(50)]), None)
    for days in (40, 20, 10, 5, 1):
        there.put_if_absent(new_name(now - days * 24 * 3600 * 1000), data)
    there.put_if_absent("somebody-elses.file", b"x")
    setting = mi.RememberFilters(keep_days=30, keep_bytes=3 * len(data))
    within = kept(listed(there), setting)
    assert len(within) == 3
    tidy(there, setting, None)
    assert [info.path for info in listed(there)] == [info.path for info in within]
    assert "somebody-elses.file" in [info.path for info in there.list("")]
    tidy(there, mi.RememberFilters(keep_bytes=0), None)
    assert [info.path for info in there.list("")] == ["somebody-elses.file"]


def test_many_objects_become_one_that_says_the_same(tmp_path: Path) -> None:
    table = remembering(six_files(tmp_path))
    there, now = storage(table), recently()
    rows = [noted(n, [n % 2 == 0, n % 3 == 0]) for n in range(40)]
    for row in rows:
        put(there, sections([row]), None, now)
    there.put_if_absent(new_name(now), b"no such object")
    tidy(there, mi.RememberFilters(), None)
    assert len(listed(there)) == 2, "what cannot be read goes by its age"
    memory = FilterMemory(mi.RememberFilters(), there, None)
    found = [row for section in memory.find([KEY]).sections for row in section.noted()]
    assert sorted(row.file for row in found) == sorted(row.file for row in rows)
    assert {row.file: row.bits for row in found} == {row.file: row.bits for row in rows}


def test_memory_is_bounded() -> None:
    memory = FilterMemory(mi.RememberFilters(keep_bytes=10_000), None, None)
    for n in range(20_000):
        memory.note(noted(n, [False], n.to_bytes(16, "big") if n % 2 else KEY))
    held = sum(section.size_bytes for section in memory._mine)
    memory.find([KEY])
    assert held <= 10_000
    assert sum(section.size_bytes for section in memory._mine) <= 10_000


def test_many_filters_become_several_objects_that_are_all_read(tmp_path: Path) -> None:
    table = remembering(six_files(tmp_path))
    rows = [noted(1, [False], number.to_bytes(16, "big")) for number in range(2 * MOST_SECTIONS + 1)]
    recorder = FilterRecorder(place_of(handle_of(table)), storage(table), mi.RememberFilters(), None, WRITER)
    recorder.write(rows)
    assert len(listed(storage(table))) == 3
    known = FilterMemory(mi.RememberFilters(), storage(table), None).find([row.key for row in rows])
    assert sum(len(section.ids) for section in known.sections) == len(rows)


def test_many_filters_are_not_gone_through_again_with_each_question(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = 0

    def counted(rows: Iterable[Noted]) -> list[FilterSection]:
        nonlocal seen
        every = list(rows)
        seen += len(every)
        return sections(every)

    monkeypatch.setattr(memory_module, "sections", counted)
    memory = FilterMemory(mi.RememberFilters(), None, None)
    for number in range(2_000):
        memory.note(noted(1, [False], number.to_bytes(16, "big")))
        assert memory.find([number.to_bytes(16, "big")])
    assert seen < 4 * 2_000
    assert memory.find([bytes(16)])


def test_a_file_of_too_many_row_groups_is_not_remembered(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    from tests.tables import settle

    root = tmp_path / "t"
    root.mkdir()
    pq.write_table(pa.table({"s": ["a"] * (MOST_GROUPS + 1)}), root / "f.parquet", row_group_size=1)
    settle(root)
    table = mi.open_table(str(root), config=mi.Config(remember_filters=True))
    assert table.scan("s LIKE '%b%'").to_arrow().num_rows == 0
    assert opened(table, "s LIKE '%b%'") == 1


RACER = """
import sys
import metaindex as mi
from metaindex.querylog.writer import WRITER
from tests.racers import ready
from tests.remembering.lake import ONCE

setting = mi.RememberFilters(flush_files=1, flush_seconds=0)
table = mi.open_table(sys.argv[1], config=mi.Config(remember_filters=setting))
ready()
for n in range(12):
    table.scan(f"s LIKE '%{sys.argv[2]}-{n}%'").to_arrow()
    WRITER.flush(300)
print(table.scan(ONCE).to_arrow().num_rows)
WRITER.flush(300)
"""


def test_two_processes_remember_at_once(tmp_path: Path) -> None:
    lake = six_files(tmp_path)
    expected = lake.open().scan(ONCE).to_arrow().num_rows
    assert [int(said) for said in raced(RACER, [(lake.path, "a"), (lake.path, "b")])] == [expected, expected]
    table = remembering(lake)
    assert opened(table, ONCE) == 1
    known = sum(opened(table, f"s LIKE '%{name}-{n}%'") == 0 for name in "ab" for n in range(12))
    assert known == 24, "what both merge at once is said twice, and never lost"
    assert table.scan(ONCE).to_arrow().num_rows == expected
    assert len(objects(table)) < 40


def test_erasing_removes_what_is_remembered_and_tells_of_the_query_log(tmp_path: Path) -> None:
    lake = six_files(tmp_path)
    table = lake.open(config=mi.Config(remember_filters=True, query_log=True))
    table.create_index("i", mi.Values("id"), builder="local")
    table.scan(ONCE).to_arrow()
    flushed()
    assert objects(table)
    strange = Path(place_of(handle_of(table)).folder, FOLDER, "mine.filters")
    strange.write_bytes(b"whoever put this there keeps it")
    outcome = lake.open().erase_index("i", builder="local")  # by a process that remembers nothing itself
    assert objects(table) == [strange.name]
    assert outcome.changed
    assert "1 object of remembered filters removed" in outcome.notes
    assert any("the query log may hold values" in note for note in outcome.notes)
    lake.open(config=mi.Config(query_log=mi.QueryLog(keep_days=0, keep_bytes=0))).clean_query_log()
    again = lake.open().erase_index("i", builder="local")
    assert not any("remembered" in note or "query log" in note for note in again.notes)


BAD: dict[str, Callable[[], object]] = {
    "bytes below nothing": lambda: mi.RememberFilters(keep_bytes=-1),
    "days of a text": lambda: mi.RememberFilters(keep_days="x"),  # type: ignore[arg-type]
    "no file": lambda: mi.RememberFilters(flush_files=0),
    "seconds without end": lambda: mi.RememberFilters(flush_seconds=float("inf")),
    "a number": lambda: mi.Config(remember_filters=5),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("made", BAD.values(), ids=BAD)
def test_a_setting_that_is_none_is_refused(made: Callable[[], object]) -> None:
    with pytest.raises(ArgumentError, match=r"RememberFilters|remember_filters"):
        made()
