"""The page of a lake: sums, and a table of its tables that can be sorted and filtered, by mouse and keyboard.

The script is one text of this project: data is never in it, and it writes texts, never markup. It makes the controls
itself, so that a page whose script does not run is the same table without them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import xxhash

from metaindex.advisor import Page, Reported, Section, check_page, workload_section, write_page
from metaindex.core import (
    ArgumentError,
    Column,
    Element,
    MetaIndexError,
    Progress,
    dataclass,
    first_line,
    human_bytes,
    moment,
    percent,
)
from metaindex.index import IndexFolder
from metaindex.storage import is_remote, parent_of

from .answer import Lake, LakeTable, behind_in_words, left_out_in_words
from .asking import shortened
from .side_by_side import SideBySide, Unanswered

MOST_ROWS = 10_000
_NAMES = 3
"""Of a table's indexes, those that are named."""
_TITLE = 120

_MARKS = (
    ("problem", "with a problem"),
    ("behind", "behind"),
    ("unread", "with unread files"),
    ("bare", "without an index"),
    ("unused", "with an unused index"),
)


def page_of(lake: Lake) -> Page:
    """The whole page."""
    name = lake.place.rstrip("/").rsplit("/", 1)[-1] or lake.place
    title = name if len(name) <= _TITLE else f"{name[:_TITLE]}..."
    lead: list[Element | str | None] = [
        Element("p", Element("code", lake.place), class_="note"),
        Element.facts(_facts(lake)),
    ]
    foot = (
        Element(
            "p",
            f"Made {moment(lake.made_ms)} by metaindex. The page is one file: it loads nothing. The key / goes to the"
            " filter.",
        ),
    )
    return Page(title, tuple(lead), list(_sections(lake)), foot, script=SCRIPT, wide=True)


def _facts(lake: Lake) -> list[tuple[str, Element | str | None]]:
    indexed = sum(bool(table.indexes) for table in lake.tables)
    return [
        ("tables", f"{len(lake.tables):,}"),
        ("files", f"{lake.files:,}"),
        ("size", human_bytes(lake.size_bytes)),
        ("with indexes", f"{indexed:,}"),
        ("indexes take", human_bytes(lake.index_bytes) if indexed else ""),
        ("behind", f"{len(lake.behind):,}" if indexed else ""),
        ("with unread files", f"{len(lake.unread):,}" if lake.unread else ""),
        ("with a problem", f"{len(lake.problems):,}" if lake.problems else "none"),
        ("left out of noted queries", human_bytes(lake.bytes_left_out) if lake.bytes_left_out else ""),
    ]


def _sections(lake: Lake) -> Iterator[Section]:
    yield Section("tables", "Tables", tuple(_tables(lake)))
    if lake.recommended is not None:
        yield workload_section(lake.recommended)
    if lake.notes:
        yield Section("notes", "What is not in it", (Element.listed(lake.notes),))


def _tables(lake: Lake) -> Iterator[Element | str | None]:
    if not lake.tables:
        yield Element("p", "No table was found: no folder with _delta_log, metadata, or Parquet, CSV or JSON files.")
        return
    yield Element(
        "p",
        "Behind: what the index that lags most does not cover; every query reads those files. Unread: files that the"
        " index could not read; no query leaves them out; where they cannot be read now, scan and count end with an"
        " error, and Spark reads them as it does. Left out: of bytes that noted queries would have"
        " read; pale is left out. One value reads: the share of files that = reads on average, by the column whose"
        " bounds skip most.",
        class_="note",
    )
    shown = lake.tables[:MOST_ROWS]
    marks = [_marks(table) for table in shown]
    picks = [Pick(mark, title, sum(mark in words for words in marks)) for mark, title in _MARKS]
    yield picking("tables", picks)
    drawn = Element.grid(
        "Tables of the lake",
        _HEADINGS,
        list(_rows(shown)),
        len(lake.tables) - len(shown),
        most=MOST_ROWS,
        marks=[" ".join(words) or "sound" for words in marks],
    )
    yield Element("div", drawn, class_="scrolled", tabindex="0", role="group", aria_label="Tables of the lake")


_HEADINGS = Column.named(
    *("table", "format", "files>", "size>", "committed>", "indexes", "index size>", "behind>", "queries left out>"),
    *("one value reads>", "what is wrong, and what to do"),
)


def _marks(table: LakeTable) -> list[str]:
    said = {
        "problem": bool(table.problem),
        "behind": table.fresh is False,
        "unread": bool(table.unread_files),
        "bare": bool(table.format) and not table.indexes,
        "unused": bool(table.unused),
    }
    return [mark for mark, true in said.items() if true]


def _rows(tables: Sequence[LakeTable]) -> Iterator[list[str | Element]]:
    largest = max((table.size_bytes or 0 for table in tables), default=0) or 1
    for table in tables:
        yield [
            Element.cell(table.name, href=table.report),
            table.format or "?",
            Element.cell("" if table.files is None else f"{table.files:,}", table.files),
            _bytes(table.size_bytes, largest),
            Element.cell(moment(table.committed_ms)[:10] if table.committed_ms else "", table.committed_ms),
            _indexes(table),
            Element.cell(human_bytes(table.index_bytes), table.index_bytes) if table.indexes else Element.cell(""),
            _behind(table),
            _left_out(table),
            _layout(table),
            _said(table),
        ]


def _bytes(size: int | None, largest: int) -> str | Element:
    if size is None:
        return Element.cell("")
    share = size / largest
    return Element.cell(human_bytes(size), size, share, share)


def _indexes(table: LakeTable) -> str:
    names = [index.said for index in table.indexes]
    more = len(names) - _NAMES
    return ", ".join(names[:_NAMES]) + (f" and {more:,} more" if more > 0 else "")


