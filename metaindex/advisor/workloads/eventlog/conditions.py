"""The conditions of a scan, from the places where a plan prints them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from metaindex.advisor.workloads.shape import shape_of
from metaindex.advisor.workloads.statements import condition
from metaindex.core import ExpressionError
from metaindex.expressions import (
    ColumnRef,
    Comparison,
    In,
    Opaque,
    Predicate,
    PrintedColumns,
    Unclear,
    columns,
    conjoined,
    conjuncts_of,
    fold,
    printed_columns,
    printed_parts,
    printed_predicate,
    without_said,
)

from .scan_nodes import ScanSeen

_BY_SPARK: Final = ("dynamicpruning", "might_contain(")
"""In conditions that Spark adds for the sake of a join."""
_NUMBER: Final = re.compile(r"#(\d{1,18})")
_PIECE: Final = re.compile(r"'[^']*+(?:'(?!, |\)|\Z| )[^']*+)*'?|[(\[]|[)\]]|, ")
_NUMBER_ALONE: Final = "a number is told with its type; Iceberg's text does not say whether it is a time"


def predicate_of(scan: ScanSeen, above: Sequence[str], time_zone: str | None, tell: Callable[[str], None]) -> Predicate:
    """`above`: conditions of filters over the scan. `tell`: is told why something of the conditions is not known; that
    is named with its columns alone."""
    printed = PrintedColumns(scan.types, scan.pushed, time_zone)
    known: dict[str, Predicate] = {}
    unclear: list[Predicate] = []
    for part in _parts(scan, above):
        try:
            predicate = printed_predicate(part, printed)
        except Unclear as error:
            tell(str(error))
            unclear.append(_opaque(printed_columns(part)))
        else:
            known.setdefault(shape_of(predicate), predicate)
    for part in _pieces(scan.described):
        _described(part, scan, known, unclear, tell)
    return without_said(conjoined([*known.values(), *(part for part in unclear if columns(part))]))


def _parts(scan: ScanSeen, above: Sequence[str]) -> Iterator[str]:
    """Return the conditions of a scan. Filters above repeat the scan's own; if it has these whole, they are enough."""
    over = [text for text in above if _is_of(text, scan)]
    lists = [scan.partition_filters]
    if scan.data_filters.endswith("]") or not over:
        lists.append(scan.data_filters)
        over = []
    parts = [part for listed in lists for part in printed_parts(listed)]
    parts += [part for text in over for part in conjuncts_of(text)]
    return (part for part in parts if not any(word in part for word in _BY_SPARK))


def _is_of(text: str, scan: ScanSeen) -> bool:
    """Return whether all its columns are the scan's."""
    numbers = {int(number) for number in _NUMBER.findall(text)}
    return bool(numbers) and numbers <= scan.output.keys()


def _described(
    part: str, scan: ScanSeen, known: dict[str, Predicate], unclear: list[Predicate], tell: Callable[[str], None]
) -> None:
    """Return a condition in Iceberg's words, unless a filter has the same: times are numbers there."""
    try:
        predicate = condition(part)
    except ExpressionError:
        predicate = Opaque(part)
    shape = shape_of(predicate)
    if shape in known or (isinstance(predicate, Opaque) and known):
        return
    longs = {name for number, name in scan.output.items() if number in scan.longs}
    if _is_typed(predicate, longs):
        known[shape] = predicate
    else:
        tell(_NUMBER_ALONE)
        unclear.append(_opaque([ref.name for ref in columns(predicate)]))


def _is_typed(predicate: Predicate, longs: set[str]) -> bool:
    """Return whether its numbers are compared with integer columns, not with times."""

    def of_leaf(leaf: Predicate) -> bool:
        values = [leaf.value] if isinstance(leaf, Comparison) else leaf.values if isinstance(leaf, In) else ()
        numbers = any(type(value.value) is int for value in values)
        return not isinstance(leaf, Opaque) and (not numbers or leaf.column.name in longs)  # type: ignore[union-attr]

    return fold(predicate, of_leaf, lambda child: child, all, all)


def _pieces(text: str) -> Iterator[str]:
    """Split at commas that stand in no bracket, and in no text."""
    start = depth = 0
    for sign in _PIECE.finditer(text):
        if sign[0] == ", " and not depth:
            yield text[start : sign.start()]
            start = sign.end()
        elif sign[0] in "([)]":
            depth += 1 if sign[0] in "([" else -1
    if text[start:].strip():
        yield text[start:]


def _opaque(named: Sequence[str]) -> Opaque:
    return Opaque(f"metaindex_unread({', '.join(named)})", tuple(ColumnRef((name,)) for name in named))
