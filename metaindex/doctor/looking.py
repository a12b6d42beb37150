"""All of it, in the order in which one thing needs another."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from . import machine, packages, place, switch
from .diagnosis import Diagnosis, Symptom

if TYPE_CHECKING:
    from metaindex.table.face import Table


def look(table: Table | None = None, *, write: bool = True) -> Diagnosis:
    """What is missing or wrong on this machine, and of this table's place. `write`: puts an object where the table's
    indexes lie, and removes it, to see whether one can. Raises nothing for what it finds."""
    symptoms: list[Symptom] = [packages.python(), *packages.packages()]
    symptoms += machine.variables(os.environ)
    symptoms.append(machine.room())
    symptoms += machine.spark(os.environ)
    symptoms += switch.switch(os.environ)
    if table is not None:
        symptoms += place.table(table, write=write)
    return Diagnosis(tuple(symptoms))
