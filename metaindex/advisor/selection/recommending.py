"""Recommends indexes for a workload and its tables: candidates of all tables compete for one budget."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Final

import numpy as np
import pyarrow.compute as pc

from metaindex.advisor.clustering.layouts import Advice
from metaindex.advisor.clustering.measure import catalog_name, clustering
from metaindex.advisor.clustering.sample import Sampled
from metaindex.advisor.hypothetical.answer import Cost, Upkeep
from metaindex.advisor.hypothetical.baseline import Baseline
from metaindex.advisor.hypothetical.candidates import Candidate, asked_columns
from metaindex.advisor.hypothetical.estimates import NOTHING, Estimate, less, share_of, sum_of
from metaindex.advisor.hypothetical.what_if import Weighing
from metaindex.core import MetaIndexError, Vector, dataclass, human_bytes, percent
from metaindex.formats import ReadOptions
from metaindex.index import KINDS, Kind, OpenIndex
from metaindex.query import Handle, RowReading, TableQueryLog

from .answer import BreakEven, PassedOver, RecommendedIndex, TableAdvice, UnusedIndex, name_of, table_sql, title_of
from .choosing import NONE, Budget, Choosable, Choosing, Some, Step, chosen
from .evaluation import QuerySpared, TableEvaluation

OF_INDEXES: Final = 0.75
"""Of what may be read, what is for indexes; advice on the layout takes the rest."""
LEAST: Final = 0.002
"""Of what a workload reads of a table without any index, what an index has to leave out. A share of what it reads now
would be less with each index that is created, and what was refused beside them would be recommended then."""


@dataclass(frozen=True, slots=True)
class Picked:
    """A chosen index: numbers of candidates of its table, and their kinds."""

    case: int
    some: Some
    kinds: tuple[Kind, ...]


def adds_of(case: TableEvaluation, some: Some, before: Some) -> QuerySpared:
    """Return what they add over the workload, beside those before."""
    each = each_adds(case, some, before)
    files = [case.now(number).reads.files.expected for number in range(len(each))]
    return QuerySpared(case.total([of.size_bytes for of in each]), case.total([of.files for of in each], files))


def each_adds(case: TableEvaluation, some: Some, before: Some) -> list[QuerySpared]:
    """Return what they add to one run of each query."""
    adds = []
    for number in range(len(case.queries)):
        if some & case.touched[number]:
            was, then = case.spared(number, before), case.spared(number, before | some)
            adds.append(QuerySpared(less(then.size_bytes, was.size_bytes), less(then.files, was.files)))
        else:
            adds.append(QuerySpared())
    return adds


def all_of(picked: Sequence[Picked], case: int) -> Some:
    """Return all candidates picked for a table."""
    return frozenset(number for index in picked if index.case == case for number in index.some)


_HELPED: Final = 0.5
"""A query that is spared this share of its bytes is helped."""
_WORTH: Final = 0.1
"""Of the workload's bytes, what the others have to read to be spoken of."""
_MOST: Final = 2
_READINGS: Final = 8
"""Queries of which it is looked at what reading a row takes."""


def columns_left(case: TableEvaluation) -> list[str]:
    """Return the columns by which most is read in spite of all candidates together; none if that is little, or no other
    layout is possible."""
    snapshot = case.weighing.snapshot
    if len(snapshot.files) < 2:
        return []
    left: dict[str, float] = {}
    unhelped = 0.0
    helped = _helped_already(case)
    for number, query in enumerate(case.queries):
        rest = query.weight - case.spared_bytes(number, case.touched[number])
        if rest < (1 - _HELPED) * query.weight or helped[number]:
            continue
        asked = asked_columns([query.tree], snapshot.schema)
        names = dict.fromkeys((*asked.ranged, *asked.compared))
        unhelped += rest if names else 0.0
        for name in names:
            left[name] = left.get(name, 0.0) + rest
    if unhelped < _WORTH * case.read_bytes:
        return []
    return sorted(left, key=lambda name: (-left[name], name))[:_MOST]


