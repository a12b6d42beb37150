"""A table of a page that can be sorted and filtered, by mouse and keyboard, and says to who hears it what it shows.

The script is one text of this project: data is never in it, and it writes texts, never markup. It makes the controls
itself, so that a page whose script does not run is the same table without them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from metaindex.core import Element, dataclass


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
