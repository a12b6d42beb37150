"""The normal form: the same three-valued answer for every row, in fewer shapes.

* NOT stands only directly above IN, IS NULL, IS NAN, a prefix, `<=>` with a value, and what is opaque; above a
  comparison it turns the operator.
* AND in AND and OR in OR are flat; TRUE and FALSE are folded away; NULL is not FALSE, as it stays NULL under NOT: `a
  AND NULL` keeps its NULL.
* `x >= v AND x <= v`, which BETWEEN is, is `x = v`.
* `x = NULL` and its like are NULL, `x <=> NULL` is IS NULL, `x IN ()` is FALSE (for a NULL x too), `a = 1 OR a = 2` is
  IN.

One pass without recursion, linear in the size of the tree: ten thousand ORs, however nested, are one OR.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar, assert_never

from .literals import Literal, each_once
from .tree import (
    And,
    ColumnRef,
    Comparison,
    Constant,
    In,
    IsNan,
    IsNull,
    Leaf,
    Not,
    Op,
    Opaque,
    Or,
    Predicate,
    StartsWith,
)

A = TypeVar("A")
R = TypeVar("R")

NEGATED = {
    Op.EQ: Op.NE,
    Op.NE: Op.EQ,
    Op.LT: Op.GE,
    Op.GE: Op.LT,
    Op.GT: Op.LE,
    Op.LE: Op.GT,
}
"""NOT of a comparison, sound in three values as NULL stays NULL, and for NaN as Spark's order is total."""


def normalize(p: Predicate) -> Predicate:
    """The normal form of a predicate; the same answer for every row."""
    return fold_signed(p, False, _normal_leaf, _append, _close)


