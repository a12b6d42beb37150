"""Every function of the table means here what it means in Spark, value by value and type by type; what Spark would fail
on raises."""

import datetime as dt
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlglot
from pyspark.sql import SparkSession
from sqlglot import exp

from metaindex.core import ScanError, SparkDriver
from metaindex.expressions.engines.sql_scalars import ScalarReader
from metaindex.expressions.engines.sql_syntax import quotes_escaped
from metaindex.expressions.scalars.building import UnknownMeaning
from metaindex.expressions.scalars.functions import TABLE
from metaindex.expressions.scalars.nodes import FunctionCall, Scalar
from metaindex.expressions.scalars.residual import RowScalars
from metaindex.expressions.scalars.types import known_type
from tests.facts import Facts

_UTC = dt.UTC


def _rows() -> pa.Table:
    instants = [
        dt.datetime(2024, 2, 29, 23, 59, 59, 999_999, _UTC),
        dt.datetime(1969, 12, 31, 23, 59, 59, 5, _UTC),
        dt.datetime(2021, 1, 3, 0, 0, 0, 0, _UTC),
        dt.datetime(1999, 12, 31, 12, 30, 15, 250_000, _UTC),
        dt.datetime(2024, 3, 31, 1, 30, 0, 0, _UTC),
        None,
    ]
    days = [dt.date(2024, 1, 31), dt.date(1, 1, 1), dt.date(9999, 12, 31), None, dt.date(1582, 10, 10), None]
    entries = [[("a", 1)], [], [("b", 2), ("a", None)], [("a", 3)], [("", 4)], None]
    return pa.table(
        {
            "i": pa.array([1, -7, 2_147_483, 0, 5, None], pa.int32()),
            "t": pa.array([7, -100, 12, 0, -1, None], pa.int8()),
            "h": pa.array([300, -300, 1, 0, -1, None], pa.int16()),
            "l": pa.array([3, -2, 9_007_199_254_740_993, 7, -5, None], pa.int64()),
            "x": pa.array([1.5, -0.0, math.nan, math.inf, -2.75, None], pa.float64()),
            "y": pa.array([2.5, 0.1, -1e300, 4.0, -0.5, None], pa.float64()),
            "f": pa.array([1.5, 0.1, math.nan, -0.0, 3.0, None], pa.float32()),
            "q": pa.array([*map(Decimal, ("1.50", "-2.25", "99999999.99", "0", "-0.01")), None], pa.decimal128(10, 2)),
            "w": pa.array([*map(Decimal, ("1.5", "-2.5", "0.001", "7", "10")), None], pa.decimal128(18, 3)),
            "b": pa.array([True, False, None, True, False, None], pa.bool_()),
            "s": pa.array(["  aBc ", "Straße", "ΑΣ", "x_y%z\\", "", None], pa.string()),
            "c": pa.array(["abc", "ab", "ß😀e\u0301q", "\tq ", "ǅİı\u212a", None], pa.string()),
            "d": pa.array([*(None if at is None else at.date() for at in instants)], pa.date32()),
            "e": pa.array(days, pa.date32()),
            "ts": pa.array(instants, pa.timestamp("us", tz="UTC")),
            "n": pa.array([None if at is None else at.replace(tzinfo=None) for at in instants], pa.timestamp("us")),
            "arr": pa.array([[1, 2], [3, None], [4], [5, 6, 7], [8], None], pa.list_(pa.int32())),
            "m": pa.array(entries, pa.map_(pa.string(), pa.int32())),
            "st": pa.array([{"k": 1}, {"k": None}, None, {"k": 4}, {"k": 5}, None], pa.struct([("k", pa.int32())])),
        }
    )  # fmt: skip


