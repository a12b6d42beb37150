"""Checks of this machine and of the place of a table's indexes: what is missing or wrong, each with its cure."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from . import machine, place
from .diagnosis import Diagnosis, Health, Symptom
from .switch import switch

if TYPE_CHECKING:
    from metaindex.table import Table

__all__ = ["Diagnosis", "Health", "Symptom", "look"]


def look(table: Table | None = None, *, write: bool = True) -> Diagnosis:
    """Check this machine, and the place of this table's indexes: report what is missing or wrong. `write`: puts an
    object there, and removes it, to see whether one can. Raises nothing for what it finds."""
    symptoms = [*machine.packages(), *machine.variables(os.environ), *machine.spark(os.environ), *switch(os.environ)]
    if table is not None:
        symptoms += place.folder(table, write=write)
    return Diagnosis(tuple(symptoms))
