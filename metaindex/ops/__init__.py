"""Indexes that follow their tables: hooks of writers, watchers, lakes of many tables."""

from typing import TYPE_CHECKING

from metaindex.core import door

if TYPE_CHECKING:
    from .lake.answer import Lake as Lake
    from .lake.asking import LakePlace as LakePlace
    from .lake.opening import LakeAsked as LakeAsked
    from .lake.opening import LakeCatalog as LakeCatalog
    from .lake.opening import open_lake as open_lake
    from .lake.upkeep import Event as Event
    from .lake.upkeep import Pace as Pace
    from .lake.upkeep import UpkeepBudget as UpkeepBudget
    from .lake.watching import PACE as PACE
    from .lake.watching import Watcher as Watcher

__getattr__, __dir__ = door(__name__)
