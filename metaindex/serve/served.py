"""Contract of a table that is served, whatever its format.

A plan is made in three steps, of which a served table does the first and the last:

    snapshot(id, of_snapshot)   the files of one version, by the request's snapshot id and never by "now"
    prune, then partitions      common code: `plans` asks the indexes, then evaluates partition values exactly
    tasks(files, ...)           the JSON of those files and of their deletes, for this client

Files are places in the snapshot's own list (`snapshot.files`), as numpy arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import Mask, dataclass
from metaindex.expressions import ColumnRef
from metaindex.formats import Snapshot
from metaindex.query import Handle

from .clients import Client
from .filters import Filter

Json = Mapping[str, object]
NOWHERE: Final = "this-catalog-is-read-only://metaindex"
"""A folder of a scheme that no file system has."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """The answer to LoadTable. `location`: of the metadata file, for clients that plan by themselves; None where there
    is none."""

    metadata: Json
    config: Mapping[str, str] = field(default_factory=dict)
    location: str | None = None


@dataclass(frozen=True, slots=True)
class PartitionColumn:
    """A partition field over all files of a snapshot. `values`: one a file, of the column's type for `identity`, else
    as the transform gives them; `known`: files whose partition spec has the field, None for all."""

    column: ColumnRef
    transform: str
    values: pa.Array
    known: Mask | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """Tasks of some files as JSON. A task has `data-file` and, where files of deletes apply, `delete-file-references`:
    places in `delete_files`. The residual is added by common code."""

    tasks: Sequence[Json]
    delete_files: Sequence[Json] = ()


class ServedSnapshot(Protocol):
    """The files of one version."""

    @property
    def id(self) -> int:
        """The snapshot id that clients know."""

    @property
    def snapshot(self) -> Snapshot:
        """Return the version as the library has it, with the schema that filters of the request name columns by."""

    def partitions(self) -> Sequence[PartitionColumn]:
        """Return every partition field. Each is evaluated exactly at the end of a plan."""

    def tasks(
        self,
        files: npt.NDArray[np.int64],
        client: Client,
        statistics: Sequence[str] | None = None,
        asked: Filter | None = None,
    ) -> Page:
        """Return the tasks of these files, in their order; of those of which no row can match `asked`, the filter that
        the client applies, it may leave out some. `statistics`: columns whose counts and bounds are sent, too; None:
        none. Raises Refusal for what this client would read wrong."""


class ServedTable(Protocol):
    """A table by its name in the catalog."""

    @property
    def handle(self) -> Handle:
        """The opened table. One thread's: common code holds a lock while it asks."""

    def load(self, client: Client) -> Loaded:
        """Return the table's metadata as it is now. Raises Refusal for a client that would read it wrong."""

    def snapshot(self, snapshot_id: int | None, *, own_schema: bool) -> ServedSnapshot:
        """Return a version; None: the current one. `own_schema`: with the snapshot's own schema, not the table's
        current one. Raises Refusal if there is no such snapshot."""