def _helped_already(case: TableEvaluation) -> list[bool]:
    """Return for each query whether existing indexes spare it that much of what it would read without them."""
    standing = case.weighing.baseline
    if not standing.indexes:
        return [False] * len(case.queries)
    sizes = Vector(standing.snapshot.files.table.column("size_bytes")).numbers
    alone = Baseline(standing.snapshot).kept_each([query.tree for query in case.queries])
    nows = (case.now(number).reads.size_bytes.expected for number in range(len(case.queries)))
    return [now <= (1 - _HELPED) * float(sizes[mask].sum()) for now, mask in zip(nows, alone, strict=True)]


def unused_of(case: TableEvaluation) -> tuple[UnusedIndex, ...]:
    """Return the unused indexes, by the files that each query keeps, exactly; the largest index first, each without
    those before. One whose rows are read in the table's place is unused if no query asks, joins or groups by its first
    column. One that helped a query of the query log is in use."""
    standing = case.weighing.baseline
    trees = list(case.weighing.nows)
    asked = _asked(case)
    handle = case.weighing.handle
    helped = _helped(handle)
    sizes = {entry.name: sum(run.size_bytes for run in entry.content.runs) for entry in handle.entries()}
    unused = []
    for index in sorted(standing.indexes, key=lambda index: (-sizes.get(index.name, 0), index.name)) if trees else ():
        if (helped and helped.get(index.name)) or not _firsts(index).isdisjoint(asked):
            continue
        without = Baseline(standing.snapshot, tuple(other for other in standing.indexes if other is not index))
        if all(np.array_equal(a, b) for a, b in zip(standing.kept_each(trees), without.kept_each(trees), strict=True)):
            standing = without
            count = None if helped is None else helped.get(index.name, 0)
            unused.append(UnusedIndex(index.name, sizes.get(index.name, 0), count))
    return tuple(unused)


def _firsts(index: OpenIndex) -> set[str]:
    """The first columns of what it has to be read in the table's place."""
    return {key.columns[0].name.lower() for run in index.entry.content.runs for key in KINDS.served_keys(run)}


def _asked(case: TableEvaluation) -> set[str]:
    """Columns that queries restrict, join and group by."""
    queries = case.weighing.queries
    keys = {name for query in queries for name in query.keys}
    return keys | {ref.name.lower() for tree in case.weighing.nows for ref in tree.columns}


def described(
    cases: Sequence[TableEvaluation],
    picked: Sequence[Picked],
    costs: Sequence[Sequence[Cost]],
    days: float | None,
) -> tuple[RecommendedIndex, ...]:
    """Describe the picked indexes in their order, each with what it adds beside those before it."""
    taken = [set(case.weighing.handle.indexes().names()) for case in cases]
    before = [NONE for _ in cases]
    every = [all_of(picked, at) for at in range(len(cases))]
    indexes = []
    for index, of_index in zip(picked, costs, strict=True):
        name = name_of(index.kinds, taken[index.case])
        taken[index.case].add(name)
        case = cases[index.case]
        indexes.append(_index(case, index, of_index, name, before[index.case], every[index.case], days))
        before[index.case] |= index.some
    return tuple(indexes)


def _index(
    case: TableEvaluation,
    picked: Picked,
    costs: Sequence[Cost],
    name: str,
    before: Some,
    every: Some,
    days: float | None,
) -> RecommendedIndex:
    adds = adds_of(case, picked.some, before)
    shares = case.share([of.size_bytes for of in each_adds(case, picked.some, before)])
    sizes = sum_of([cost.size_bytes for cost in costs if cost.size_bytes is not None])
    cpu = [cost.build_cpu_seconds for cost in costs if cost.build_cpu_seconds is not None]
    kept_up = [cost.upkeep for cost in costs if cost.upkeep is not None]
    upkeep = None
    if kept_up:
        upkeep = Upkeep(sum(cost.size_bytes for cost in kept_up), sum(cost.cpu_seconds for cost in kept_up))
    helped = [at for at in range(len(case.queries)) if case.spared(at, picked.some).size_bytes.expected > 0]
    numbers = range(len(case.queries))
    helps = case.total([Estimate.exactly(float(at in helped)) for at in numbers], [1.0] * len(numbers))
    build = case.needed_bytes(picked.kinds) + sizes.expected
    return RecommendedIndex(
        table=case.weighing.handle.path,
        name=name,
        kinds=picked.kinds,
        sql_name=_sql_name(case.weighing),
        adds_bytes=adds.size_bytes,
        adds_files=adds.files,
        saved=shares,
        reads_bytes=case.reads_bytes,
        queries=case.seen,
        helps_queries=helps,
        left_out=_left_out(case, helped, every),
        size_bytes=sizes,
        build_cpu_seconds=sum(cpu) if cpu else None,
        upkeep=upkeep,
        break_even=_break_even(adds.size_bytes, build, upkeep, days),
        notes=tuple(dict.fromkeys(note for cost in costs for note in cost.notes)),
        options=_options(case.weighing.handle),
    )


