"""Parts of a predicate: its leaves, its columns, and the conjuncts."""

from __future__ import annotations

from .normal_form import normalize
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
    """The columns that are read, each once, in order of first use. Looked for once in a tree, which never changes."""
    if not isinstance(p, And | Or | Not):
        return _columns(p)
    kept: tuple[ColumnRef, ...] | None = vars(p).get("_columns")
    if kept is None:
        kept = _columns(p)
        object.__setattr__(p, "_columns", kept)
    return kept


def _columns(p: Predicate) -> tuple[ColumnRef, ...]:
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
