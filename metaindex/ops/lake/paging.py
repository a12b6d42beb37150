"""The page of a lake as a file, and those of its tables beside it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import xxhash

from metaindex.advisor import Reported, check_page, write_page
from metaindex.core import ArgumentError, Cell, MetaIndexError, first_line
from metaindex.index import IndexFolder
from metaindex.storage import is_remote, parent_of

from .answer import Lake
from .asking import shortened
from .page import page_of
from .side_by_side import SideBySide, Unanswered

if TYPE_CHECKING:
    from metaindex.index import Progress

_THREADS = 2
_TIMEOUT_SECONDS = 120.0
_SHORT = 8
"""Of a digest, in the name of a page; the whole one where so much is another table's."""
_NAMED = 5
"""Of pages that could not be made."""


def lake_report(lake: Lake, path: object, reports: object, overwrite: bool, progress: Progress | None) -> Reported:
    """Implement `Lake.report`."""
    forbidden = _forbidden(lake)
    place = check_page(path, forbidden, overwrite=overwrite)
    if reports is not None:
        lake = _with_reports(lake, place, _folder(reports, place, forbidden), overwrite=overwrite, progress=progress)
    size = write_page(place, page_of(lake).html())
    return Reported(lake.place, str(place), size, lake.notes)


def _forbidden(lake: Lake) -> list[str]:
    """Folders of tables and of their indexes, as far as they are here."""
    here = [table.path for table in lake.tables if table.path.startswith("/") and not is_remote(table.path)]
    return list(dict.fromkeys([*here, *(f"{parent_of(path)}/{IndexFolder.NAME}" for path in here)]))


def _folder(reports: object, page: Path, forbidden: list[str]) -> Path:
    if not isinstance(reports, str | os.PathLike) or not os.fspath(reports) or "://" in os.fspath(reports):
        raise ArgumentError(f"reports= is a local folder for the pages of tables; got {reports!r}; name one")
    folder = Path(os.path.abspath(os.fspath(reports)))
    if not folder.is_relative_to(page.parent):
        raise ArgumentError(
            "the pages of tables lie below the folder of the lake's page, so that they can be moved together;"
            f" {str(folder)!r} is not below {str(page.parent)!r}; choose another folder"
        )
    there = folder.is_dir()
    if not there and os.path.lexists(folder):
        raise ArgumentError(
            f"reports= is a folder for the pages of tables; {str(folder)!r} is a file; name another folder"
        )
    check_page(folder / page.name if there else folder.parent / f"{folder.name}.html", forbidden, overwrite=True)
    if not there:
        folder.mkdir()
    return folder


def _with_reports(lake: Lake, page: Path, folder: Path, *, overwrite: bool, progress: Progress | None) -> Lake:
    """A page for each table that can be read, and the rows with links to them."""
    wanted = [table.name for table in lake.tables if table.format and table.name in lake.opens]
    files = file_names(wanted)

    def make(number: int) -> str:
        name = wanted[number]
        try:
            lake.opens[name]().report(folder / files[name], sample=0, overwrite=overwrite)
        except MetaIndexError as error:
            return str(error)
        except Exception as error:  # noqa: BLE001 - the pages of the others are made
            return f"{type(error).__name__}: {first_line(error)}"
        return ""

    made: set[str] = set()
    failed: list[str] = []
    asked = SideBySide[str](wanted, make, threads=_THREADS, timeout_seconds=_TIMEOUT_SECONDS)
    for done, (number, answer) in enumerate(asked.answers(), start=1):
        if answer == "":
            made.add(wanted[number])
        else:
            failed.append(f"{wanted[number]}: {answer.why if isinstance(answer, Unanswered) else shortened(answer)}")
        if progress is not None:
            progress("making pages of tables", done, len(wanted))
    where = str(folder.relative_to(page.parent))
    rows = tuple(
        replace(table, report=Cell.link_to(where, files[table.name])) if table.name in made else table
        for table in lake.tables
    )
    notes = [f"no page of {said}" for said in failed[:_NAMED]]
    notes += [f"and of {len(failed) - _NAMED:,} more"] if len(failed) > _NAMED else []
    return replace(lake, tables=rows, notes=(*lake.notes, *notes))


def file_names(names: Sequence[str]) -> dict[str, str]:
    """Return the file of each table's page: a portable name, another for each table. No two differ in capitals alone,
    as on some systems these are one file."""
    files: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-")[:80] or "table"
        digest = xxhash.xxh3_128_hexdigest(name.encode("utf-8", "surrogatepass"))
        short = xxhash.xxh64_hexdigest(name.encode("utf-8", "surrogatepass"))[:_SHORT]
        file = f"{plain}-{short}.html"
        file = f"{plain}-{digest}.html" if file.lower() in taken else file
        taken.add(file.lower())
        files[name] = file
    return files
