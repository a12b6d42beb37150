"""States, operations, and which operations may run side by side: tables, no ifs (Hyperspace, VLDB 2021, figure 6 and
table 1, and its specification).

docs/operation-log.md draws its tables from here (`tests.docs.log_tables`), and a test compares.
"""

from __future__ import annotations

from enum import Enum


class State(Enum):
    ACTIVE = "ACTIVE"
    DELETED = "DELETED"
    DOESNOTEXIST = "DOESNOTEXIST"
    CREATING = "CREATING"
    REFRESHING = "REFRESHING"
    OPTIMIZING = "OPTIMIZING"
    DELETING = "DELETING"
    RESTORING = "RESTORING"
    VACUUMING = "VACUUMING"
    CANCELLING = "CANCELLING"


STABLE = frozenset({State.ACTIVE, State.DELETED, State.DOESNOTEXIST})


class Operation(Enum):
    CREATE = "create"
    REFRESH = "refresh"
    OPTIMIZE = "optimize"
    DELETE = "delete"
    RESTORE = "restore"
    VACUUM = "vacuum"
    CANCEL = "cancel"

    @property
    def verb(self) -> str:
        """The word that people type."""
        return "drop" if self is Operation.DELETE else self.value


NEEDS: dict[Operation, State | None] = {
    Operation.CREATE: State.DOESNOTEXIST,
    Operation.REFRESH: State.ACTIVE,
    Operation.OPTIMIZE: State.ACTIVE,
    Operation.DELETE: State.ACTIVE,
    Operation.RESTORE: State.DELETED,
    Operation.VACUUM: State.DELETED,
    Operation.CANCEL: None,  # any, with an operation under way
}
"""The stable state in which an operation begins."""

TRANSIENT: dict[Operation, State] = {
    Operation.CREATE: State.CREATING,
    Operation.REFRESH: State.REFRESHING,
    Operation.OPTIMIZE: State.OPTIMIZING,
    Operation.DELETE: State.DELETING,
    Operation.RESTORE: State.RESTORING,
    Operation.VACUUM: State.VACUUMING,
    Operation.CANCEL: State.CANCELLING,
}
"""What people see while it is under way."""

LEAVES: dict[Operation, State | None] = {
    Operation.CREATE: State.ACTIVE,
    Operation.REFRESH: State.ACTIVE,
    Operation.OPTIMIZE: State.ACTIVE,
    Operation.DELETE: State.DELETED,
    Operation.RESTORE: State.ACTIVE,
    Operation.VACUUM: State.DOESNOTEXIST,
    Operation.CANCEL: None,  # what was stable before, or as CANCELLED says
}
"""The stable state after its commit."""

CANCELLED: dict[Operation, State | None] = {
    Operation.CREATE: State.DOESNOTEXIST,
    Operation.REFRESH: None,
    Operation.OPTIMIZE: None,
    Operation.DELETE: None,
    Operation.RESTORE: None,
    Operation.VACUUM: State.DOESNOTEXIST,  # forward: its files may be gone
    Operation.CANCEL: None,
}
"""The stable state after `cancel` of the operation; None: what was stable before (DOESNOTEXIST where nothing was)."""

_MUTUAL = frozenset({Operation.DELETE, Operation.OPTIMIZE, Operation.REFRESH})

COMPATIBLE: dict[Operation, frozenset[Operation]] = {
    Operation.CREATE: frozenset({Operation.CREATE}),
    Operation.DELETE: _MUTUAL,
    Operation.OPTIMIZE: _MUTUAL,
    Operation.REFRESH: _MUTUAL,
    Operation.RESTORE: frozenset({Operation.RESTORE}),
    Operation.VACUUM: frozenset({Operation.VACUUM}),
    Operation.CANCEL: frozenset(),  # moments; only another cancel ends one whose writer died
}
"""Which operations may be under way side by side."""

ONCE = frozenset({Operation.CREATE, Operation.DELETE, Operation.RESTORE, Operation.VACUUM})
"""Operations that change the stable state: the commit of one ends all others of its kind, which could change nothing
any more."""
