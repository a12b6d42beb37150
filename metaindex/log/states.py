"""States, operations, and which operations may run side by side: tables, no ifs (Hyperspace, VLDB 2021, figure 6 and table 1).

operation  needs          while under way  leaves         compatible with
create     DOESNOTEXIST   CREATING         ACTIVE         create
delete     ACTIVE         DELETING         DELETED        delete, optimize, refresh
optimize   ACTIVE         OPTIMIZING       ACTIVE         delete, optimize, refresh
refresh    ACTIVE         REFRESHING       ACTIVE         delete, optimize, refresh
restore    DELETED        RESTORING        ACTIVE         restore
vacuum     DELETED        VACUUMING        DOESNOTEXIST   vacuum
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


NEEDS: dict[Operation, State] = {
    Operation.CREATE: State.DOESNOTEXIST,
    Operation.REFRESH: State.ACTIVE,
    Operation.OPTIMIZE: State.ACTIVE,
    Operation.DELETE: State.ACTIVE,
    Operation.RESTORE: State.DELETED,
    Operation.VACUUM: State.DELETED,
}

TRANSIENT: dict[Operation, State] = {
    Operation.CREATE: State.CREATING,
    Operation.REFRESH: State.REFRESHING,
    Operation.OPTIMIZE: State.OPTIMIZING,
    Operation.DELETE: State.DELETING,
    Operation.RESTORE: State.RESTORING,
    Operation.VACUUM: State.VACUUMING,
}

LEAVES: dict[Operation, State] = {
    Operation.CREATE: State.ACTIVE,
    Operation.REFRESH: State.ACTIVE,
    Operation.OPTIMIZE: State.ACTIVE,
    Operation.DELETE: State.DELETED,
    Operation.RESTORE: State.ACTIVE,
    Operation.VACUUM: State.DOESNOTEXIST,
}

_MUTUAL = frozenset({Operation.DELETE, Operation.OPTIMIZE, Operation.REFRESH})

COMPATIBLE: dict[Operation, frozenset[Operation]] = {
    Operation.CREATE: frozenset({Operation.CREATE}),
    Operation.DELETE: _MUTUAL,
    Operation.OPTIMIZE: _MUTUAL,
    Operation.REFRESH: _MUTUAL,
    Operation.RESTORE: frozenset({Operation.RESTORE}),
    Operation.VACUUM: frozenset({Operation.VACUUM}),
}