def _behind(table: LakeTable) -> Element:
    """Sorted by bytes that every query reads; those that are fresh before those that are none."""
    if table.fresh is None:
        return Element.cell("")
    return Element.cell(behind_in_words(table), 0 if table.fresh else 1 + (table.behind_bytes or 0))


def _left_out(table: LakeTable) -> str | Element:
    saved = table.savings
    if saved is None:
        return Element.cell("")
    total = saved.bytes_read + saved.bytes_left_out
    read = saved.bytes_read / total if total else 0.0
    return Element.cell(left_out_in_words(table), saved.bytes_left_out, read)


def _layout(table: LakeTable) -> str | Element:
    layout = table.layout
    if layout is None:
        return Element.cell("")
    return Element.cell(f"{percent(layout.share)} by {layout.column}", layout.share, layout.share)


def _said(table: LakeTable) -> str | Element:
    if table.problem:
        return Element.cell("; ".join((table.problem, *table.advice)), strong=True)
    return "; ".join(table.advice)


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
        replace(table, report=Element.link_to(where, files[table.name])) if table.name in made else table
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


@dataclass(frozen=True, slots=True)
class Pick:
    """Rows that have a mark, under a name. Marks are words of ours."""

    mark: str
    title: str
    rows: int


def picking(noun: str, picks: Sequence[Pick]) -> Element:
    """Return the element that holds the next table's controls. `noun`: what its rows are, in the plural."""
    words = [Element("span", pick.title, data_mark=pick.mark, data_rows=pick.rows) for pick in picks if pick.rows]
    return Element("div", *words, class_="picking", hidden=True, data_noun=noun)


SCRIPT: Final = """
(() => {
  'use strict';
  const place = document.querySelector('.picking'), table = document.querySelector('table.sorted');
  if (!place || !table) return;
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells], noun = place.dataset.noun;
  const rows = [...body.rows].map((row, at) => ({
    row, at,
    text: [...row.cells].map(cell => cell.textContent).join(' ').toLowerCase(),
    marks: (row.dataset.marks || '').split(' '),
    values: [...row.cells].map((cell, column) => {
      const text = cell.textContent.trim();
      if (!heads[column].classList.contains('number')) return text && text !== '-' ? text.toLowerCase() : null;
      return cell.dataset.value === undefined ? null : Number(cell.dataset.value);
    }),
  }));
  const make = (name, text, attributes) => {
    const element = document.createElement(name);
    if (text) element.textContent = text;
    for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
    return element;
  };
  const labelled = (text, control, extra) => {
    const label = make('label', text, extra);
    label.append(control);
    return label;
  };
  const picks = [...place.children].map(span => ({
    mark: span.dataset.mark,
    button: make(
      'button', span.textContent + ' (' + span.dataset.rows + ')', {type: 'button', 'aria-pressed': 'false'}),
  }));
  const input = make('input', '', {type: 'search', autocomplete: 'off', spellcheck: 'false'});
  const status = make('span', '', {role: 'status'});
  const column = make('select'), turn = make('button', 'Turn the order', {type: 'button'});
  column.append(make('option', 'name', {value: '-1'}));
  heads.forEach((head, at) => { if (at) column.append(make('option', head.textContent, {value: String(at)})); });

  let order = {column: -1, down: false};
  const compare = (a, b) => {
    const [x, y] = [a.values[order.column], b.values[order.column]];
    if (x === null || y === null) return (x === null) - (y === null) || a.at - b.at;
    const way = x < y ? -1 : x > y ? 1 : 0;
    return (order.down ? -way : way) || a.at - b.at;
  };
  const sort = (at, down) => {
    order = {column: at, down};
    heads.forEach((head, number) => {
      if (number === at) head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      else head.removeAttribute('aria-sort');
    });
    column.value = String(at < 1 ? -1 : at);
    body.append(...[...rows].sort(at < 0 ? (a, b) => a.at - b.at : compare).map(each => each.row));
  };
  const filter = () => {
    const words = input.value.toLowerCase().split(/\\s+/).filter(Boolean);
    const marks = picks.filter(pick => pick.button.getAttribute('aria-pressed') === 'true').map(pick => pick.mark);
    let shown = 0;
    for (const each of rows) {
      const fits = words.every(word => each.text.includes(word)) && marks.every(mark => each.marks.includes(mark));
      each.row.hidden = !fits;
      shown += fits;
    }
    status.textContent = shown === rows.length ? rows.length + ' ' + noun : shown + ' of ' + rows.length + ' ' + noun;
  };

  heads.forEach((head, at) => {
    const button = make('button', head.textContent, {type: 'button'});
    head.replaceChildren(button);
    const first = head.classList.contains('number');
    button.addEventListener('click', () => sort(at, order.column === at ? !order.down : first));
  });
  for (const {button} of picks) {
    button.addEventListener('click', () => {
      button.setAttribute('aria-pressed', String(button.getAttribute('aria-pressed') !== 'true'));
      filter();
    });
  }
  input.addEventListener('input', filter);
  input.addEventListener('keydown', event => {
    if (event.key === 'Escape') { input.value = ''; filter(); }
  });
  column.addEventListener('change', () => {
    const at = Number(column.value);
    sort(at, at >= 0 && heads[at].classList.contains('number'));
  });
  turn.addEventListener('click', () => sort(Math.max(order.column, 0), order.column < 0 ? true : !order.down));
  document.addEventListener('keydown', event => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName);
    if (event.key === '/' && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      input.focus();
    }
  });
  place.replaceChildren(
    labelled('Filter', input), ...picks.map(pick => pick.button),
    labelled('Sort by', column, {class: 'narrow'}), turn, status);
  turn.className = 'narrow';
  place.hidden = false;
  filter();
})();
"""
