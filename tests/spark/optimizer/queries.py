"""Queries at random, the same for a seed: joins of all types, aggregates, windows, set operations, subqueries, CTEs,
over views `t` (id bigint, k int, name string, v double, at timestamp, day date, Flag boolean, p int; every one but id
NULL at times) and `dim` (k int, label string, id bigint). Names in any case. Sums and doubles are exact whatever the
order of rows; every LIMIT has a total order."""

import random
from collections.abc import Callable

COLUMNS = ("id", "k", "name", "v", "at", "day", "Flag", "p")
ROWS = 240


class Queries:
    """A stream of queries. Every column of a result has a name of its own."""

    def __init__(self, seed: int | str) -> None:
        self._choice = random.Random(seed)
        self._kinds: list[Callable[[], str]] = [
            self._plain,
            self._joined,
            self._semi,
            self._grouped,
            self._window,
            self._set_operation,
            self._exists,
            self._in_subquery,
            self._scalar,
            self._cte,
            self._limited,
            self._distinct,
            self._nested,
            self._three,
        ]

    def some(self, number: int) -> list[str]:
        """So many, kinds by turns."""
        return [self._kinds[i % len(self._kinds)]() for i in range(number)]

    # -- predicates ------------------------------------------------------------------------------------------------

    def _name(self, column: str, of: str = "") -> str:
        """In some case, which means nothing to Spark."""
        shown = self._choice.choice([column, column, column.upper(), column.lower(), column.capitalize()])
        return f"{of}.{shown}" if of else shown

    def _id(self) -> int:
        return self._choice.choice([self._choice.randrange(ROWS), self._choice.randrange(-5, ROWS + 40)])

    def _atom(self, of: str = "") -> str:
        pick = self._choice

        def c(name: str) -> str:
            return self._name(name, of)

        low = self._id()
        names = ", ".join(f"'n{self._id()}'" for _ in range(pick.randint(1, 4)))
        ids = ", ".join(str(self._id()) for _ in range(pick.randint(1, 5)))
        day = f"date'2024-{pick.randint(1, 3):02d}-{pick.randint(1, 28):02d}'"
        return pick.choice(
            [
                f"{c('id')} = {low}",
                f"{c('id')} = {low}",
                f"{c('id')} IN ({ids})",
                f"{c('id')} NOT IN ({ids})",
                f"{c('id')} BETWEEN {low} AND {low + pick.randint(0, 40)}",
                f"{c('id')} {pick.choice(['<', '<=', '>', '>='])} {low}",
                f"{c('id')} <> {low}",
                f"CAST({c('id')} AS int) = {low}",
                f"{c('id')} = {low}.0",
                f"{c('id')} % 7 = {pick.randrange(7)}",
                f"{c('id')} + 1 = {low}",
                f"{c('k')} = {pick.randrange(12)}",
                f"{c('k')} IS NULL",
                f"{c('k')} IS NOT NULL",
                f"{c('k')} <=> {pick.choice(['NULL', '3'])}",
                f"NOT {c('k')} <=> 3",
                f"{c('k')} IN (1, NULL, 4)",
                f"{c('k')} NOT IN (1, 2)",
                f"{c('k')} NOT IN (1, NULL)",
                f"{c('k')} = NULL",
                f"coalesce({c('k')}, -1) = {pick.choice([-1, 2])}",
                f"{c('name')} = 'n{low}'",
                f"{c('name')} IN ({names})",
                f"{c('name')} LIKE 'n1%'",
                f"{c('name')} LIKE 'n_'",
                f"{c('name')} NOT LIKE 'n2%'",
                f"upper({c('name')}) = 'N{low}'",
                f"{c('name')} > 'n{low}'",
                f"{c('name')} IS NULL",
                f"length({c('name')}) < 3",
                f"{c('v')} > {low / 2}",
                f"{c('v')} = double('NaN')",
                f"{c('v')} <> {low / 2}",
                f"isnan({c('v')})",
                f"{c('v')} < double('Infinity')",
                f"{c('v')} IS NULL",
                f"{c('day')} = {day}",
                f"{c('day')} >= {day}",
                f"year({c('day')}) = {pick.choice([2023, 2024])}",
                f"{c('at')} < timestamp'2024-02-{pick.randint(1, 28):02d} 00:30:00'",
                f"CAST({c('at')} AS date) = {day}",
                c("Flag"),
                f"NOT {c('Flag')}",
                f"{c('Flag')} IS NULL",
                f"{c('p')} = {pick.randrange(5)}",
                f"{c('p')} IN (0, 3)",
                f"{c('p')} > {pick.randrange(4)} AND {c('id')} < {low}",
            ]
        )

    def _where(self, of: str = "", depth: int = 2) -> str:
        roll = self._choice.random()
        if depth == 0 or roll < 0.45:
            return self._atom(of)
        if roll < 0.7:
            return f"({self._where(of, depth - 1)} AND {self._where(of, depth - 1)})"
        if roll < 0.9:
            return f"({self._where(of, depth - 1)} OR {self._where(of, depth - 1)})"
        return f"NOT ({self._where(of, depth - 1)})"

    def _source(self, alias: str) -> str:
        """The table, or some of it."""
        if self._choice.random() < 0.5:
            return f"t {alias}"
        return f"(SELECT * FROM t WHERE {self._where()}) {alias}"

    # -- queries ---------------------------------------------------------------------------------------------------

    def _plain(self) -> str:
        shown = ", ".join(self._choice.sample(COLUMNS, self._choice.randint(1, 4)))
        return f"SELECT {shown} FROM {self._source('x')} WHERE {self._where('x')}"

    def _joined(self) -> str:
        kind = self._choice.choice(["INNER", "LEFT", "RIGHT", "FULL", "CROSS"])
        other, on = self._choice.choice(
            [
                (self._source("b"), "a.id = b.id"),
                (self._source("b"), "a.k = b.k AND a.id < b.id + 3"),
                ("dim b", "a.k = b.k"),
                ("dim b", "a.K = b.k AND b.label <> 'l3'"),
                (self._source("b"), f"a.id = b.id AND {self._where('b', 1)}"),
                (self._source("b"), f"a.name <=> b.name AND {self._where('a', 1)}"),
            ]
        )
        where = f"{self._where('a', 1)} AND a.id < 90"
        if kind == "CROSS":
            return f"SELECT a.id AS a, b.label AS b FROM {self._source('a')} CROSS JOIN dim b WHERE {where}"
        if kind in ("RIGHT", "FULL") and self._choice.random() < 0.5:
            where = f"({where}) OR b.k IS NULL"
        return (
            f"SELECT a.id AS a, a.v AS v, b.k AS b FROM {self._source('a')} {kind} JOIN {other} ON {on} WHERE {where}"
        )

    def _semi(self) -> str:
        kind = self._choice.choice(["LEFT SEMI", "LEFT ANTI"])
        return (
            f"SELECT a.id, a.k FROM {self._source('a')} {kind} JOIN {self._source('b')} ON a.id = b.id AND"
            f" {self._where('b', 1)} WHERE {self._where('a', 1)}"
        )

    def _grouped(self) -> str:
        key = self._choice.choice(["k", "p", "Flag", "day", "name", "k % 3"])
        having = self._choice.choice(["", " HAVING count(*) > 2", " HAVING max(id) > 100"])
        return (
            f"SELECT {key} AS g, count(*) AS c, count(k) AS ck, sum(id) AS s, min(name) AS low, max(v) AS high,"
            f" count(DISTINCT k) AS d, sum(id) FILTER (WHERE {self._where('', 1)}) AS f "
            f"FROM {self._source('x')} WHERE {self._where()} GROUP BY {key}{having}"
        )

    def _window(self) -> str:
        call = self._choice.choice(["row_number()", "sum(id)", "lag(name)", "max(v)", "rank()"])
        return (
            f"SELECT id, {call} OVER (PARTITION BY {self._choice.choice(['k', 'p', 'Flag'])} ORDER BY id) AS w "
            f"FROM {self._source('x')} WHERE {self._where()}"
        )

    def _set_operation(self) -> str:
        verb = self._choice.choice(["UNION", "UNION ALL", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL"])
        shown = self._choice.choice(["id", "k, name", "k", "p, Flag"])
        one, other = (f"SELECT {shown} FROM {self._source('x')} WHERE {self._where('', 1)}" for _ in range(2))
        return f"({one}) {verb} ({other})"

    def _exists(self) -> str:
        word = self._choice.choice(["EXISTS", "NOT EXISTS"])
        return (
            f"SELECT id, name FROM t x WHERE {self._where('x', 1)} AND {word} (SELECT 1 FROM t y WHERE y.k = x.k AND"
            f" y.id > x.id AND {self._where('y', 1)})"
        )

    def _in_subquery(self) -> str:
        word = self._choice.choice(["IN", "NOT IN"])
        column = self._choice.choice(["id", "k"])
        return (
            f"SELECT id, k FROM t x WHERE x.{column} {word} (SELECT {column} FROM t y WHERE {self._where('y', 1)}) AND"
            f" {self._where('x', 1)}"
        )

    def _scalar(self) -> str:
        return self._choice.choice(
            [
                f"SELECT id FROM t WHERE id > (SELECT max(id) - 9 FROM t WHERE {self._where('', 1)})",
                f"SELECT id, (SELECT max(y.id) FROM t y WHERE y.k = x.k AND {self._where('y', 1)}) AS m FROM t x WHERE"
                f" {self._where('x', 1)}",
                f"SELECT count(*) AS c FROM t x WHERE k = (SELECT min(k) FROM dim WHERE dim.id < {self._id()}) AND"
                f" {self._where('x', 1)}",
            ]
        )

    def _cte(self) -> str:
        return (
            f"WITH few AS (SELECT * FROM t WHERE {self._where()}), sums AS (SELECT k, count(*) AS c FROM few GROUP BY"
            " k) "
            f"SELECT f.id, s.c FROM few f JOIN sums s ON f.k <=> s.k WHERE {self._where('f', 1)}"
        )

    def _limited(self) -> str:
        order = self._choice.choice(["id", "id DESC", "k, id", "v DESC NULLS LAST, id"])
        limit = self._choice.choice([1, 5, 17])
        skip = self._choice.choice(["", " OFFSET 2"])
        return f"SELECT id, name, v FROM {self._source('x')} WHERE {self._where()} ORDER BY {order} LIMIT {limit}{skip}"

    def _distinct(self) -> str:
        return f"SELECT DISTINCT k, Flag FROM {self._source('x')} WHERE {self._where()}"

    def _nested(self) -> str:
        inner = f"SELECT id AS n, k AS m, p, v FROM t WHERE {self._where()}"
        limited = f"SELECT * FROM ({inner}) ORDER BY n LIMIT 40"
        return (
            f"SELECT n, m FROM ({self._choice.choice([inner, limited])}) WHERE n < {self._id()} AND (m IS NULL OR m <>"
            " 4)"
        )

    def _three(self) -> str:
        kinds = [self._choice.choice(["JOIN", "LEFT JOIN"]) for _ in range(2)]
        return (
            f"SELECT a.id AS a, b.id AS b, d.label AS d FROM {self._source('a')} {kinds[0]} {self._source('b')} ON a.id"
            f" = b.id + 1 {kinds[1]} dim d ON b.k = d.k "
            f"WHERE {self._where('a', 1)} AND a.id < 150"
        )


def batch(queries: list[str]) -> str:
    """All of them as one statement: a row says which query it is of, and what it holds."""
    parts = [
        f"SELECT '{number}' AS query, to_json(struct(*)) AS row FROM ({text})" for number, text in enumerate(queries)
    ]
    return " UNION ALL ".join(parts)