VALUES = """
i + 1
i + l
t % 50 + t % 50
t + h
h * 3
l - i
-i
-x
-q
abs(h)
abs(q)
abs(x)
i * 2 - l
i / 2
i / 4 + y
y / 2
l div 2
-7 div i2
i % 3
i / if(i IS NULL, 0, 1)
i div if(i IS NULL, 0, 1)
i % if(i IS NULL, 0, 1)
x % if(x IS NULL, 0, 1)
l % 3
x % 2
y % 0.3e0
q + 1
q + w
q - 0.005
q * w
q * 2.50
w + l
i + q
x + i
l + x
f + x
q + y
i = 1
i != l
i <=> l
i < q
q >= w
w = 1.5
x = y
x > y
x <= 0
x < l
f = x
f > 0.1e0
s = c
s < c
b = true
b <=> false
b AND i > 0
b OR i > 0
NOT b
(i > 0) = b
i IN (1, l, NULL)
q IN (1.5, -2.25)
c IN ('ab', s)
i BETWEEN l AND 5
i NOT BETWEEN 0 AND l
i IS NULL
upper(s) IS NULL
(i > l) IS NULL
b IS TRUE
b IS NOT TRUE
b IS FALSE
isnull(c)
isnotnull(x + i)
CASE WHEN i > 0 THEN l WHEN b THEN 5 END
CASE WHEN x > 1 THEN 1 ELSE q END
CASE i WHEN 1 THEN 'one' WHEN 0 THEN c ELSE 'more' END
if(i > 0, i, l)
if(b, s, c)
coalesce(i, l, 7)
nvl(c, 'none')
ifnull(x, 0)
nullif(i, 0)
nullif(c, 'ab')
greatest(i, l, 2)
greatest(x, y)
least(x, y)
least(i, NULL, 3)
greatest(c, s)
floor(y % 1e6)
ceil(y % 1e6)
ceiling(q2)
isnan(x)
isnan(f)
length(c)
char_length(s)
octet_length(c)
upper(s)
upper(c)
lower(s)
lower(c)
ucase(c)
lcase(concat(c, s))
trim(s)
ltrim(s)
rtrim(c)
trim(c)
trim(BOTH FROM s)
concat(c, s)
concat(c, 'x', s)
c || '-' || s
replace(s, 'a', 'bb')
replace(c, '', 'x')
replace(c, 'b')
substr(c, 1, 2)
substring(c, 2)
substr(c, 0, 2)
substr(c, 2, 0)
left(c, 2)
substring(c FROM 2 FOR 1)
instr(c, 'b')
position('q' IN c)
locate('q', c)
startswith(c, 'a')
startswith(c, s)
endswith(s, 'c ')
contains(s, 'B')
contains(c, '')
c LIKE 'a%'
c LIKE '%b'
c LIKE '_b_'
c LIKE '%\\u0301_'
c LIKE '_😀%'
s LIKE '%\\_y\\%%'
s LIKE '%x_y%'
s LIKE '%z\\\\\\\\'
s NOT LIKE '%B%'
s LIKE '%!%%' ESCAPE '!'
s ILIKE '%BC%'
c ILIKE 'ß%'
c NOT ILIKE '%B%'
date(ts)
to_date(ts)
to_date(n)
CAST(ts AS DATE)
CAST(n AS DATE)
CAST(d AS TIMESTAMP)
CAST(d AS TIMESTAMP_NTZ)
CAST(n AS TIMESTAMP)
CAST(ts AS TIMESTAMP_NTZ)
year(ts)
year(n)
year(e)
quarter(d)
month(ts)
day(d)
dayofmonth(n)
dayofyear(d)
dayofweek(d)
dayofweek(e)
weekday(d)
weekofyear(d)
weekofyear(e)
hour(ts)
minute(n)
second(ts)
extract(YEAR FROM ts)
extract(WEEK FROM d)
extract(DOY FROM n)
extract(HOUR FROM n)
last_day(d)
last_day(e)
last_day(ts)
date_add(d, 10)
date_add(d, i)
date_sub(d, 3)
d + 1
d - 1
datediff(d, e)
datediff(ts, DATE '2024-01-01')
datediff(d, '2024-01-01')
add_months(d, 1)
add_months(d, -12)
add_months(d, i % 100)
trunc(d, 'year')
trunc(d, 'MM')
trunc(d, 'QUARTER')
trunc(d, 'week')
trunc(e, 'week')
date_trunc('YEAR', ts)
date_trunc('quarter', ts)
date_trunc('MON', n)
date_trunc('week', ts)
date_trunc('DAY', ts)
date_trunc('hour', ts)
date_trunc('MINUTE', ts)
date_trunc('second', ts)
date_trunc('month', d)
ts + INTERVAL 1 HOUR
ts - INTERVAL '90' MINUTE
ts + INTERVAL 2 DAYS
n + INTERVAL 1 WEEK
n - INTERVAL 3 SECONDS
d + INTERVAL 1 DAY
d - INTERVAL 2 MONTHS
ts2 + INTERVAL 1 MONTH
n + INTERVAL 1 MONTH
ts + INTERVAL 1 YEAR
ts > d
ts = n2
d = n
d < '2024-01-01'
ts >= '1999-12-31 12:30:15.25'
n BETWEEN '2000-01-01' AND '2024-12-31'
CAST(i AS BIGINT)
CAST(l AS SMALLINT2)
CAST(i AS DOUBLE)
CAST(l AS DOUBLE)
CAST(h AS DECIMAL(7,2))
CAST(i AS STRING)
CAST(b AS STRING)
CAST(b AS INT)
CAST(y2 AS INT)
CAST(q AS INT)
CAST(w AS BIGINT)
CAST(q AS DECIMAL(14,4))
CAST(q AS DOUBLE)
CAST(f AS DOUBLE)
arr[0]
arr[if(arr IS NULL, -1, 0)]
arr[t2]
m['a']
m['zz']
st.k + 1
size(arr)
size(m)
cardinality(arr)
array_contains(arr, 3)
array_contains(arr, 4)
array_contains(arr, i)
1 + 2
'a' || 'b'
date_add(DATE '2024-01-31', 1)
DATE '2024-01-31' + INTERVAL 1 MONTH
TIMESTAMP '2024-02-29 10:00:00' - INTERVAL 1 YEAR
date_trunc('week', TIMESTAMP '2024-02-29 10:00:00')
datediff('2024-03-01', '2024-02-01')
""".strip().splitlines()
REPLACED = {
    "ts2": "(ts - INTERVAL 30 DAYS)",
    "i2": "(i + 1000)",
    "q2": "CAST(q AS DOUBLE)",
    "n2": "CAST(n AS TIMESTAMP)",
    "y2": "(y % 1e9)",
    "t2": "CAST(abs(t) % 1 AS INT)",
    "CAST(l AS SMALLINT2)": "CAST(l % 1000 AS SMALLINT)",
}

