"""Results of the checks, one symptom each."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final

from metaindex.core import Column, Shown, Tabular, TextTable, dataclass, one_line

_PATIENCE_SECONDS: Final = 60.0


class Health(StrEnum):
    """`RIGHT`: as it should be. `LACKING`: something cannot be used, which not everybody needs. `WRONG`: something will
    fail."""

    RIGHT = "right"
    LACKING = "lacking"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Symptom:
    """`about`: the thing; `fact`: how it is; `cure`: what to do, empty if nothing is to be done."""

    about: str
    health: Health
    fact: str
    cure: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class Diagnosis(Shown):
    """The symptoms, in the order in which they were checked."""

    symptoms: tuple[Symptom, ...]

    def __iter__(self) -> Iterator[Symptom]:
        return iter(self.symptoms)

    @property
    def wrong(self) -> tuple[Symptom, ...]:
        return tuple(symptom for symptom in self.symptoms if symptom.health is Health.WRONG)

    def table(self) -> TextTable:
        rows = tuple((symptom.about, str(symptom.health), symptom.fact, symptom.cure) for symptom in self.symptoms)
        return TextTable((Column("what"), Column("state"), Column("found"), Column("what to do")), rows)

    @property
    def brief(self) -> str:
        counts = Counter(symptom.health for symptom in self.symptoms)
        return ", ".join(f"{counts[health]:,} {health}" for health in Health)

    @property
    def shown(self) -> Sequence[str | Tabular]:
        return (self.table(),)

    def to_json(self) -> list[dict[str, str]]:
        """Plain data for machines."""
        return [
            {"about": symptom.about, "state": str(symptom.health), "fact": symptom.fact, "cure": symptom.cure}
            for symptom in self.symptoms
        ]


def right(about: str, fact: str) -> Symptom:
    return Symptom(about, Health.RIGHT, fact)


def lacking(about: str, fact: str, cure: str) -> Symptom:
    return Symptom(about, Health.LACKING, fact, cure)


def wrong(about: str, fact: str, cure: str) -> Symptom:
    return Symptom(about, Health.WRONG, fact, cure)


def asked(command: Sequence[str], environ: Mapping[str, str]) -> tuple[str | None, str]:
    """Run a program and return its output and "", or None and one line that says why it failed."""
    try:
        ran = subprocess.run(  # noqa: S603 - what Spark would run
            command, capture_output=True, text=True, timeout=_PATIENCE_SECONDS, check=False, env=dict(environ), cwd="/"
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, one_line(str(error))
    last = ((ran.stderr or ran.stdout).strip().splitlines() or ["it says nothing"])[-1]
    return (ran.stdout, "") if ran.returncode == 0 else (None, one_line(last[:200]))


def this_python(module: str) -> str:
    """The command that runs a module by this Python."""
    return f"{sys.executable} -m {module}"
