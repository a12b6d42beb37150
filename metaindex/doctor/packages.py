"""Is what metaindex needs installed, in versions that it can use? Nothing is imported: versions stand in what the
packages say of themselves."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import metadata

from packaging.requirements import Requirement

from .diagnosis import Symptom, lacking, right, wrong

_PASSED = frozenset({"all", "java"})
"""Extras that are not told here: one names the others, and any Java will do (`machine`)."""
_FOR = {
    "spark": "the rule in Spark, covering indexes, builds of large tables",
    "iceberg": "Iceberg tables",
    "delta": "writing Delta by mi.hooks.deltalake",
    "duckdb": "to_duckdb(), and columns of CSV and JSON files in many forms",
    "polars": "to_polars()",
    "s3": "tables on S3, Azure, Google Cloud",
    "completion": "metaindex completion",
    "demo": "metaindex demo",
}


def python() -> Symptom:
    said = f"Python {sys.version.split()[0]}, {sys.executable}"
    return right("Python", said)


def packages() -> Iterator[Symptom]:
    """Of metaindex itself, then a line for each extra."""
    try:
        about = metadata.distribution("metaindex")
    except metadata.PackageNotFoundError:
        yield wrong(
            "metaindex",
            "is imported from a folder and not installed: of its packages nothing is known",
            f"{sys.executable} -m pip install metaindex",
        )
        return
    needed = [Requirement(line) for line in about.requires or ()]
    yield _group("metaindex", f"metaindex {about.version}", [need for need in needed if _is_asked(need, "")])
    for extra in about.metadata.get_all("Provides-Extra") or ():
        if extra not in _PASSED:
            of_extra = [need for need in needed if _is_asked(need, extra) and not _is_asked(need, "")]
            yield _group(f"extra {extra}", "", of_extra, extra)


def _is_asked(requirement: Requirement, extra: str) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def _group(about: str, said: str, needs: list[Requirement], extra: str = "") -> Symptom:
    """Of packages that are needed together: by everybody, or by an extra."""
    there: list[str] = []
    absent: list[str] = []
    unfit: list[str] = []
    for need in needs:
        try:
            version = metadata.version(need.name)
        except metadata.PackageNotFoundError:
            absent.append(need.name)
            continue
        fits = need.specifier.contains(version, prereleases=True)
        (there if fits else unfit).append(f"{need.name} {version}{'' if fits else f' ({need.specifier} is needed)'}")
    install = f"{sys.executable} -m pip install 'metaindex{f'[{extra}]' if extra else ''}'"
    if unfit:
        return wrong(about, ", ".join(unfit), install)
    if absent and not extra:
        return wrong(about, f"{', '.join(absent)} not installed", install)
    if absent:
        use = f", for {_FOR[extra]}" if extra in _FOR else ""
        return lacking(about, f"{', '.join(absent)} not installed{use}", install)
    return right(about, "; ".join(part for part in (said, ", ".join(there)) if part))
