"""Decides whether a CSV file begins with the names of its columns. Unless an option tells, a first row that looks like
data is not taken for names: a row of every file would be lost without a word.

What tells: a column of numbers, days, times or truths whose first row is none has a name there; one whose first row is
one, too, has data there. Of texts alone a first row that comes again further down, in a row that is another one, is
data. This is what DuckDB's sniffer asks, but for the last; where nothing tells, there are names.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import Cure, UnsupportedFeatureError, one_line
from metaindex.formats.column_names import alike

from .text_types import infer_text


class LooksLikeData(UnsupportedFeatureError):
    """Raised if the first row of a CSV file without a header option looks like data."""


SAMPLED = 1000
"""Rows that are looked at."""


def check_header(path: str, texts: pa.Table, schema: pa.Schema | None) -> None:
    """UnsupportedFeatureError, with the choice, where the first row of a file looks like data. `texts`: the other rows,
    in columns that are called what the first row says; `schema`: the columns that the user names, if any."""
    first, rest = texts.column_names, texts.slice(0, SAMPLED)
    if schema is not None and any(alike(name) == alike(field.name) for name, field in zip(first, schema, strict=False)):
        return
    if not _is_data(first, rest, schema):
        return
    shown = one_line(", ".join(first))
    raise LooksLikeData(
        f"CSV files have a header where {Cure('also', 'header')} does not say otherwise; the first row of"
        f" {path!r} looks like data ({shown[:80]}{'...' if len(shown) > 80 else ''}); say"
        f" {Cure('reader', 'header', False)} where it is (columns are _c0, _c1 ... or those of"
        f" {Cure('also', 'schema')}), {Cure('also', 'header', True)} where these are names"
    ).without("header", False)


def _is_data(first: Sequence[str], rest: pa.Table, schema: pa.Schema | None) -> bool:
    typed, named = 0, 0
    for at, name in enumerate(first):
        if not name.strip():
            continue
        column = rest.column(at) if at < rest.num_columns else pa.chunked_array([], pa.string())
        known = schema.field(at).type if schema is not None and at < len(schema) else infer_text(column)
        alone = not len(column.drop_null())
        if _is_text(known) and not alone:
            continue
        fits = not _is_text(infer_text(pa.chunked_array([pa.array([name])])))
        typed += fits
        named += not fits and not alone
    if named or typed:
        return not named
    return _comes_again(first, rest)


def _comes_again(first: Sequence[str], rest: pa.Table) -> bool:
    """Return whether a text occurs again in its column. Rows equal to the first row are headers of concatenated
    files."""
    same = [pc.fill_null(pc.equal(column, name), False) for name, column in zip(first, rest.columns, strict=False)]
    if not same:
        return False
    some, every = same[0], same[0]
    for one in same[1:]:
        some, every = pc.or_(some, one), pc.and_(every, one)
    return bool(pc.any(pc.and_not(some, every)).as_py())


def _is_text(t: pa.DataType) -> bool:
    return not (pa.types.is_primitive(t) or pa.types.is_decimal(t))