def _left_out(case: TableEvaluation, helped: Sequence[int], every: Some) -> Estimate:
    """Estimate the share of the table's bytes that these queries do not read, on average over how often they are
    asked."""
    whole = float(case.weighing.snapshot.files.size_bytes)
    runs = sum(case.queries[at].seen for at in helped)
    each = [NOTHING] * len(case.queries)
    for at in helped:
        out = Estimate.exactly(whole - case.now(at).reads.size_bytes.expected)
        each[at] = sum_of([out, case.spared(at, every).size_bytes])
    return share_of(case.total(each, [whole] * len(each)), runs * whole)


def _break_even(spared: Estimate, build: float, upkeep: Upkeep | None, days: float | None) -> BreakEven:
    """`spared`, and `build`: bytes of a run of the workload, and of the build."""
    soonest, expected, latest = (_runs(end, build, upkeep, days) for end in (spared.high, spared.expected, spared.low))
    of_days = None if expected is None or not days else expected * days
    return BreakEven(expected, of_days, soonest, latest, soonest != latest)


def _runs(spared: float, build: float, upkeep: Upkeep | None, days: float | None) -> float | None:
    if days is None or not days:
        return build / spared if spared > 0 else None
    a_day = spared / days - (upkeep.size_bytes if upkeep is not None else 0.0)
    return build / a_day / days if a_day > 0 else None


def advice_of(case: TableEvaluation, some: Some, left: Budget, sample: float | None) -> TableAdvice:
    """`left`: of the budget; `sample`: that was asked for."""
    weighing = case.weighing
    snapshot = weighing.snapshot
    numbers = range(len(case.queries))
    spared = [case.spared(number, some).size_bytes for number in numbers]
    nows = [case.now(number).reads.size_bytes for number in numbers]
    then = [less(now, saved) for now, saved in zip(nows, spared, strict=True)]
    layouts: tuple[Advice, ...] = ()
    notes = [*weighing.notes, *case.notes, *_why_nothing(case, some)]
    if columns := columns_left(case):
        layouts, read = _layout(weighing, columns, sample)
        notes += [read.said] if read.said else []
    reading = _reading(case)
    notes += [reading.advice] if reading is not None and reading.advice else []
    return TableAdvice(
        table=weighing.handle.path,
        format=snapshot.format,
        version=str(snapshot.version),
        files=len(snapshot.files),
        size_bytes=snapshot.files.size_bytes,
        queries=sum(query.seen for query in weighing.queries),
        reads_bytes=case.reads_bytes,
        then_bytes=case.total(then),
        saved=case.share(spared),
        refused=tuple((query.text, query.problem) for query in weighing.queries if query.problem),
        passed=tuple(_passed(case, some, left)),
        unused=unused_of(case),
        layouts=layouts,
        sampled=weighing.sampled if case.candidates else Sampled(),
        rate=weighing.rate,
        notes=tuple(notes),
        reading=reading,
    )


def _reading(case: TableEvaluation) -> RowReading | None:
    """Return what reading one row takes, of the heaviest query that loses much to large row groups."""
    heaviest = sorted(case.queries, key=lambda query: -query.weight)[:_READINGS]
    readings = [reading for query in heaviest if (reading := case.weighing.reading(query)) is not None]
    return next((reading for reading in readings if reading.advice), next(iter(readings), None))


def _why_nothing(case: TableEvaluation, some: Some) -> list[str]:
    """Return why there is nothing to choose from."""
    if some or case.candidates:
        return []
    if not len(case.weighing.snapshot.files):
        return ["nothing is recommended: the table has no files"]
    if not case.weighing.queries:
        return ["nothing is recommended: the workload asks nothing of it"]
    if not case.read_bytes:
        return ["nothing is recommended: no query of the workload reads any file of it now"]
    return ["nothing is recommended: its queries have no condition that an index could answer"]