def halved(parts: Sequence[A], join: Callable[[A, A], A]) -> A:
    """Join in halves and not in a chain: engines walk their trees by recursion."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return join(halved(parts[:middle], join), halved(parts[middle:], join))


def conjuncts(p: Predicate) -> tuple[Predicate, ...]:
    """The parts of the top AND, in normal form; a row matches when each is TRUE. TRUE itself has none."""
    normal = normalize(p)
    if isinstance(normal, And):
        return normal.parts
    return () if normal == Constant(True) else (normal,)


def gathered_form(p: Predicate) -> Predicate:
    """The normal form without trust in one order of NaN: NOT stays above `<`, `<=`, `>`, `>=` and every comparison with
    NaN. `skipping` walks this one."""
    if not isinstance(p, And | Or | Not):
        return fold_signed(p, False, _unturned_leaf, _append, _close)
    # A tree never changes, and every source of a question walks the same one: its form stays with it, and of the form
    # itself it is known that it is one.
    kept: Predicate | bool | None = vars(p).get("_gathered")
    if kept is None and _is_gathered(p):
        object.__setattr__(p, "_gathered", True)
        return p
    if kept is None:
        kept = fold_signed(p, False, _unturned_leaf, _append, _close)
        object.__setattr__(kept, "_gathered", True)
        object.__setattr__(p, "_gathered", kept)
    return p if isinstance(kept, bool) else kept


def _is_gathered(p: Predicate) -> bool:
    """Return whether the predicate is an OR of ANDs of comparisons, as programs write them by the thousand, that
    already is in normal form. False for anything less plain."""
    if not isinstance(p, Or) or len(p.parts) < 2:
        return False
    for term in p.parts:
        if not isinstance(term, And) or len(term.parts) < 2:
            return False
        named = set()
        for part in term.parts:
            if not isinstance(part, Comparison) or part.value.value is None:
                return False
            named.add(part.column)
        if len(named) < len(term.parts):  # some of them may be said as one
            return False
    return True


def _unturned_leaf(leaf: Leaf, negated: bool) -> Predicate:
    if negated and isinstance(leaf, Comparison) and (leaf.op not in (Op.EQ, Op.NE) or leaf.value.is_nan):
        return _normal_leaf(leaf, True) if leaf.value.is_null else Not(leaf)
    return _normal_leaf(leaf, negated)


def fold_signed(
    root: Predicate,
    negated: bool,
    leaf: Callable[[Leaf, bool], R],
    add: Callable[[bool, A | None, R], A],
    close: Callable[[bool, A | None], R],
) -> R:
    """A walk that carries NOT down to the leaves and turns AND and OR on the way.

    `leaf(node, negated)` answers for a leaf, `add(conjunctive, so_far, answer)` takes one more part of an AND (or OR,
    when not conjunctive), `close(conjunctive, so_far)` ends it; `so_far` is None before the first part. An AND directly
    within an AND is not opened anew. No recursion.
    """
    if not isinstance(root, And | Or | Not):  # most predicates of a look-up: the walk below, said shortly
        return close(True, add(True, None, leaf(root, negated)))
    opened: list[tuple[bool, A | None]] = [(True, None)]  # the root is a part of an AND of one
    end: tuple[None, bool] = (None, False)
    todo: list[tuple[Predicate, bool] | tuple[None, bool]] = [(root, negated)]
    while todo:
        node, sign = todo.pop()
        match node:
            case None:
                conjunctive, so_far = opened.pop()
                answer = close(conjunctive, so_far)
                above, so_far = opened[-1]
                opened[-1] = (above, add(above, so_far, answer))
            case Not():
                todo.append((node.child, not sign))
            case And() | Or():
                conjunctive = isinstance(node, And) != sign
                if not (node.parts and opened[-1][0] == conjunctive):
                    opened.append((conjunctive, None))
                    todo.append(end)
                todo += ((part, sign) for part in reversed(node.parts))
            case Comparison() | In() | IsNull() | IsNan() | StartsWith() | Opaque() | Constant():
                above, so_far = opened[-1]
                opened[-1] = (above, add(above, so_far, leaf(node, sign)))
            case _:
                assert_never(node)
    ((conjunctive, so_far),) = opened
    return close(conjunctive, so_far)


def _normal_leaf(leaf: Leaf, negated: bool) -> Predicate:
    match leaf:
        case Constant():
            return Constant(None if leaf.value is None else leaf.value != negated)
        case Comparison(op=Op.NULL_SAFE_EQ):
            plain: Predicate = IsNull(leaf.column) if leaf.value.is_null else leaf
        case Comparison():
            if leaf.value.is_null:
                return Constant(None)
            return Comparison(leaf.column, NEGATED[leaf.op], leaf.value) if negated else leaf
        case In():
            return _membership(leaf.column, leaf.values, negated)
        case IsNull() | IsNan() | StartsWith() | Opaque():
            plain = leaf
        case _:
            assert_never(leaf)
    return Not(plain) if negated else plain


def _membership(column: ColumnRef, values: tuple[Literal, ...], negated: bool) -> Predicate:
    values = each_once(values)
    if not values:
        return Constant(negated)
    if all(value.is_null for value in values):
        return Constant(None)
    if len(values) == 1:
        return Comparison(column, Op.NE if negated else Op.EQ, values[0])
    return Not(In(column, values)) if negated else In(column, values)


def _append(conjunctive: bool, parts: list[Predicate] | None, part: Predicate) -> list[Predicate]:
    parts = [] if parts is None else parts
    if isinstance(part, And if conjunctive else Or):  # what was left of a nested one
        parts.extend(part.parts)
    else:
        parts.append(part)
    return parts


def _close(conjunctive: bool, parts: list[Predicate] | None) -> Predicate:
    neutral, ruling = conjunctive, not conjunctive
    kept: list[Predicate] = []
    some_null = False
    for part in parts or ():
        if isinstance(part, Constant):
            if part.value is ruling:
                return part
            some_null = some_null or part.value is None
        else:
            kept.append(part)
    kept = gather_equalities(_met(kept) if conjunctive else kept, conjunctive=conjunctive)
    if some_null:
        kept.append(Constant(None))
    if not kept:
        return Constant(neutral)
    if len(kept) == 1:
        return kept[0]
    return And(tuple(kept)) if conjunctive else Or(tuple(kept))


def _met(parts: list[Predicate]) -> list[Predicate]:
    """The parts of an AND with `x >= v` and `x <= v` as `x = v`: the same for every row, NULLs included, and NaN,
    whatever an engine thinks of its order."""
    low: dict[object, int] = {}
    high: list[tuple[object, int]] = []
    for place, conjunct in enumerate(parts):
        if isinstance(conjunct, Comparison) and conjunct.op in (Op.GE, Op.LE) and not conjunct.value.is_nan:
            end = (conjunct.column, conjunct.value.kind, conjunct.value.value)
            if conjunct.op is Op.GE:
                low[end] = place
            else:
                high.append((end, place))
    if not low or not high:
        return parts
    out: list[Predicate | None] = [*parts]
    for upper, place in high:
        first = low.pop(upper, None)
        if first is not None:
            conjunct = parts[first]
            assert isinstance(conjunct, Comparison)
            out[first], out[place] = Comparison(conjunct.column, Op.EQ, conjunct.value), None
    return [left for left in out if left is not None]


def gather_equalities(parts: list[Predicate], *, conjunctive: bool) -> list[Predicate]:
    """The parts of an OR with `=` and IN on one column as one IN; of an AND with `!=` and NOT IN as one NOT IN. The
    same for every row, NULLs included."""
    places: dict[ColumnRef, int] = {}
    gathered: dict[int, list[Literal]] = {}
    out: list[Predicate] = []
    for part in parts:
        equality = _equality(part, conjunctive)
        if equality is None:
            out.append(part)
            continue
        column, values = equality
        place = places.setdefault(column, len(out))
        if place == len(out):
            out.append(part)
            gathered[place] = []
        gathered[place].extend(values)
    for column, place in places.items():
        out[place] = _membership(column, tuple(gathered[place]), conjunctive)
    return out


def _equality(part: Predicate, negated: bool) -> tuple[ColumnRef, tuple[Literal, ...]] | None:
    match part:
        case Comparison():
            return (part.column, (part.value,)) if part.op is (Op.NE if negated else Op.EQ) else None
        case In():
            return None if negated else (part.column, part.values)
        case Not(In() as child):
            return (child.column, child.values) if negated else None
        case _:
            return None
