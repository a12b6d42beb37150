"""What is asked of each table, and a dozen candidates: the queries of its benchmark as far as they say something of it,
and others whose values are those of rows of the table, or of none."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

import metaindex as mi
from benchmarks.tpch.queries import NEEDLES, QUERIES
from metaindex.advisor import TableNames, of_table
from metaindex.cli.flights.data import QUESTIONS
from metaindex.expressions import Predicate
from metaindex.index import Kind

from . import lakes, tpcds

Row = Mapping[str, object]
Form = Callable[[Row], str]
Candidates = Mapping[str, Sequence[Kind]]


@dataclass(frozen=True)
class Subject:
    """A table with its queries: `statements` are those of its benchmark, `forms` take the values of a row. `by_hand`:
    sets of candidates, by their names, that a careful person may choose."""

    name: str
    path: Path
    statements: Sequence[str]
    forms: Sequence[Form]
    candidates: Candidates
    by_hand: Mapping[str, Sequence[str]]

    def queries(self, each: int, seed: int = 7) -> list[Predicate | str]:
        """Each once: what the statements ask of this table, and `each` of every form."""
        table = mi.open_table(str(self.path))
        names = [field.name for field in table.schema]
        asked = of_table(mi.workload(list(self.statements)), TableNames(str(self.path), {}), names).queries
        told = [query.predicate for query in asked if query.columns != frozenset()]
        drawn = [form(row) for form in self.forms for row in rows_of(self.path, each, seed)]
        return [*dict.fromkeys(told), *dict.fromkeys(drawn)]

    def bare(self) -> Path:
        """Copies of the files in a folder without indexes."""
        parent = self.path.parent
        root = parent.with_name(f"{parent.name}-bare") / self.path.name
        lakes.copied(self.path, root)
        return root


def rows_of(path: Path, many: int, seed: int) -> list[Row]:
    """Of some files a row each, the same ones each time."""
    rng = np.random.default_rng(seed)
    paths = sorted(path.glob("*.parquet"))
    rows: list[Row] = []
    for at in rng.choice(len(paths), min(many, len(paths)), replace=False):
        table = pq.read_table(paths[at])
        rows.append(table.slice(int(rng.integers(table.num_rows)), 1).to_pylist()[0])
    return rows


def subjects(folder: Path, quick: bool, only: str) -> Iterator[Subject]:
    """Those whose names have `only` in them, made where they are not there. Smaller ones where it is to be quick;
    TPC-DS, whose generator has to be fetched, and flights are then left out."""
    scale, files = (0.01, 20) if quick else (1.0, 400)
    needles = (20, 8_000) if quick else (500, 5_000_000)
    makers: dict[str, Callable[[str], Subject]] = {}
    for name, by_month in (("TPC-H lineitem, as made", False), ("TPC-H lineitem, by month", True)):
        makers[name] = partial(_lineitem, folder, scale, files, by_month=by_month)
    if not quick:
        for name, by_month in (("TPC-DS store_sales, as made", False), ("TPC-DS store_sales, by month", True)):
            makers[name] = partial(_sales, folder, scale, files, by_month=by_month)
        makers["flights, a file a day"] = partial(_flights, folder)
    makers["needle"] = partial(_needles, folder, *needles)
    return (make(name) for name, make in makers.items() if only in name)


def _later(day: object, days: int) -> dt.date:
    assert isinstance(day, dt.date)
    return day + dt.timedelta(days)


def _or_null(column: str, value: object) -> str:
    return f"{column} is null" if value is None else f"{column} = {value}"


def _lineitem(folder: Path, scale: float, files: int, name: str, *, by_month: bool) -> Subject:
    path = lakes.lineitem(folder, scale, files, by_month=by_month)
    day = "l_shipdate between date '{}' and date '{}'"
    forms: list[Form] = [
        lambda row: f"l_orderkey = {row['l_orderkey']}",
        lambda row: f"l_partkey = {row['l_partkey']}",
        lambda row: f"l_suppkey = {row['l_suppkey']}",
        lambda row: f"l_partkey = {row['l_partkey']} and l_suppkey = {row['l_suppkey']}",
        lambda row: f"l_partkey in ({row['l_partkey']}, {row['l_orderkey']}, 199999)",
        lambda row: day.format(row["l_shipdate"], _later(row["l_shipdate"], 6)),
        lambda row: f"{day.format(row['l_shipdate'], _later(row['l_shipdate'], 30))} and l_shipmode = 'AIR'",
        lambda row: f"l_receiptdate = date '{row['l_receiptdate']}'",
        lambda row: f"l_extendedprice > {100_000 + int(row['l_quantity']) * 100}",  # type: ignore[call-overload]
        lambda row: f"l_orderkey = {int(row['l_orderkey']) * 32 + 20}",  # type: ignore[call-overload]
    ]
    candidates: Candidates = {
        "stats": [mi.ColumnStats()],
        "order": [mi.Values("l_orderkey")],
        "part": [mi.Values("l_partkey")],
        "supplier": [mi.Values("l_suppkey")],
        "part, supplier": [mi.Values(("l_partkey", "l_suppkey"))],
        "bloom of order": [mi.Bloom("l_orderkey")],
        "bloom of part": [mi.Bloom("l_partkey")],
        "bloom of supplier": [mi.Bloom("l_suppkey")],
        "day": [mi.Values("l_shipdate", by="value")],
        "received": [mi.Values("l_receiptdate")],
        "mode": [mi.ValueList("l_shipmode")],
        "days": [mi.ColumnStats("l_shipdate", "l_receiptdate")],
    }
    by_hand = {"stats": ["stats"], "stats and values": ["stats", "order", "part"], "blooms": ["bloom of part", "stats"]}
    statements = [*QUERIES.values(), *NEEDLES.values()]
    return Subject(name, path, statements, forms, candidates, by_hand)


def _sales(folder: Path, scale: float, files: int, name: str, *, by_month: bool) -> Subject:
    path = lakes.sales(folder, scale, files, by_month=by_month)
    statements = tpcds.queries(tpcds.made(folder, scale))
    forms: list[Form] = [
        lambda row: f"ss_ticket_number = {row['ss_ticket_number']}",
        lambda row: f"ss_item_sk = {row['ss_item_sk']}",
        lambda row: _or_null("ss_customer_sk", row["ss_customer_sk"]),
        lambda row: f"ss_item_sk = {row['ss_item_sk']} and {_or_null('ss_customer_sk', row['ss_customer_sk'])}",
        lambda row: f"ss_customer_sk in ({row['ss_item_sk']}, {row['ss_ticket_number']}, 77)",
        lambda row: f"ss_sold_date_sk between {row['ss_sold_date_sk'] or 2451000} and 2451500",
        lambda row: _or_null("ss_sold_date_sk", row["ss_sold_date_sk"]),
        lambda row: f"ss_net_profit > {9_000 + int(row['ss_item_sk']) % 4_000}",  # type: ignore[call-overload]
        lambda row: f"ss_item_sk = {int(row['ss_item_sk']) + 100_000}",  # type: ignore[call-overload]
    ]
    candidates: Candidates = {
        "stats": [mi.ColumnStats()],
        "ticket": [mi.Values("ss_ticket_number")],
        "item": [mi.Values("ss_item_sk")],
        "customer": [mi.Values("ss_customer_sk")],
        "item, customer": [mi.Values(("ss_item_sk", "ss_customer_sk"))],
        "bloom of ticket": [mi.Bloom("ss_ticket_number")],
        "bloom of item": [mi.Bloom("ss_item_sk")],
        "bloom of customer": [mi.Bloom("ss_customer_sk")],
        "day": [mi.Values("ss_sold_date_sk", by="value")],
        "quantity": [mi.ValueList("ss_quantity")],
        "profit": [mi.ColumnStats("ss_net_profit", "ss_list_price")],
        "days": [mi.ColumnStats("ss_sold_date_sk", "ss_ticket_number")],
    }
    by_hand = {"stats": ["stats"], "stats and values": ["stats", "item", "customer"], "blooms": ["bloom of customer"]}
    return Subject(name, path, statements, forms, candidates, by_hand)


def _flights(folder: Path, name: str) -> Subject:
    path = lakes.flown(folder)
    forms: list[Form] = [
        lambda row: f"tailnum = '{row['tailnum']}'" if row["tailnum"] else "tailnum is null",
        lambda row: f"dest = '{row['dest']}'",
        lambda row: f"flight = {row['flight']} and carrier = '{row['carrier']}'",
        lambda row: f"flight_date = date '{row['flight_date']}'",
        lambda row: f"tailnum in ('{row['tailnum']}', 'N14228', 'none')",
        lambda row: f"dep_delay > {300 + int(row['flight']) % 600}",  # type: ignore[call-overload]
        lambda row: f"carrier = '{row['carrier']}' and dest = '{row['dest']}'",
    ]
    candidates: Candidates = {
        "stats": [mi.ColumnStats()],
        "tail": [mi.Values("tailnum")],
        "flight": [mi.Values("flight")],
        "flight, carrier": [mi.Values(("flight", "carrier"))],
        "bloom of tail": [mi.Bloom("tailnum")],
        "bloom of flight": [mi.Bloom("flight")],
        "destinations": [mi.ValueList("dest")],
        "carriers": [mi.ValueList("carrier", "origin")],
        "carrier, destination": [mi.Values(("carrier", "dest"))],
        "day": [mi.ColumnStats("flight_date")],
        "delays": [mi.ColumnStats("dep_delay", "arr_delay")],
        "tail by value": [mi.Values("tailnum", by="value")],
    }
    by_hand = {"stats": ["stats"], "stats and values": ["stats", "tail"], "lists": ["stats", "destinations"]}
    return Subject(name, path, [one.sql for one in QUESTIONS], forms, candidates, by_hand)


def _needles(folder: Path, files: int, rows: int, name: str) -> Subject:
    path = lakes.needles(folder, files, rows)
    forms: list[Form] = [
        lambda row: f"record_id = {row['record_id']}",
        lambda row: f"event_id = '{row['event_id']}'",
        lambda row: f"account_id = {row['account_id']}",
        lambda row: f"event_id in ('{row['event_id']}', '{'0' * 32}')",
        lambda row: f"account_id = {row['account_id']} and country = '{row['country']}'",
        lambda row: f"record_id = {int(row['record_id']) ^ 1}",  # type: ignore[call-overload]
        lambda row: f"amount > {600 + int(row['account_id']) % 300}",  # type: ignore[call-overload]
    ]
    candidates: Candidates = {
        "stats": [mi.ColumnStats()],
        "record": [mi.Values("record_id")],
        "event": [mi.Values("event_id")],
        "account": [mi.Values("account_id")],
        "bloom of record": [mi.Bloom("record_id")],
        "bloom of event": [mi.Bloom("event_id")],
        "bloom of account": [mi.Bloom("account_id")],
        "countries": [mi.ValueList("country")],
        "account, country": [mi.Values(("account_id", "country"))],
        "amounts": [mi.ColumnStats("amount")],
        "event by value": [mi.Values("event_id", by="value")],
        "all keys": [mi.Values("record_id", "event_id")],
    }
    by_hand = {"stats": ["stats"], "stats and values": ["stats", "record"], "blooms": ["bloom of event", "stats"]}
    return Subject(name, path, [], forms, candidates, by_hand)
