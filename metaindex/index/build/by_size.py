"""The builder that the size of the files chooses, each time some are read."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from metaindex.core import WorkerError
from metaindex.index.kinds.kind import PlannedKey
from metaindex.index.kinds.served import RowPlan
from metaindex.index.store.writer import RunSink

from .protocol import Builder, BuildReport, BuildRequest, KeyBuild, Progress

logger = logging.getLogger("metaindex")

T = TypeVar("T")


@dataclass(slots=True)
class BySize:
    """Builds here what is small, and on the session what is not, as long as there is one. `name`: who built last."""

    here: Builder
    running: Callable[[], Builder | None]
    most_bytes: int
    name: str = "local"

    def facts(self, request: BuildRequest, sink: RunSink, progress: Progress | None = None) -> BuildReport:
        """Build facts; see `protocol.Builder`."""
        return self._built(request, lambda builder: builder.facts(request, sink, progress))

    def keys(
        self, request: BuildRequest, plans: Sequence[PlannedKey], sink: RunSink, progress: Progress | None = None
    ) -> KeyBuild:
        """Build keys; see `protocol.Builder`."""
        return self._built(request, lambda builder: builder.keys(request, plans, sink, progress))

    def rows(
        self, request: BuildRequest, plans: Sequence[RowPlan], sink: RunSink, progress: Progress | None = None
    ) -> KeyBuild:
        """Build rows; see `protocol.Builder`."""
        return self._built(request, lambda builder: builder.rows(request, plans, sink, progress))

    def _built(self, request: BuildRequest, build: Callable[[Builder], T]) -> T:
        """Build by the session if the files are large; in this process if its workers fail, as no user chose them."""
        large = request.files.size_bytes > self.most_bytes
        builder = (self.running() if large else None) or self.here
        self.name = builder.name
        try:
            return build(builder)
        except WorkerError as error:
            logger.warning("built in this process, as workers cannot: %s", error)
            self.name, self.running = self.here.name, _nobody
            return build(self.here)


def _nobody() -> Builder | None:
    return None
