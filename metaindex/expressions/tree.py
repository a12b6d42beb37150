"""The predicate tree: a closed union of frozen nodes.

Adding a node makes mypy point at every walk (`match` + `assert_never`). Nodes hold what is asked and nothing else:
names are resolved and literals coerced by `bind`, NOT is pushed down by `normalize`, what a predicate says of
files is `skipping`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import field
from enum import Enum
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, TypeVar, assert_never

from metaindex.core import dataclass

from .column_ref import ColumnRef as ColumnRef
from .literals import Literal

if TYPE_CHECKING:
    from .scalars.nodes import Scalar

T = TypeVar("T")


class Op(Enum):
    """Comparison operators; the value is the SQL text."""

    EQ = "="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    NULL_SAFE_EQ = "<=>"

    @property
    def mirrored(self) -> Op:
        """The operator with its sides exchanged."""
        return _MIRRORED.get(self, self)

    def holds(self, left: Any, right: Any) -> Any:
        """Compare as Python does: two values, or an engine's expressions."""
        return _PYTHON[self](left, right)


_MIRRORED = {Op.LT: Op.GT, Op.LE: Op.GE, Op.GT: Op.LT, Op.GE: Op.LE}
_PYTHON = {
    Op.EQ: operator.eq,
    Op.NE: operator.ne,
    Op.LT: operator.lt,
    Op.LE: operator.le,
    Op.GT: operator.gt,
    Op.GE: operator.ge,
    Op.NULL_SAFE_EQ: operator.eq,
}


class _Node:
    """Base of all nodes, with `&`, `|`, `~`. A node has no truth value, so that `a > 1 and b < 2` fails instead of
    meaning `b < 2`."""

    __slots__ = ()

    def __and__(self, other: Predicate) -> And:
        return And((*_parts(self, And), *_parts(other, And)))

    def __or__(self, other: Predicate) -> Or:
        return Or((*_parts(self, Or), *_parts(other, Or)))

    def __invert__(self) -> Predicate:
        return Not(_checked(self))

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "a predicate is neither true nor false until rows are read; Python asked for its truth; "
            "write (a > 1) & (b < 2), | and ~ instead of and, or, not and chained comparisons"
        )

    @property
    def _node(self) -> Predicate:
        return self  # type: ignore[return-value]  # the union is all of its subclasses

    @property
    def columns(self) -> tuple[ColumnRef, ...]:
        """The columns that are read, each once, in order of first use. Looked for once in a tree, which never
        changes."""
        kept: tuple[ColumnRef, ...] | None = vars(self).get("_columns")
        if kept is None:
            read = (
                leaf.columns if isinstance(leaf, Opaque) else (leaf.column,)
                for leaf in self.leaves()
                if not isinstance(leaf, Constant)
            )
            kept = tuple(dict.fromkeys(column for columns in read for column in columns))
            object.__setattr__(self, "_columns", kept)
        return kept

    @property
    def has_opaque(self) -> bool:
        """Return whether the predicate has a part that the tree cannot express."""
        return any(isinstance(leaf, Opaque) for leaf in self.leaves())

    def leaves(self) -> list[Leaf]:
        """Every leaf, left to right, those under NOT included."""
        out: list[Leaf] = []
        todo: list[Predicate] = [self._node]
        while todo:
            match node := todo.pop():
                case And() | Or():
                    todo += reversed(node.parts)
                case Not():
                    todo.append(node.child)
                case _:
                    out.append(node)
        return out

    def signed_leaves(self) -> tuple[Predicate, ...]:
        """The leaves of a normal form, each once; those under NOT with it. Constants are none."""
        seen: dict[Predicate, None] = {}
        todo: list[Predicate] = [self._node]
        while todo:
            match node := todo.pop():
                case And() | Or():
                    todo += reversed(node.parts)
                case Constant():
                    pass
                case _:
                    seen[node] = None
        return tuple(seen)

    def fold(
        self,
        leaf: Callable[[Leaf], T],
        negate: Callable[[T], T],
        conjoin: Callable[[list[T]], T],
        disjoin: Callable[[list[T]], T],
    ) -> T:
        """Bottom-up over the tree."""

        def joined(node: Not | And | Or, parts: list[T]) -> T:
            if isinstance(node, Not):
                return negate(parts[0])
            return conjoin(parts) if isinstance(node, And) else disjoin(parts)

        return self._folded(leaf, joined)

    def transform(self, leaf: Callable[[Leaf], Predicate]) -> Predicate:
        """The tree with every leaf replaced. A part of which no leaf became another stays the node that it is."""

        def joined(node: Not | And | Or, parts: list[Predicate]) -> Predicate:
            if isinstance(node, Not):
                return node if parts[0] is node.child else Not(parts[0])
            return node if all(map(operator.is_, parts, node.parts)) else type(node)(tuple(parts))

        return self._folded(leaf, joined)

    def _folded(self, leaf: Callable[[Leaf], T], joined: Callable[[Not | And | Or, list[T]], T]) -> T:
        """Bottom-up over the tree, without recursion: it may be ten thousand levels deep."""
        todo: list[tuple[Predicate, bool]] = [(self._node, False)]
        done: list[T] = []
        while todo:
            node, ready = todo.pop()
            match node:
                case Not() | And() | Or():
                    inner = (node.child,) if isinstance(node, Not) else node.parts
                    if ready:
                        start = len(done) - len(inner)
                        done[start:] = [joined(node, done[start:])]
                    else:
                        todo.append((node, True))
                        todo += [(part, False) for part in reversed(inner)]
                case Comparison() | In() | IsNull() | IsNan() | StartsWith() | Opaque() | Constant():
                    done.append(leaf(node))
                case _:
                    assert_never(node)
        (answer,) = done
        return answer