RAISES = """
i / 0
i % 0
x / 0
l div 0
arr[1]
arr[-1]
CAST(l AS INT)
CAST(h AS TINYINT)
CAST(x AS INT)
CAST(i AS DECIMAL(4,1))
-CAST(t - 28 AS TINYINT)
t * t
CAST(l * 1000 AS BIGINT) * 1000
abs(CAST(t - 28 AS TINYINT))
""".strip().splitlines()


def _question(text: str) -> str:
    for short, long in REPLACED.items():
        text = text.replace(short, long)
    return text


def _read(text: str, schema: pa.Schema, zone: str) -> Scalar:
    tree = sqlglot.parse_one(quotes_escaped(text, "spark"), read="spark", into=exp.Condition)
    return ScalarReader(schema, zone, dt.datetime(2024, 6, 1, tzinfo=_UTC)).read(tree)


def _shown(values: pa.Array | pa.ChunkedArray) -> list[str]:
    """A line a value, and the type first."""
    known = known_type(values.type) or values.type
    return [str(known), *(ascii(_plain(value)) for value in values.to_pylist())]


def _plain(value: object) -> object:
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(_UTC).isoformat()
    return str(value) if isinstance(value, dt.date | Decimal) else value


class _Asked:
    """What Spark says to many expressions, asked together: of one that fails, alone."""

    def __init__(self, rows: pa.Table, path: Path, zone: str, texts: Sequence[str]) -> None:
        self._rows, self._file, self._zone, self._texts = rows, path / "rows.parquet", zone, texts
        self._said: dict[str, list[str]] = {}

    def to(self, text: str) -> Callable[[SparkSession], Iterable[str]]:
        def ask(spark: SparkSession) -> list[str]:
            if not self._said:
                pq.write_table(self._rows, self._file)
                with SparkDriver(spark).setting("spark.sql.session.timeZone", self._zone):
                    self._ask(spark, list(self._texts))
            return self._said[text]

        return ask

    def _ask(self, spark: SparkSession, texts: list[str]) -> None:
        named = [f"{text} AS r{n}" for n, text in enumerate(texts)]
        try:
            found = SparkDriver.arrow_of(spark.read.parquet(str(self._file)).selectExpr(*named))
        except Exception as error:  # noqa: BLE001 - which error, Spark's class says
            half = len(texts) // 2
            if half:
                self._ask(spark, texts[:half])
                self._ask(spark, texts[half:])
                return
            condition = getattr(error, "getCondition", None)
            self._said[texts[0]] = [f"error {type(error).__name__ if condition is None else condition()}"]
            return
        self._said |= {text: _shown(found.column(n)) for n, text in enumerate(texts)}


