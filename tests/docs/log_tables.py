"""The tables of docs/operation-log.md, drawn from the data in `states`. `python -m tests.docs.log_tables
docs/operation-log.md` puts them into the page."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from metaindex.index.log.states import CANCELLED, COMPATIBLE, LEAVES, NEEDS, STABLE, TRANSIENT, Operation, State


def states_table() -> str:
    """Every state: stable, or transient with its operation."""
    by_state = {state: operation for operation, state in TRANSIENT.items()}
    rows = [
        (s.value, "stable" if s in STABLE else "transient", by_state[s].value if s in by_state else "") for s in State
    ]
    return _table(("state", "", "while this is under way"), rows)


def operations_table() -> str:
    """Every operation: where it begins, what is seen, where it ends, and where cancel leads."""

    def stable(state: State | None, otherwise: str) -> str:
        return state.value if state is not None else otherwise

    rows = [
        (
            o.value,
            stable(NEEDS[o], "any"),
            TRANSIENT[o].value,
            stable(LEAVES[o], "see the last column"),
            stable(CANCELLED[o], "what was stable before"),
        )
        for o in Operation
    ]
    return _table(("operation", "needs", "while under way", "leaves", "after cancel"), rows)


def compatibility_table() -> str:
    """Return a table of whether the row's operation may begin while the column's is under way."""
    rows = [
        (o.value, *("yes" if o in COMPATIBLE[other] else "-" for other in Operation))
        for o in Operation
        if o is not Operation.CANCEL
    ]
    return _table(("begins \\ under way", *(o.value for o in Operation)), rows)


TABLES: dict[str, Callable[[], str]] = {
    "states": states_table,
    "operations": operations_table,
    "compatibility": compatibility_table,
}


def drawn(page: str) -> str:
    """The page with its tables as the data says: what stands between `<!-- states -->` and `<!-- end -->`, and so
    on."""
    for name, draw in TABLES.items():
        begin, end = f"<!-- {name} -->\n", "<!-- end -->"
        before, mark, rest = page.partition(begin)
        if mark:
            page = before + begin + draw() + end + rest.partition(end)[2]
    return page


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(drawn(path.read_text()))