def _passed(case: TableEvaluation, some: Some, left: Budget) -> list[PassedOver]:
    return [
        PassedOver(
            candidate.name, case.unjudged(number) or _why_not(case, number, some, left), not case.unjudged(number)
        )
        for number, candidate in enumerate(case.candidates)
        if number not in some
    ]


def _why_not(case: TableEvaluation, number: int, some: Some, left: Budget) -> str:
    cost = case.built[number].cost
    if cost.problem:
        return f"it cannot be built: {cost.problem}"
    assert cost.size_bytes is not None, "it was judged"
    if not any(number in touching for touching in case.touched):
        reads = [case.copy_read(at, number) for at in range(len(case.queries))] if case.built[number].copies else []
        return next((read.note for read in reads if read.fits), "no query of the workload can use it")
    alone = frozenset([number])
    adds = adds_of(case, alone, some).size_bytes.expected
    if adds >= LEAST * case.unindexed_bytes:
        if cost.size_bytes.expected > left.size_bytes or (cost.build_cpu_seconds or 0.0) > left.cpu_seconds:
            return f"no budget is left for it: {human_bytes(round(cost.size_bytes.expected))}"
        return f"its upkeep takes more than the {human_bytes(round(adds))} that it leaves out"
    beside = "beside those" if some else "of the workload's reads"
    what = f"{human_bytes(round(adds))} ({percent(adds / case.read_bytes)})" if adds and case.read_bytes else "nothing"
    why = f"; {cost.notes[0]}" if not adds and cost.notes and case.built[number].index is not None else ""
    return f"it leaves out {what}{' more' if some else ''} {beside}{why}"


def _options(handle: Handle) -> tuple[tuple[str, object], ...]:
    """Return the reader options with which the table is open, without a schema that has no text."""
    if not handle.table_format.reader_options:
        return ()
    return tuple(handle.read.in_text.items())


def _sql_name(weighing: Weighing) -> str:
    """The table as statements name it, so that its files are read as they are here."""
    handle = weighing.handle
    file_format = str(weighing.snapshot.details.read_options().get("file_format", "parquet"))
    name = table_sql(handle.table_format.called(file_format), handle.path, catalog_name(handle))
    options = _options(handle)
    if file_format == "csv" and not any(key.lower() == "header" for key, _ in options):
        options = (("header", True), *options)  # to Spark a header has to be said
    return ReadOptions.in_sql(name, options)


def _helped(handle: Handle) -> Mapping[str, int] | None:
    """Count by index the queries of the query log that it helped; None if no query log can be read."""
    try:
        rows = handle.made(TableQueryLog).read(waiting=False).rows
    except MetaIndexError:
        return None
    if not rows.num_rows:
        return None
    counts = pc.value_counts(pc.list_flatten(rows.column("indexes")).combine_chunks())
    return {count["values"]: count["counts"] for count in counts.to_pylist() if count["values"] is not None}


def _layout(weighing: Weighing, columns: Sequence[str], sample: float | None) -> tuple[tuple[Advice, ...], Sampled]:
    """Advise on the layout for queries on some columns; return what was read for it, too."""
    handle, part = weighing.handle, 1 - OF_INDEXES
    try:
        layout = clustering(handle, columns, version=None, timestamp=None, sample=sample, indexes=None, part=part)
    except MetaIndexError as error:  # what no column can be laid out by is advised of nothing
        return (), Sampled(reason=str(error))
    return layout.advice[:1], layout.sampled


Progress = Callable[[str, int, int], None]


def recommended(
    tables: Sequence[Weighing],
    sample: float | None,
    budget: Budget,
    days: float | None,
    progress: Progress | None,
) -> tuple[tuple[RecommendedIndex, ...], tuple[TableAdvice, ...]]:
    """The indexes in their order, and what there is to say of each table. Raises what reading a table's list of files
    raises."""
    with tempfile.TemporaryDirectory(prefix="_metaindex-") as folder:
        cases = [_case(table, folder, progress) for table in tables]
        picked = _picked(cases, _steps(cases, budget, days))
        costs = [_costs(cases[index.case], index, folder) for index in picked]
        indexes = described(cases, picked, costs, days)
        chosen_of = [all_of(picked, at) for at in range(len(cases))]
        left = _left(cases, chosen_of, budget)
        advice = [advice_of(case, some, left, sample) for case, some in zip(cases, chosen_of, strict=True)]
    return indexes, tuple(advice)


