"""A physical plan as an event has it (`sparkPlanInfo`): anybody's JSON, read into nodes of bounded number and depth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from metaindex.core import ExpressionError, dataclass

_MOST_NODES: Final = 100_000
_DEEPEST: Final = 300
_MOST_TEXT: Final = 4_000_000


@dataclass(frozen=True, slots=True)
class PlanNode:
    """`name`: of its class, and of what it reads; `text`: what it says of itself; `facts`: of a scan."""

    name: str
    text: str
    facts: Mapping[str, str]
    children: tuple[PlanNode, ...]

    def walk(self) -> Iterator[PlanNode]:
        todo = [self]
        while todo:
            node = todo.pop()
            yield node
            todo += reversed(node.children)


def plan_of(info: object) -> PlanNode:
    """Raises ExpressionError for what is no plan, or one beyond all bounds."""
    todo = [(info, 0)]
    above: list[tuple[dict[str, Any], int]] = []  # each node, with the number of its children
    while todo:
        node, depth = todo.pop()
        if not isinstance(node, dict):
            raise ExpressionError("a plan of an event log is nodes within nodes; this one is not; it is left out")
        if depth > _DEEPEST or len(above) >= _MOST_NODES:
            raise ExpressionError(
                f"a plan of an event log has at most {_MOST_NODES:,} nodes, {_DEEPEST} within each other; this one has"
                " more; it is left out"
            )
        children = node.get("children")
        listed = children if isinstance(children, list) else []
        above.append((node, len(listed)))
        todo += [(child, depth + 1) for child in reversed(listed)]
    built: list[PlanNode] = []
    for node, count in reversed(above):
        inside = tuple(built.pop() for _ in range(count))
        built.append(PlanNode(_text(node.get("nodeName")), _text(node.get("simpleString")), _facts(node), inside))
    return built[0]


def _facts(node: dict[str, Any]) -> dict[str, str]:
    facts = node.get("metadata")
    if not isinstance(facts, dict):
        return {}
    return {name: _text(value) for name, value in facts.items() if isinstance(value, str)}


def _text(value: object) -> str:
    """Cut a long text as Spark does."""
    text = value if isinstance(value, str) else ""
    return text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}..."
