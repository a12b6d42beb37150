"""Queries that join the views `t` and `dim` (`tests/spark/optimizer/queries.py`) with few keys, in every way that a
side of a join may be small: filtered, grouped, given, empty, of NULLs alone, itself a join."""

from collections.abc import Callable

from tests.spark.optimizer.queries import Queries

# Of columns of both sides; in each pair the types are equal, or Spark casts one of them.
PAIRS = (
    ("id", "id"),
    ("id", "id"),
    ("k", "k"),
    ("k", "k"),
    ("name", "name"),
    ("day", "day"),
    ("at", "at"),
    ("p", "p"),
    ("p", "k"),
    ("id", "k"),
    ("v", "v"),
    ("Flag", "Flag"),
)
KINDS = ("INNER", "INNER", "LEFT", "RIGHT", "FULL", "LEFT SEMI", "LEFT ANTI")


class Joiners(Queries):
    """A stream of them, kinds by turns."""

    def __init__(self, seed: int | str) -> None:
        super().__init__(seed)
        self._kinds: list[Callable[[], str]] = [
            self._keyed,
            self._keyed,
            self._in,
            self._exist,
            self._chain,
            self._grouped_side,
            self._scalar_key,
            self._united,
            self._keyed,
            self._three,
            self._in_subquery,
        ]

    def _few(self) -> str:
        """A small side with the columns of `t`."""
        pick, low = self._choice, self._id()
        return pick.choice(
            [
                f"(SELECT * FROM t WHERE id = {low})",
                f"(SELECT * FROM t WHERE id BETWEEN {low} AND {low + pick.randint(0, 6)})",
                f"(SELECT * FROM t WHERE k = {pick.randrange(12)} AND id < {low})",
                f"(SELECT * FROM t WHERE name = 'n{low}' OR id = {self._id()})",
                "(SELECT * FROM t WHERE k IS NULL AND id < 70)",
                f"(SELECT * FROM t WHERE {self._where()} ORDER BY id LIMIT {pick.randint(0, 4)})",
                "(SELECT * FROM t WHERE id < 0)",
                f"(SELECT t.* FROM t JOIN dim e ON t.id = e.id WHERE e.k < {pick.randrange(6)})",
            ]
        )

    def _keyed(self) -> str:
        pick = self._choice
        one, other = pick.choice(PAIRS)
        if pick.random() < 0.3:  # by two columns
            also = pick.choice(["k", "p", "name"])
            more = f" AND a.{also} = b.{also}"
        else:
            more = pick.choice(
                ["", "", "", f" AND {self._where('b', 1)}", f" AND {self._where('a', 1)}", " AND a.id <> b.k"]
            )
        kind = pick.choice(KINDS)
        left, right = f"{self._source('a')}", f"{self._few()} b"
        if pick.random() < 0.4:
            left, right = f"{self._few()} a", f"{self._source('b')}"
        shown = "a.id AS a, a.k AS k" if kind in ("LEFT SEMI", "LEFT ANTI") else "a.id AS a, b.id AS b, b.k AS k"
        hint = pick.choice(
            ["", "", "", "/*+ BROADCAST(a) */ ", "/*+ BROADCAST(b) */ ", "/*+ MERGE(b) */ ", "/*+ SHUFFLE_HASH(b) */ "]
        )
        return f"SELECT {hint}{shown} FROM {left} {kind} JOIN {right} ON a.{one} = b.{other}{more}"

    def _in(self) -> str:
        one, other = self._choice.choice(PAIRS)
        word = self._choice.choice(["IN", "IN", "NOT IN"])
        some = f"SELECT y.{other} FROM {self._few()} y"
        return f"SELECT id, k FROM t x WHERE x.{one} {word} ({some}) AND {self._where('x', 1)}"

    def _exist(self) -> str:
        one, other = self._choice.choice(PAIRS)
        word = self._choice.choice(["EXISTS", "EXISTS", "NOT EXISTS"])
        return f"SELECT id, k FROM t x WHERE {word} (SELECT 1 FROM {self._few()} y WHERE y.{other} = x.{one})"

    def _chain(self) -> str:
        kinds = [self._choice.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN"]) for _ in range(2)]
        return (
            f"SELECT a.id AS a, b.id AS b, d.label AS d FROM {self._few()} a {kinds[0]} {self._source('b')}"
            " ON a.k = b.k"
            f" {kinds[1]} (SELECT * FROM dim WHERE k < {self._choice.randrange(12)}) d ON b.id = d.id"
        )

    def _grouped_side(self) -> str:
        one = self._choice.choice(["k", "name", "day"])
        grouped = f"(SELECT {one}, max(id) AS m, count(*) AS c FROM {self._few()} GROUP BY {one}) g"
        kind = self._choice.choice(["JOIN", "RIGHT JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"])
        shown = "x.id" if "LEFT" in kind else "x.id, g.m, g.c"
        return f"SELECT {shown} FROM {self._source('x')} {kind} {grouped} ON x.{one} = g.{one} AND x.id <= g.m"

    def _scalar_key(self) -> str:
        return (
            "SELECT x.id, d.label FROM t x JOIN dim d ON x.k = d.k WHERE d.id = (SELECT max(e.id) FROM dim e WHERE"
            f" e.k < {self._choice.randrange(12)}) AND {self._where('x', 1)}"
        )

    def _united(self) -> str:
        some = (
            f"SELECT id, k FROM t WHERE {self._where('', 1)} UNION ALL SELECT id, k FROM t WHERE {self._where('', 1)}"
        )
        values = ", ".join(f"({self._choice.choice([self._id(), 'NULL'])})" for _ in range(self._choice.randint(1, 4)))
        return f"SELECT u.id AS a, u.k AS k FROM ({some}) u JOIN (VALUES {values}) AS w(id) ON u.id = w.id"