def _checked(node: object) -> Predicate:
    if not isinstance(node, _Node):
        raise TypeError(f"&, | and ~ combine predicates; got {type(node).__name__}; put comparisons in parentheses")
    return node  # type: ignore[return-value]


def _parts(node: object, kind: type[And] | type[Or]) -> tuple[Predicate, ...]:
    return node.parts if isinstance(node, kind) else (_checked(node),)


@dataclass(frozen=True, slots=True)
class Comparison(_Node):
    """`column op value`. A NULL literal makes the answer NULL, save for `<=>`."""

    column: ColumnRef
    op: Op
    value: Literal


@dataclass(frozen=True, slots=True)
class In(_Node):
    """`column IN (values)`; NULL among the values makes a miss NULL."""

    column: ColumnRef
    values: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class IsNull(_Node):
    column: ColumnRef


@dataclass(frozen=True, slots=True)
class IsNan(_Node):
    """`isnan(column)`; false for NULL, as in Spark."""

    column: ColumnRef


@dataclass(frozen=True, slots=True)
class StartsWith(_Node):
    """`column LIKE 'prefix%'`, by bytes."""

    column: ColumnRef
    prefix: str


@dataclass(frozen=True, slots=True)
class Opaque(_Node):
    """Condition that the tree cannot express: nothing is known about it, so every file is kept. `scalar`: what it says,
    where that can be applied to rows; else `why` not, for people."""

    text: str
    columns: tuple[ColumnRef, ...] = ()
    scalar: Scalar | None = None
    why: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Constant(_Node):
    """TRUE, FALSE or NULL."""

    value: bool | None


@dataclass(frozen=True, slots=True)
class Not(_Node):
    child: Predicate


@dataclass(frozen=True, slots=True)
class And(_Node):
    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Or(_Node):
    parts: tuple[Predicate, ...]


def _hash_kept(cls: type[ColumnRef | Not | And | Or]) -> None:
    """A tree of thousands of leaves is looked for in several places, and the few columns that it names once a leaf and
    more: the hash is worked out once."""
    plain: Callable[[object], int] = cls.__hash__

    def kept(self: object) -> int:
        known: int | None = getattr(self, "_hash", None)  # `vars` would make a dictionary of each node
        if known is None:
            known = plain(self)
            object.__setattr__(self, "_hash", known)
        return known

    def state(self: object) -> dict[str, object]:
        """Return the state to copy and pickle, without the cached hash: texts hash differently in another process."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    cls.__hash__ = kept  # type: ignore[method-assign]
    cls.__getstate__ = state  # type: ignore[method-assign]


for _cls in (ColumnRef, Not, And, Or):
    _hash_kept(_cls)

Leaf: TypeAlias = Comparison | In | IsNull | IsNan | StartsWith | Opaque | Constant
Predicate: TypeAlias = Leaf | Not | And | Or
