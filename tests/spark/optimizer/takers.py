"""Queries that take the first rows of an order, or aggregates, of the views `t` and `dim`
(`tests/spark/optimizer/queries.py`): alone, in unions, under joins, windows and subqueries. Every LIMIT has a total
order."""

from collections.abc import Callable

from tests.spark.optimizer.queries import Queries

SORTED = ("id", "k", "name", "v", "at", "day", "Flag", "p")
WHERE = (
    "id >= 31",
    "id BETWEEN 35 AND 190",
    "p IN (1, 2)",
    "p > 1 AND id < 215",
    "at >= timestamp'2024-01-03 00:00:00'",
    "k IS NOT NULL",
    "NOT isnan(v)",
    "name IS NOT NULL AND id < 200",
    "id <> 77",
    "v > 20",
    "day >= date'2024-01-20'",
    "length(name) > 1",
    "true",
)


class Takers(Queries):
    """A stream of them, kinds by turns."""

    def __init__(self, seed: int | str) -> None:
        super().__init__(seed)
        self._kinds: list[Callable[[], str]] = [
            self._first,
            self._answers,
            self._groups,
            self._of_union,
            self._first,
            self._answers,
            self._different,
            self._distinct_groups,
            self._under_a_join,
            self._under_a_window,
            self._scalars,
            self._different,
        ]

    def _some(self) -> str:
        pick = self._choice
        if pick.random() < 0.25:
            return "t"
        where = pick.choice(WHERE) if pick.random() < 0.8 else self._where("", 1)
        return f"(SELECT * FROM t WHERE {where})"

    def _order(self) -> str:
        pick = self._choice
        nulls = pick.choice(["", "", " NULLS FIRST", " NULLS LAST"])
        return f"{pick.choice(SORTED)}{pick.choice(['', ' DESC'])}{nulls}, id{pick.choice(['', ' DESC'])}, name"

    def _taken(self) -> str:
        rows, skipped = self._choice.choice([1, 3, 20, 45, 100]), self._choice.choice(["", "", " OFFSET 4"])
        return f"ORDER BY {self._order()} LIMIT {rows}{skipped}"

    def _first(self) -> str:
        pick = self._choice
        if pick.random() < 0.3:
            way = pick.choice(["", " DESC"])
            inner = f"SELECT id + 0 AS one, id AS n, at AS moment, v * 2 AS twice FROM {self._some()}"
            return f"SELECT n, twice FROM ({inner}) ORDER BY {pick.choice(['moment', 'n'])}{way}, one LIMIT 7"
        return f"SELECT id, {pick.choice(SORTED)} AS x, upper(name) AS name FROM {self._some()} {self._taken()}"

    def _asked(self) -> str:
        pick = self._choice
        every = ["count(*) AS c", "count(1) + 1 AS more"]
        for column in pick.sample(SORTED, 3):
            every += [f"{how}({column}) AS {how}_{column}" for how in pick.sample(["count", "min", "max"], 2)]
        every += [f"sum({column}) AS sum_{column}" for column in pick.sample(["id", "k", "p"], 1)]
        return ", ".join(pick.sample(every, pick.randint(1, len(every))))

    def _answers(self) -> str:
        having = self._choice.choice(["", " HAVING count(*) > 0", " HAVING max(id) > 500"])
        return f"SELECT {self._asked()} FROM {self._some()}{having}"

    def _groups(self) -> str:
        key = self._choice.choice(["p", "p % 2", "p, p + 1", "concat('p', p)", "day", "k"])
        return f"SELECT {key.replace(', p + 1', '')} AS g, {self._asked()} FROM {self._some()} GROUP BY {key}"

    def _distinct_groups(self) -> str:
        return f"SELECT DISTINCT p FROM {self._some()}"

    def _different(self) -> str:
        pick = self._choice
        column = pick.choice(["k", "k", "day", "p", "name", "v", "Flag"])
        how = pick.choice(["count(DISTINCT {0}) AS d", "count(DISTINCT {0}) AS d", "approx_count_distinct({0}) AS d"])
        more = pick.choice(["", f", {self._asked()}"])
        grouped = pick.choice(["", "", " GROUP BY p"])
        shown = pick.choice([f"DISTINCT {column} AS d", f"DISTINCT {column} AS d, p", f"{how.format(column)}{more}"])
        return f"SELECT {shown} FROM {self._some()}{'' if shown.startswith('DISTINCT') else grouped}"

    def _of_union(self) -> str:
        one, other = (f"SELECT id, k AS x, name, v, at, day, Flag, p, k FROM {self._some()}" for _ in range(2))
        return f"SELECT id, x FROM ({one} UNION ALL {other}) {self._taken()}"

    def _under_a_join(self) -> str:
        kind = self._choice.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT ANTI JOIN"])
        few = f"(SELECT * FROM {self._some()} {self._taken()})"
        counts = f"(SELECT p AS k, count(*) AS n, max(id) AS m FROM {self._some()} GROUP BY p)"
        first, other = self._choice.choice([(few, counts), (counts, few), (few, "dim"), (counts, "t")])
        shown = "a.k AS k" if kind == "LEFT ANTI JOIN" else "a.k AS k, b.k AS l"
        return f"SELECT {shown} FROM {first} a {kind} {other} b ON a.k = b.k"

    def _under_a_window(self) -> str:
        few = f"(SELECT * FROM {self._some()} {self._taken()})"
        return f"SELECT id, count(*) OVER (PARTITION BY p ORDER BY id) AS w FROM {few}"

    def _scalars(self) -> str:
        return (
            f"SELECT id, (SELECT max(id) FROM {self._some()}) AS m, (SELECT count(*) FROM {self._some()} y WHERE y.k ="
            f" x.k) AS n FROM {self._some()} x WHERE id IN (SELECT id FROM {self._some()} {self._taken()})"
        )
