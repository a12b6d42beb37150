"""Decides whether a CSV file begins with the names of its columns. Unless an option tells, a first row that looks like
data is not taken for names: a row of every file would be lost without a word.

What tells: a column of numbers, days, times or truths whose first row is none has a name there; one whose first row is
one, too, has data there. Of texts alone a first row that comes again further down, in a row that is another one, is
data. This is what DuckDB's sniffer asks, but for the last; where nothing tells, there are names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import Cure, UnsupportedFeatureError, one_line
from metaindex.formats.column_names import alike

from .time_patterns import TimePattern


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


# Types of texts, by the forms that Spark's inferSchema knows

_FORMS: tuple[tuple[str, pa.DataType | None], ...] = (
    (r"^[+-]?[0-9]{1,38}$", None),
    (r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[dDfF]?$|^NaN$|^[+-]?Inf(inity)?$", pa.float64()),
    (r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$", pa.date32()),
    (
        r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?$",
        pa.timestamp("us", "UTC"),
    ),
    (r"^(?i:true|false)$", pa.bool_()),
)


def infer_text(values: pa.ChunkedArray, reader: Mapping[str, str] | None = None) -> pa.DataType:
    """The narrowest type whose form every value has; string for none and for no values. Where the options name a
    pattern of dates or times, that is their form."""
    values = values.drop_null()
    if not len(values):
        return pa.string()
    named = {pa.date32(): "dateformat", pa.timestamp("us", "UTC"): "timestampformat"}
    for form, t in _FORMS:
        pattern = (reader or {}).get(named.get(t, ""))
        if pattern is not None:
            known = TimePattern.of(pattern)
            if known is not None and pc.all(pc.match_substring_regex(values, known.text)).as_py():
                return t
            continue
        if not pc.all(pc.match_substring_regex(values, form)).as_py():
            continue
        if t is None:
            return _whole(values)
        if pa.types.is_date(t) and not _are_days(values):
            continue
        return t
    return pa.string()


def _whole(values: pa.ChunkedArray) -> pa.DataType:
    # Leading zeros and signs have no part in a number's size, 38 digits hold all.
    numbers = pc.replace_substring_regex(values, r"^\+", "").cast(pa.decimal128(38, 0))
    low, high = (int(v) for v in pc.min_max(numbers).as_py().values())
    if low >= -(2**31) and high < 2**31:
        return pa.int32()
    if low >= -(2**63) and high < 2**63:
        return pa.int64()
    return pa.decimal128(max(len(str(abs(low))), len(str(abs(high)))), 0)


def _are_days(values: pa.ChunkedArray) -> bool:
    try:
        values.cast(pa.date32())
    except pa.ArrowInvalid:
        return False
    return True
