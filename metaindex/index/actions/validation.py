"""Checks whether an operation may begin on top of an entry. Errors give rule, fact, cure."""

from __future__ import annotations

from metaindex.core import IndexExistsError, IndexNotFoundError, IndexStateError
from metaindex.index.log.entry import IndexLogEntry
from metaindex.index.log.liveness import held
from metaindex.index.log.needs import check_writable
from metaindex.index.log.states import COMPATIBLE, NEEDS, Operation, State


def validate(operation: Operation, base: IndexLogEntry | None, name: str, verb: str = "") -> None:
    """IndexStateError, IndexExistsError or IndexNotFoundError where the operation cannot begin; ForeignIndexError where
    it would change what this metaindex cannot read. `verb`: what the user asked for, where it is not the
    operation's."""
    verb = verb or operation.verb
    stable = base.stable if base is not None else State.DOESNOTEXIST
    for other in base.under_way if base is not None else ():
        if operation not in COMPATIBLE[other.operation]:
            raise IndexStateError(
                f"{verb} does not go beside {other.operation.verb}; index {name!r} is"
                f" {base.state.value if base else ''}: {held(other)}; wait for it, or cancel it if its writer is dead"
            )
    needs = NEEDS[operation]
    writes = operation in (Operation.REFRESH, Operation.OPTIMIZE) and verb != "repair"  # which leaves such runs alone
    if base is not None and stable is needs and writes:
        check_writable(verb, base)
    if needs is None or stable is needs:
        return
    if operation is Operation.CREATE:
        cure = (
            "refresh it, or choose another name"
            if stable is State.ACTIVE
            else "restore it, vacuum it, or choose another name"
        )
        raise IndexExistsError(f"an index name is used once a table; {name!r} is {stable.value}; {cure}")
    if stable is State.DOESNOTEXIST:
        raise missing(verb, name)
    is_now = f"{verb} needs state {needs.value}; index {name!r} is {stable.value}"
    entry = f"(entry {base.id if base else 0})"
    if operation is Operation.DELETE and verb == operation.verb:
        cure = "no query uses it; vacuum it to remove its files, or restore it"
        raise IndexStateError(f"{is_now} already {entry}; {cure}")
    if operation is Operation.RESTORE:
        raise IndexStateError(f"{is_now} already {entry}; there is nothing to restore")
    raise IndexStateError(
        f"{is_now} {entry}; " + {State.ACTIVE: "drop it first", State.DELETED: "restore it first"}[stable]
    )


def missing(verb: str, name: str) -> IndexNotFoundError:
    return IndexNotFoundError(f"{verb} needs an index; there is none named {name!r}; list them with indexes()")
