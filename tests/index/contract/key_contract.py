"""What every kind that keys values promises, over random values of every type: a file that has the value is never
dropped, and what is built does not depend on how.

A kind inherits `KeyContract` and says which kinds it is about. Keys are built by its collectors from arrays, row group
by row group, without any data file; what is true of the rows is told by `tests.evaluate`, value by value.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metaindex.core import LiteralTypeError
from metaindex.expressions import ColumnRef, Comparison, In, Interval, IsNull, Literal, Op, Predicate
from metaindex.index import KINDS, Kind
from metaindex.index.kinds.canonical import answers_for
from metaindex.index.kinds.keyed import Hits, ReadsRanges, SupportsBatchReads
from metaindex.index.kinds.kind import KeyKind
from metaindex.index.log.entry import KindSpec
from metaindex.index.store.reader import ReadCount
from tests.evaluate import compare_values, matches
from tests.index.contract.built_keys import (
    MANY,
    TINY,
    Built,
    File,
    folder,
    merged,
    merged_of_two,
    written,
    written_apart,
    written_but_one,
)
from tests.strategies import TYPES, literals, values

_PROFILE = settings.default.max_examples if settings.default is not None else 100
inherited = settings(
    deadline=None,
    max_examples={10: 4, 60: 30}.get(_PROFILE, _PROFILE),
    suppress_health_check=[HealthCheck.differing_executors],
)
"""Each kind runs the tests as its own."""


def shown(value: object, t: pa.DataType) -> object:
    """A value as the column holds it."""
    return None if value is None else pa.array([value], t)[0].as_py()


def some_row(file: Sequence[Sequence[tuple[object, ...]]], predicate: Predicate) -> bool:
    """May a row answer TRUE? What cannot be compared is no row."""
    for group in file:
        for row in group:
            try:
                if matches(predicate, {f"c{i}": value for i, value in enumerate(row)}):
                    return True
            except LiteralTypeError:
                return True  # bound predicates have no such literals; nothing is promised of them
    return False


@st.composite
def tables(draw: st.DrawFn, types: Sequence[pa.DataType]) -> list[File]:
    """Files of few rows whose values come from a small pool, so that they meet again in other groups and files."""
    pools = [draw(st.lists(st.none() | values(t), min_size=1, max_size=5)) for t in types]
    row = st.tuples(
        *(st.sampled_from([shown(value, t) for value in pool]) for pool, t in zip(pools, types, strict=True))
    )
    group = st.lists(row, max_size=6)
    return draw(st.lists(st.lists(group, max_size=3), min_size=1, max_size=5))


C = ColumnRef(("c0",))


class KeyContract:
    """Promises of a kind. `exact`: an answer holds no file but those with a row."""

    exact = False
    canonical_rows = True  # merged rows are those of a run that is built anew, bit by bit

    def kind(self, columns: int) -> KeyKind:
        """A key of c0, or of c0, c1 ... together."""
        raise NotImplementedError

    def kept(self, built: Built, hits: Hits | None, count: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        mask = np.ones(count, np.bool_) if hits is None else hits.mask(count)
        mask[built.unkeyed] = True
        return mask

    def check(self, built: Built, hits: Hits | None, files: Sequence[File], predicate: Predicate) -> None:
        """Every file, and every row group, with such a row is kept; where answers are exact, no other."""
        assert hits is None or hits.units is None or (np.diff(hits.units) > 0).all(), "units are sorted, each once"
        kept = self.kept(built, hits, len(files))
        for ordinal, file in enumerate(files):
            truth = some_row(file, predicate)
            assert kept[ordinal] or not truth, (ordinal, predicate)
            if self.exact and hits is not None and ordinal not in built.unkeyed:
                assert kept[ordinal] == truth, (ordinal, predicate)
            if hits is not None and ordinal not in built.unkeyed and file:
                groups = hits.groups(ordinal, len(file))
                for number, rows in enumerate(file):
                    assert groups is None or groups[number] or not some_row([rows], predicate)

    @inherited
    @given(st.data())
    def test_no_file_with_the_value_is_dropped(self, data: st.DataObject) -> None:
        t = data.draw(st.sampled_from(TYPES))
        files = data.draw(tables([t]))
        one = literals(t) | values(t).map(lambda v: Literal(shown(v, t)))  # type: ignore[arg-type]
        asked = [data.draw(one) for _ in range(data.draw(st.integers(1, 4)))]
        with folder() as root:
            built = written(root, self.kind(1), files, [t])
            reader = built.reader([t])
            for literal in asked:
                self.check(built, reader.among([(literal,)]), files, Comparison(C, Op.EQ, literal))
            self.check(built, reader.among([(literal,) for literal in asked]), files, In(C, tuple(asked)))

    def test_its_form_in_the_log_says_all_of_it(self) -> None:
        asked = [self.kind(columns) for columns in (1, 2)]
        assert asked[0] != asked[1]
        for kind in asked:
            assert KINDS.named(kind.name) is type(kind), "it stands in kinds/registry.py, or has an entry point"
            assert kind_from_log(kind) == kind
            assert hash(kind_from_log(kind)) == hash(kind)
            assert [list(key) for key in kind.keys] == kind.spec().properties["keys"]

    @inherited
    @given(st.data())
    def test_the_keys_of_a_run_stand_apart(self, data: st.DataObject) -> None:
        """Their rows share a folder, and neither hides the other's nor answers for it."""
        types = data.draw(st.lists(st.sampled_from(TYPES), min_size=2, max_size=2))
        files = data.draw(tables(types))
        asked = [literals_ for t in types for literals_ in [(data.draw(literals(t)),)]]
        asked += [(Literal(v),) for file in files for group in file for row in group for v in row if v is not None][:4]  # type: ignore[arg-type]
        with folder() as a, folder() as b:
            together = written_apart(a, self.kind(1), files, types)
            for at, t in enumerate(types):
                mine: list[File] = [[[(row[at],) for row in group] for group in file] for file in files]
                alone = written(b / str(at), self.kind(1), mine, [t])
                assert together[at].unkeyed == alone.unkeyed
                for values_ in asked:
                    one, other = (built.reader([t]).among([values_]) for built in (together[at], alone))
                    if both_answer(one, other):
                        assert one.mask(len(files)).tolist() == other.mask(len(files)).tolist()

    @inherited
    @given(st.data())
    def test_many_lists_together_are_answered_as_each_alone(self, data: st.DataObject) -> None:
        types = data.draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=2))
        files = data.draw(tables(types))
        value = st.tuples(*(literals(t) | values(t).map(lambda v, t=t: Literal(shown(v, t))) for t in types))  # type: ignore[misc]
        rows = [row for file in files for group in file for row in group if None not in row]
        there = value | st.sampled_from(rows).map(lambda row: tuple(map(Literal, row))) if rows else value
        lists = data.draw(st.lists(st.lists(there, min_size=1, max_size=3), min_size=1, max_size=8))
        with folder() as root:
            reader = written(root, self.kind(len(types)), files, types).reader(types)
            assert isinstance(reader, SupportsBatchReads)
            for asked, hits in zip(lists, reader.among_each(lists), strict=True):
                alone = reader.among(asked)
                if not both_answer(hits, alone):
                    continue
                assert hits.mask(len(files)).tolist() == alone.mask(len(files)).tolist()
                for ordinal, file in enumerate(files):
                    one, other = hits.groups(ordinal, len(file)), alone.groups(ordinal, len(file))
                    assert (None if one is None else one.tolist()) == (None if other is None else other.tolist())

    @inherited
    @given(st.data())
    def test_many_ranges_together_are_answered_as_each_alone(self, data: st.DataObject) -> None:
        t = data.draw(st.sampled_from(TYPES))
        files = data.draw(tables([t]))
        held = [Literal(v) for file in files for group in file for (v,) in group if v is not None and v == v]
        ends = st.none() | literals(t).filter(lambda one: not one.is_nan)
        ends = ends | st.sampled_from(held) if held else ends
        ranges = data.draw(st.lists(st.builds(Interval, ends, ends, st.booleans(), st.booleans()), max_size=12))
        rows = data.draw(st.sampled_from([2, 1 << 20]))
        with pytest.MonkeyPatch.context() as patch, folder() as root:
            patch.setattr("metaindex.index.store.writer.ROW_GROUP_ROWS", rows)
            patch.setattr("metaindex.index.kinds.values.by_value.part_rows", lambda _: 2 * rows + 1)
            for name, most in (
                ("_MOST_LISTED", [0, 1 << 30]),
                ("_LISTED", [0, 1 << 10]),
                ("_TOGETHER", [1, 20, 1 << 22]),
            ):
                patch.setattr(f"metaindex.index.kinds.values.ranges.{name}", data.draw(st.sampled_from(most)))
            reader = written(root, self.kind(1), files, [t]).reader([t])
            if not isinstance(reader, ReadsRanges):
                return
            together = reader.between_each(ranges)
            if together is None:
                assert len(held) > 64 * len(ranges)
                return
            for interval, hits in zip(ranges, together, strict=True):
                alone = reader.between(interval)
                if both_answer(hits, alone):
                    assert hits.units.tolist() == alone.units.tolist()
                    assert (hits.units.dtype, hits.group_bits) == (alone.units.dtype, alone.group_bits)

    @inherited
    @given(st.data())
    def test_no_file_is_dropped_by_other_questions(self, data: st.DataObject) -> None:
        t = data.draw(st.sampled_from(TYPES))
        files = data.draw(tables([t]))
        low, high = data.draw(literals(t)), data.draw(literals(t))
        opens = data.draw(st.tuples(st.booleans(), st.booleans()))
        with folder() as root:
            built = written(root, self.kind(1), files, [t])
            reader = built.reader([t])
            self.check(built, reader.null(), files, IsNull(C))
            check = partial(self.check_truth, built, files)
            check(reader.value(), lambda v: v is not None)
            check(reader.nan(), lambda v: isinstance(v, float) and v != v)
            if low.is_nan or high.is_nan:
                return

            def other(v: object) -> bool:
                return v is not None and all(compare_values(v, one.value) for one in (low, high))

            try:
                check(reader.between(Interval(low, high, *opens)), lambda v: within(v, low, high, opens))
                check(reader.between(Interval(None, high, False, opens[1])), lambda v: within(v, None, high, opens))
                check(reader.between(Interval(low, None, opens[0])), lambda v: within(v, low, None, opens))
                check(reader.other([low, high]), other)
            except LiteralTypeError:
                return  # no order between these

    def check_truth(
        self, built: Built, files: Sequence[File], hits: Hits | None, truth: Callable[[object], bool]
    ) -> None:
        kept = self.kept(built, hits, len(files))
        for ordinal, file in enumerate(files):
            there = any(truth(row[0]) for rows in file for row in rows)
            assert kept[ordinal] or not there, ordinal
            if self.exact and hits is not None and ordinal not in built.unkeyed:
                assert kept[ordinal] == there, ordinal

    @inherited
    @given(st.data())
    def test_what_is_built_does_not_depend_on_how(self, data: st.DataObject) -> None:
        types = data.draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=2))
        files = data.draw(tables(types))
        kind = self.kind(len(types))
        with folder() as a, folder() as b, folder() as c:
            whole = written(a, kind, files, types)
            spilled = written(b, kind, files, types, limit=TINY, pieces=data.draw(st.integers(0, 3)))
            limit = data.draw(st.sampled_from([TINY, MANY]))
            shared = written(c, kind, files, types, limit=limit, shares=data.draw(st.integers(1, 3)))
            assert whole.key == spilled.key == shared.key
            assert whole.unkeyed == spilled.unkeyed == shared.unkeyed
            assert whole.rows() == spilled.rows() == shared.rows()

    @inherited
    @given(st.data())
    def test_merged_runs_are_the_run_of_all_their_files(self, data: st.DataObject) -> None:
        types = data.draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=2))
        files = data.draw(tables(types))
        kind = self.kind(len(types))
        order = data.draw(st.permutations(range(len(files))))
        cut = data.draw(st.integers(0, len(files)))
        with folder() as a, folder() as b:
            whole = written(a, kind, files, types)
            both = merged_of_two(b, kind, files, types, order, cut)
            assert sorted(both.unkeyed) == whole.unkeyed
            for literals_ in {row for file in files for group in file for row in group if None not in row}:
                asked = [tuple(map(Literal, literals_))]  # type: ignore[arg-type]
                expected = whole.reader(types).among(asked)
                found = both.reader(types).among(asked)
                assert expected is not None
                assert found is not None
                if self.exact:
                    assert found.mask(len(files)).tolist() == expected.mask(len(files)).tolist()
                for ordinal, file in enumerate(files):
                    if ordinal in both.unkeyed:
                        continue
                    there = [any(_same(row, literals_) for row in rows) for rows in file]
                    assert found.mask(len(files))[ordinal] or not any(there)
                    groups = found.groups(ordinal, len(file))
                    assert groups is None or all(kept or not one for kept, one in zip(groups, there, strict=True))
            if self.canonical_rows:
                assert whole.rows() == both.rows()

    def test_nothing_is_left_of_a_file_that_is_left_out_of_a_merge(self, tmp_path: Path) -> None:
        files: list[File] = [[[(f"secret-{file}-{row}",) for row in range(30)]] for file in range(3)]
        built = written(tmp_path / "a", self.kind(1), files, [pa.string()])
        both = merged(tmp_path / "b", [(built, [0, -1, 1])], 2)
        reader = both.reader([pa.string()])
        for file, expected in ((0, [True, False]), (2, [False, True])):
            hits = reader.among([(Literal(f"secret-{file}-7"),)])
            kept = zip(hits.mask(2).tolist(), expected, strict=True)
            assert both.unkeyed or all(one or not there for one, there in kept)
        if self.exact:
            gone = reader.among([(Literal("secret-1-7"),)])
            assert not gone.mask(2).any()
            assert not any(b"secret-1" in path.read_bytes() for path in (tmp_path / "b").rglob("*.mix"))

    @inherited
    @given(st.data())
    def test_keys_of_several_columns(self, data: st.DataObject) -> None:
        types = data.draw(st.lists(st.sampled_from(TYPES), min_size=2, max_size=3))
        files = data.draw(tables(types))
        one = st.tuples(*(literals(t) | values(t).map(lambda v, t=t: Literal(shown(v, t))) for t in types))  # type: ignore[misc]
        asked = [data.draw(one) for _ in range(2)]
        rows = [row for file in files for group in file for row in group if None not in row]
        if rows:
            asked.append(tuple(map(Literal, data.draw(st.sampled_from(rows)))))  # type: ignore[arg-type]
        with folder() as root:
            built = written(root, self.kind(len(types)), files, types)
            reader = built.reader(types)
            for literals_ in asked:
                hits = reader.among([literals_])
                kept = self.kept(built, hits, len(files))
                for ordinal, file in enumerate(files):
                    there = any(all(map(_equal, row, literals_)) for group in file for row in group)
                    assert kept[ordinal] or not there
                    if self.exact and hits is not None and ordinal not in built.unkeyed:
                        assert kept[ordinal] == there

    @inherited
    @given(st.data())
    def test_a_column_that_changed_its_type(self, data: st.DataObject) -> None:
        changes = [(old, new) for old in TYPES for new in TYPES if old != new and answers_for(old, new)]
        old, new = data.draw(st.sampled_from(changes))
        files = data.draw(tables([old]))
        literal = data.draw(literals(new) | literals(old))
        try:
            now = [
                [[(shown(pa.array([row[0]], old).cast(new)[0].as_py(), new),) for row in group] for group in file]
                for file in files
            ]
        except pa.ArrowInvalid:
            return
        with folder() as root:
            built = written(root, self.kind(1), files, [old])
            reader = built.reader([new])
            self.check(built, reader.among([(literal,)]), now, Comparison(C, Op.EQ, literal))
            try:
                hits = reader.between(Interval(literal, None, True))
                self.check_truth(built, now, hits, lambda v: within(v, literal, None, (True, False)))
            except LiteralTypeError:
                return

    def test_a_file_that_fails_is_unkeyed_and_forgotten(self, tmp_path: Path) -> None:
        files: list[File] = [[[(f"{file}-{row}",) for row in range(40)]] for file in range(4)]
        for limit in (TINY, MANY):
            added = [pa.array([row[0] for row in group]) for group in (files[2][0], files[0][0])]
            built = written_but_one(tmp_path, self.kind(1), files, limit, *added)
            assert 2 in built.unkeyed
            assert built.key.unkeyed_files == len(built.unkeyed)
            hits = built.reader([pa.string()]).among([(Literal("2-7"),)])
            assert not hits.mask(4)[2]

    def test_no_files_and_files_without_rows(self, tmp_path: Path) -> None:
        for name, files in {"none": [], "empty": [[], [[]]], "null": [[[(None,), (None,)]]]}.items():
            built = written(tmp_path / name, self.kind(1), files, [pa.int64()])
            hits = built.reader([pa.int64()]).among([(Literal(1),)])
            assert not hits.mask(len(files)).any()

    def test_a_look_up_takes_at_most_three_reads(self, tmp_path: Path) -> None:
        files: list[File] = [[[(f"{file % 7}-{row}",) for row in range(300)] for _ in range(2)] for file in range(20)]
        built = written(tmp_path, self.kind(1), files, [pa.string()])
        for value in ("3-100", "6-299", "none"):
            count = ReadCount()
            built.reader([pa.string()], count).among([(Literal(value),)])
            assert 1 <= count.reads <= 3


def both_answer(one: Hits | None, other: Hits | None) -> bool:
    """Either both do or neither."""
    assert (one is None) == (other is None)
    return one is not None


def kind_from_log(kind: KeyKind) -> Kind:
    return KINDS.of(KindSpec(**json.loads(json.dumps(asdict(kind.spec())))))


def within(value: object, low: Literal | None, high: Literal | None, opens: tuple[bool, bool]) -> bool:
    if value is None or (isinstance(value, float) and value != value):
        return False
    if low is not None and compare_values(value, low.value) < opens[0]:
        return False
    return high is None or -compare_values(value, high.value) >= opens[1]


def _same(row: tuple[object, ...], other: tuple[object, ...]) -> bool:
    return None not in row and all(compare_values(a, b) == 0 for a, b in zip(row, other, strict=True))


def _equal(value: object, literal: Literal) -> bool:
    try:
        return value is not None and compare_values(value, literal.value) == 0
    except LiteralTypeError:
        return False
