"""Is what metaindex needs installed, in versions that it can use? Nothing is imported: versions stand in what the
packages say of themselves."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib import metadata
from itertools import zip_longest

from .diagnosis import Symptom, lacking, right, wrong

_NEEDED = re.compile(r"""\A([A-Za-z0-9._-]+)\s*([<>=!~0-9.,\s]*)(?:;\s*extra\s*==\s*['"]([^'"]+)['"])?\Z""")
_BOUND = re.compile(r"(<=|>=|==|<|>)\s*([0-9][0-9.]*)")
_PASSED = frozenset({"all", "java"})
"""Extras that are not told here: one names the others, and any Java will do (`machine`)."""
_FOR = {
    "spark": "the rule in Spark, covering indexes, builds of large tables",
    "iceberg": "Iceberg tables",
    "delta": "writing Delta by mi.hooks.deltalake",
    "duckdb": "to_duckdb(), and columns of CSV and JSON files in many forms",
    "polars": "to_polars()",
    "s3": "tables on S3, Azure, Google Cloud",
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
    needs: dict[str, list[tuple[str, str]]] = {}
    for line in about.requires or ():
        if (match := _NEEDED.match(line)) is not None and match[3] not in _PASSED:
            needs.setdefault(match[3] or "", []).append((match[1], match[2].strip()))
    yield _group("metaindex", f"metaindex {about.version}", needs.pop("", []), needed=True)
    for extra in needs:
        yield _group(f"extra {extra}", "", needs[extra], needed=False)


def _group(about: str, said: str, needs: list[tuple[str, str]], *, needed: bool) -> Symptom:
    """Of packages that are needed together."""
    there, absent, unfit = [], [], []
    for name, bounds in needs:
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            absent.append(name)
            continue
        if fits(version, bounds):
            there.append(f"{name} {version}")
        else:
            unfit.append(f"{name} {version} ({bounds} is needed)")
    extra = about.removeprefix("extra ") if not needed else ""
    install = f"{sys.executable} -m pip install 'metaindex{f'[{extra}]' if extra else ''}'"
    if unfit:
        return wrong(about, ", ".join(unfit), install)
    if absent and needed:
        return wrong(about, f"{', '.join(absent)} not installed", install)
    if absent:
        use = f", for {_FOR[extra]}" if extra in _FOR else ""
        return lacking(about, f"{', '.join(absent)} not installed{use}", install)
    return right(about, "; ".join(part for part in (said, ", ".join(there)) if part))


def fits(version: str, bounds: str) -> bool:
    """Does a version lie in bounds such as `>=1.2,<2`? Of one that is no numbers nothing is known, so it does."""
    own = _numbers(version)
    if own is None:
        return True
    for sign, bound in _BOUND.findall(bounds):
        pairs = list(zip_longest(own, _numbers(bound) or (), fillvalue=0))
        order = next((-1 if a < b else 1 for a, b in pairs if a != b), 0)
        if not {"<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0, "==": order == 0}[sign]:
            return False
    return True


def _numbers(version: str) -> tuple[int, ...] | None:
    match = re.match(r"\d+(?:\.\d+)*", version)
    return None if match is None else tuple(map(int, match[0].split(".")))
