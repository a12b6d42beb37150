"""What a predicate speaks of: its columns, the parts that all must hold, the values that columns are asked to equal."""

from __future__ import annotations

from .literals import Literal, each_once
from .normalize import normalize
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


def leaves(p: Predicate) -> list[Leaf]:
    """Every leaf, left to right, those under NOT included."""
    out: list[Leaf] = []
    todo: list[Predicate] = [p]
    while todo:
        match node := todo.pop():
            case And() | Or():
                todo += reversed(node.parts)
            case Not():
                todo.append(node.child)
            case _:
                out.append(node)
    return out


def columns(p: Predicate) -> tuple[ColumnRef, ...]:
    """The columns that are read, each once, in order of first use."""
    seen: dict[ColumnRef, None] = {}
    for leaf in leaves(p):
        match leaf:
            case Opaque():
                seen.update(dict.fromkeys(leaf.columns))
            case Comparison() | In() | IsNull() | IsNan() | StartsWith():
                seen[leaf.column] = None
            case Constant():
                pass
    return tuple(seen)


def signed_leaves(p: Predicate) -> tuple[Predicate, ...]:
    """The leaves of a normal form, each once; those under NOT with it. Constants are none."""
    seen: dict[Predicate, None] = {}
    todo: list[Predicate] = [p]
    while todo:
        match node := todo.pop():
            case And() | Or():
                todo += reversed(node.parts)
            case Constant():
                pass
            case _:
                seen[node] = None
    return tuple(seen)


def conjuncts(p: Predicate) -> tuple[Predicate, ...]:
    """The parts of the top AND, in normal form; a row matches when each is TRUE. TRUE itself has none."""
    normal = normalize(p)
    if isinstance(normal, And):
        return normal.parts
    return () if normal == Constant(True) else (normal,)


def equality_leaves(p: Predicate) -> dict[ColumnRef, tuple[Literal, ...]]:
    """Column -> the values that `=`, IN and `<=>` compare it with (NULL never; what stands under NOT neither), each once: what membership indexes are asked."""
    found: dict[ColumnRef, tuple[Literal, ...]] = {}
    for part in leaves_above_not(normalize(p)):
        match part:
            case Comparison(op=Op.EQ | Op.NULL_SAFE_EQ):
                values: tuple[Literal, ...] = (part.value,)
            case In():
                values = part.values
            case _:
                continue
        known = [value for value in values if value.value is not None]
        found[part.column] = each_once((*found.get(part.column, ()), *known))
    return found


def leaves_above_not(p: Predicate) -> list[Leaf]:
    """The leaves of a normal form that no NOT stands above."""
    out: list[Leaf] = []
    todo: list[Predicate] = [p]
    while todo:
        match node := todo.pop():
            case And() | Or():
                todo += reversed(node.parts)
            case Not():
                pass
            case _:
                out.append(node)
    return out