def _ours(rows: pa.Table, zone: str, text: str) -> list[str]:
    scalar = _read(text, rows.schema, zone)
    (batch,) = rows.to_batches()
    found = RowScalars().values(scalar, batch, text)
    if pa.types.is_timestamp(scalar.type) and scalar.type.tz is not None:
        found = found.cast(pa.timestamp("us")).cast(scalar.type)
    return _shown(found.cast(scalar.type))


def test_values_are_those_of_spark(facts: Facts, tmp_path: Path) -> None:
    rows, wrong, texts = _rows(), [], [*map(_question, VALUES)]
    asked = _Asked(rows, tmp_path, "UTC", texts)
    for text in texts:
        theirs = facts.said(text, asked.to(text))
        try:
            ours = _ours(rows, "UTC", text)
        except (ScanError, UnknownMeaning) as error:
            ours = ["raises", str(error)]
        if ours[1:] != theirs[1:] or not _same_type(ours[0], theirs[0]):
            wrong.append((text, ours, theirs))
    assert not wrong, "\n".join(map(str, wrong))


def _same_type(ours: str, theirs: str) -> bool:
    """A decimal may have more digits before the point than Spark's."""
    return ours == theirs or (ours.startswith("decimal") and theirs.startswith("decimal"))


ZONED = """
date(ts)
hour(ts)
year(ts)
dayofweek(ts)
minute(ts)
CAST(ts AS TIMESTAMP_NTZ)
ts + INTERVAL 1 HOUR
ts >= '2024-02-29 23:30:00'
TIMESTAMP '2024-03-30 02:30:00' + INTERVAL 1 DAY
TIMESTAMP '2024-10-26 02:30:00' + INTERVAL 1 DAY
TIMESTAMP '2024-01-31 02:30:00' + INTERVAL 2 MONTHS
CAST(DATE '2024-03-31' AS TIMESTAMP)
""".strip().splitlines()


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/Sao_Paulo", "+05:30"])
def test_times_of_a_zone_are_those_of_spark(facts: Facts, tmp_path: Path, zone: str) -> None:
    rows, wrong = _rows(), []
    asked = _Asked(rows, tmp_path, zone, ZONED)
    for text in ZONED:
        theirs = facts.said(f"in {zone}: {text}", asked.to(text))
        ours = _ours(rows, zone, text)
        if ours != theirs:
            wrong.append((text, ours, theirs))
    assert not wrong, "\n".join(map(str, wrong))


def test_what_spark_fails_on_raises(facts: Facts, tmp_path: Path) -> None:
    rows = _rows()
    asked = _Asked(rows, tmp_path, "UTC", RAISES)
    for text in RAISES:
        (theirs, *_) = facts.said(text, asked.to(text))
        assert theirs.startswith("error "), (text, theirs)
        with pytest.raises(ScanError):
            _ours(rows, "UTC", text)


def test_every_function_is_asked() -> None:
    rows = _rows()
    asked = {node.function for text in map(_question, VALUES) for node in _calls(_read(text, rows.schema, "UTC"))} | {
        "cast"
    }
    constant = {"as_instant"}  # worked out, or written where its argument is a column
    assert set(TABLE) - constant <= asked


def _calls(scalar: Scalar) -> Iterator[FunctionCall]:
    if isinstance(scalar, FunctionCall):
        yield scalar
        for part in scalar.arguments:
            yield from _calls(part)
