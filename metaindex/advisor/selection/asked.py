"""The tables of a workload with their questions, and the indexes picked for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from metaindex.advisor.clustering.advised import Advice
from metaindex.advisor.clustering.sample import Sampled
from metaindex.advisor.hypothetical.weigh import Asked, TableContext
from metaindex.core import dataclass
from metaindex.index import Kind

from .choosing import Some
from .evaluation import QuerySpared, TableEvaluation, less

LEAST: Final = 0.002
"""Of what a workload reads of a table without any index, what an index has to leave out. A share of what it reads now
would be less with each index that is created, and what was refused beside them would be recommended then."""


@dataclass(frozen=True, slots=True)
class TableAsked:
    """A table and what the workload asks of it. `sql_name`: as SQL names it; `options`: of readers, with which it is
    open; `taken`: names of indexes that are used; `sizes`: bytes of the indexes that there are; `helped`: how many
    queries of the table's query log each of them helped, None without a log; `layout`: advice for queries on some
    columns, and what was read for it; `copies`: may indexes keep rows of the table?"""

    asked: Asked
    hand: TableContext
    sql_name: str
    taken: frozenset[str]
    sizes: Mapping[str, int]
    helped: Mapping[str, int] | None
    layout: Callable[[Sequence[str]], tuple[tuple[Advice, ...], Sampled]]
    copies: bool = True
    options: tuple[tuple[str, object], ...] = ()


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