def _case(table: Weighing, folder: str, progress: Progress | None) -> TableEvaluation:
    def report(done: int, total: int) -> None:
        if progress is not None:
            progress(f"weighing indexes of {table.handle.path}", done, total)

    return TableEvaluation.of(table, folder, report)


def _steps(cases: Sequence[TableEvaluation], budget: Budget, days: float | None) -> list[tuple[int, Step]]:
    """Choose steps, each with its table. Candidates and questions are numbered through all tables."""
    starts = [0, *accumulate(len(case.candidates) for case in cases[:-1])]
    places = [(at, number) for at, case in enumerate(cases) for number in range(len(case.queries))]

    def moved(some: Some, by: int) -> Some:
        return frozenset(number + by for number in some)

    def spared(question: int, some: Some) -> float:
        at, number = places[question]
        return cases[at].spared_bytes(number, moved(some, -starts[at]))

    choosing = Choosing(
        candidates=[_choosable(case, number, days) for case in cases for number in range(len(case.candidates))],
        touched=[moved(cases[at].touched[number], starts[at]) for at, number in places],
        spared=spared,
        options=[moved(some, starts[at]) for at, case in enumerate(cases) for some in case.options()],
        budget=budget,
    )
    steps = []
    for step in chosen(choosing):
        at = max(at for at, start in enumerate(starts) if start <= min(step.taken))
        steps.append((at, Step(moved(step.taken, -starts[at]), step.gain)))
    return steps


def _choosable(case: TableEvaluation, number: int, days: float | None) -> Choosable:
    cost = case.built[number].cost
    size = float("inf") if cost.size_bytes is None else cost.size_bytes.expected
    upkeep = cost.upkeep.size_bytes * days if cost.upkeep is not None and days is not None else 0.0
    return Choosable(size, cost.build_cpu_seconds or 0.0, upkeep, LEAST * case.unindexed_bytes)


def _picked(cases: Sequence[TableEvaluation], steps: Sequence[tuple[int, Step]]) -> list[Picked]:
    """Indexes: candidates of one kind become one, which reads each file once and is asked once."""
    picked: list[Picked] = []
    for at, step in steps:
        for number in sorted(step.taken):
            kinds = cases[at].candidates[number].kinds
            for place, other in enumerate(picked):
                if other.case == at and (together := _united(other.kinds, kinds)) is not None:
                    picked[place] = Picked(at, other.some | {number}, together)
                    break
            else:
                picked.append(Picked(at, frozenset([number]), kinds))
    return picked


def _united(kinds: Sequence[Kind], more: Sequence[Kind]) -> tuple[Kind, ...] | None:
    if len(kinds) != 1 or len(more) != 1:
        return None
    together = kinds[0].united(more[0])
    return None if together is None else (together,)


def _costs(case: TableEvaluation, picked: Picked, folder: str) -> list[Cost]:
    """Return the costs of the index. Candidates that became one, or have fewer columns now, are built once more, as
    shared parts count once."""
    if len(picked.some) > 1 or picked.some & case.narrowed:
        candidate = Candidate(title_of(picked.kinds), picked.kinds)
        together = case.weighing.built(candidate, folder, footers=False).cost
        if not together.problem:
            return [together]
    return [case.built[number].cost for number in sorted(picked.some)]


def _left(cases: Sequence[TableEvaluation], chosen_of: Sequence[Some], budget: Budget) -> Budget:
    """Return what the chosen ones leave of the budget."""
    costs = [case.built[number].cost for case, some in zip(cases, chosen_of, strict=True) for number in some]
    size = sum(cost.size_bytes.expected for cost in costs if cost.size_bytes is not None)
    return Budget(budget.size_bytes - size, budget.cpu_seconds - sum(cost.build_cpu_seconds or 0.0 for cost in costs))
