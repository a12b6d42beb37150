"""The tools: each asks a table what its own face answers, and cuts the answer to a bounded size."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

import numpy as np

from metaindex.core import MetaIndexError, dataclass, first_line, one_line
from metaindex.index import KINDS
from metaindex.query import PruneResult, ReadBudget, TooCostlyError
from metaindex.table import Table

from .arguments import MOST_ROWS, Parameter, checked
from .places import AgentPlaces, Place

BUDGET: Final = 256_000_000
"""Bytes of data files that a call may read, unless the server was started with another limit."""
_ROWS: Final = 50
_CHARACTERS: Final = 24_000
"""Of an answer as JSON."""
_TEXT: Final = 1_000
"""Characters of a text in an answer."""
_SAMPLE: Final = 32_000_000
"""Bytes that an estimate reads, where the budget leaves so many."""

Arguments = Mapping[str, Any]
Answered = dict[str, object]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool. `rows`: the list in its answer that is cut first; `answer`: makes the answer."""

    name: str
    about: str
    parameters: tuple[Parameter, ...]
    answer: Callable[[Agents, Arguments], Answered]
    rows: str

    @property
    def schema(self) -> dict[str, object]:
        """Return the JSON Schema of its arguments."""
        return {
            "type": "object",
            "properties": {parameter.name: parameter.schema for parameter in self.parameters},
            "required": [parameter.name for parameter in self.parameters if parameter.required],
            "additionalProperties": False,
        }


@dataclass(frozen=True, slots=True)
class Told:
    """An answer, or why there is none, as plain data. `refused`: it is an error."""

    data: Answered
    refused: bool = False

    @property
    def text(self) -> str:
        return _json(self.data)


@dataclass(frozen=True, slots=True)
class Agents:
    """The tools over some places. `budget_bytes`: of data files, that a call may read at most. Safe to call from
    several threads, since each call opens its table."""

    places: AgentPlaces
    budget_bytes: int = BUDGET

    def call(self, name: str, arguments: object) -> Told:
        """Return what a tool answers. Raises nothing: an error is one line with rule, fact and cure."""
        try:
            tool = next((tool for tool in TOOLS if tool.name == name), None)
            if tool is None:
                return _refusal("ArgumentError", f"tools are {', '.join(_NAMES)}; {name[:60]!r} is none; name one")
            given = checked(tool.parameters, {} if arguments is None else arguments)
            return Told(_fitted(tool.answer(self, given), tool.rows))
        except TooCostlyError as error:
            return Told(_short(self._costly(error, name, given)), refused=True)
        except MetaIndexError as error:
            return _refusal(type(error).__name__, str(error))
        except RecursionError:
            return _refusal("ArgumentError", "conditions are read to a bounded depth; this one is deeper; simplify it")
        except MemoryError:
            return _refusal(
                "ScanError", "a call has bounded memory; this one needs more; ask for fewer columns or rows"
            )
        except Exception as error:  # noqa: BLE001 - one table, or one question, does not end the server
            return _refusal(type(error).__name__, f"an answer failed unexpectedly: {first_line(error)}; ask otherwise")

    def budget(self, given: Arguments) -> int:
        """Return the bytes that a call may read: an agent may lower the limit, and not raise it."""
        return min(self.budget_bytes, int(given.get("budget_bytes", self.budget_bytes)))

    def table(self, given: Arguments) -> Table:
        """Open the table that is asked, within the budget."""
        return self.places.open(given["table"], self.budget(given))

    def _costly(self, error: TooCostlyError, tool: str, given: Arguments) -> Answered:
        """Say what a question would cost, and which indexes might make it cheap. No data file is read for that."""
        told: Answered = {
            "error": "TooCostlyError",
            "message": f"{one_line(str(error))}; nothing was read",
            "would_open_files": error.files,
            "would_open_bytes": error.size_bytes,
            "budget_bytes": error.budget_bytes,
        }
        conditions = [given["where"]] if isinstance(given.get("where"), str) else given.get("where") or []
        candidates: list[str] = []
        if conditions and tool != "what_if":
            with suppress(MetaIndexError):
                weighed = self.places.open(given["table"], 0).what_if(list(conditions), sample=0)
                candidates = [cost.candidate for cost in weighed.candidates]
        if candidates:
            facts = {kind.name for kind in KINDS if kind.keeps_facts}  # help less where values are in every range
            told["indexes_that_may_help"] = sorted(candidates, key=lambda name: name.partition("(")[0] in facts)
            told["next"] = "what_if with this condition estimates what each would save; the table's owner creates one"
        else:
            told["next"] = "ask for fewer rows; prune tells what a condition keeps"
        return told


def _refusal(kind: str, message: str) -> Told:
    return Told({"error": kind, "message": _cut(one_line(message), _TEXT)}, refused=True)


# -- answers -----------------------------------------------------------------------------------------------------------


def _tables(agents: Agents, given: Arguments) -> Answered:
    places, whole = agents.places.find()
    part = given.get("name_contains", "").lower()
    named = [place for place in places if part in place.name.lower()]
    limit = _limit(given)
    told: Answered = {"tables": [_at_a_glance(agents, place) for place in named[:limit]], "found": len(named)}
    if len(named) > limit:
        told["more"] = len(named) - limit
    if not whole:
        told["note"] = "not every folder was looked into: there may be more tables; the server's owner can serve fewer"
    return told


def _at_a_glance(agents: Agents, place: Place) -> Answered:
    if place.problem:
        return {"name": place.name, "problem": place.problem}
    try:
        table = agents.places.open(place.name, 0)
        snapshot = table.snapshot()
        indexes = [index.brief for index in table.indexes(staleness=False)]
    except MetaIndexError as error:
        return {"name": place.name, "problem": one_line(str(error))}
    sizes = {"files": len(snapshot.files), "size_bytes": snapshot.files.size_bytes}
    return {"name": place.name, "format": table.format, "version": snapshot.version.id, **sizes, "indexes": indexes}


def _schema(agents: Agents, given: Arguments) -> Answered:
    table = agents.table(given)
    snapshot = table.snapshot(given.get("version"))
    columns = [
        {
            "name": field.name,
            "type": str(field.type),
            **({"partition": True} if field.partition else {}),
            **({} if field.nullable else {"nullable": False}),
            **({"comment": field.comment} if field.comment else {}),
        }
        for field in snapshot.schema.shown
    ]
    indexes = [
        {"name": index.name, "state": index.state_said, "columns": list(index.columns), "fresh": index.fresh}
        for index in table.indexes()
    ]
    sizes = {"files": len(snapshot.files), "size_bytes": snapshot.files.size_bytes}
    about = {"table": given["table"], "format": table.format, "version": snapshot.version.id, **sizes}
    return {**about, "columns": columns, "indexes": indexes}


def _prune(agents: Agents, given: Arguments) -> Answered:
    result = agents.table(given).prune(given["where"], given.get("version"))
    sizes = result.files.table.column("size_bytes").slice(0, _limit(given)).to_pylist()
    paths = result.files.paths.slice(0, _limit(given)).to_pylist()
    files = [{"path": path, "size_bytes": size} for path, size in zip(paths, sizes, strict=True)]
    return {
        **_planned(given, result),
        "not_understood": list(result.not_understood),
        "indexes": [
            {"name": index.name, "used": index.used, "dropped_files": index.dropped_files, "reason": index.reason}
            for index in result.indexes
        ],
        "files": files,
        **_more(result.kept_files, len(files)),
    }


def _planned(given: Arguments, result: PruneResult) -> Answered:
    return {
        "table": given["table"],
        "version": result.version.id,
        "total_files": result.total_files,
        "total_bytes": result.total_bytes,
        "kept_files": result.kept_files,
        "kept_bytes": result.kept_bytes,
    }


def _count(agents: Agents, given: Arguments) -> Answered:
    told = _aggregated(agents, given, {"count": True})
    rows = told.pop("rows")
    assert isinstance(rows, list)
    return {**told, "count": rows[0]["count(*)"]}


def _aggregate(agents: Agents, given: Arguments) -> Answered:
    count = True if given.get("count") else given.get("count_of", ())
    several = ("min", "max", "sum", "count_distinct", "approx_distinct", "group_by")
    return _aggregated(agents, given, {"count": count, **{name: given.get(name, ()) for name in several}})


def _aggregated(agents: Agents, given: Arguments, words: Mapping[str, Any]) -> Answered:
    answer = agents.table(given).aggregate(where=given.get("where"), version=given.get("version"), **words)
    rows = answer.table.num_rows
    told = replace(answer, table=answer.table.slice(0, _limit(given))).to_json()
    return {**told, "table": given["table"], **_more(rows, min(rows, _limit(given)))}


def _locate(agents: Agents, given: Arguments) -> Answered:
    exact = bool(given.get("exact", False))
    located = agents.table(given).locate(given["where"], given.get("version"), exact=exact)
    rows, files = located.table.num_rows, len(located.files)
    told = replace(located, table=located.table.slice(0, _limit(given))).to_json()
    return {"table": given["table"], **told, "files": files, **_more(rows, min(rows, _limit(given)))}


def _search(agents: Agents, given: Arguments) -> Answered:
    exact = bool(given.get("exact", False))
    searched = agents.table(given).search(given["text"], given.get("version"), exact=exact)
    rows = searched.table.num_rows
    told = replace(searched, table=searched.table.slice(0, _limit(given))).to_json()
    return {"table": given["table"], **told, **_more(rows, min(rows, _limit(given)))}


def _what_if(agents: Agents, given: Arguments) -> Answered:
    """Estimate within the budget: the ends of the files that the conditions keep, and a sample of what is left."""
    table, version = agents.table(given), given.get("version")
    budget = ReadBudget(agents.budget(given))
    for condition in given["where"]:
        result = table.prune(condition, version)
        budget = budget.after_footers(result.files, np.arange(result.kept_files))
    total = max(result.total_bytes, 1)
    sample = min(1.0, min(agents.budget(given) - budget.spent, _SAMPLE) / total)
    weighed = table.what_if(given["where"], version=version, sample=sample)
    queries = [
        {
            "where": query.query,
            **({"problem": query.problem} if query.problem else {}),
            **({} if query.now is None else {"now": _reads(query.now)}),
            "with": [
                {
                    "candidate": effect.candidate,
                    **_reads(effect.reads),
                    **({"note": effect.note} if effect.note else {}),
                }
                for effect in query.effects
            ],
        }
        for query in weighed.queries
    ]
    candidates = [
        {
            "candidate": cost.candidate,
            "size_bytes": None if cost.size_bytes is None else round(cost.size_bytes.expected),
            "build_cpu_seconds": cost.build_cpu_seconds,
            **({"problem": cost.problem} if cost.problem else {}),
        }
        for cost in weighed.candidates
    ]
    about = {"table": given["table"], "version": weighed.version, "files": weighed.files}
    notes = [note for note in (weighed.sampled.reason, *weighed.notes) if note]
    read = {"sampled_bytes": weighed.sampled.size_bytes, "notes": notes}
    return {**about, "size_bytes": weighed.size_bytes, "queries": queries, "candidates": candidates, **read}


def _reads(reads: Any) -> Answered:
    """Return expected numbers with the bounds of 90%, where these differ."""
    told: Answered = {}
    for name, estimate in (("files", reads.files), ("bytes", reads.size_bytes)):
        told[name] = round(estimate.expected)
        if not estimate.exact:
            told[f"{name}_between"] = [round(estimate.low), round(estimate.high)]
    return told


# -- bounds of answers -------------------------------------------------------------------------------------------------


def _limit(given: Arguments) -> int:
    return int(given.get("limit", _ROWS))


def _more(rows: int, shown: int) -> Answered:
    return {"more": rows - shown} if rows > shown else {}


def _fitted(data: Answered, rows: str) -> Answered:
    """Return the answer with short texts, and no more of its list than fits."""
    told = _short(data)
    while len(_json(told)) > _CHARACTERS:
        held = told.get(rows)
        if not isinstance(held, list) or not held:
            return {name: value for name, value in told.items() if not isinstance(value, list | dict)} | {
                "note": f"the answer has more than {_CHARACTERS:,} characters: only its figures are shown"
            }
        kept = held[: len(held) // 2]
        left = told.get("more", 0)
        told = {**told, rows: kept, "more": len(held) - len(kept) + (left if isinstance(left, int) else 0)}
    return told


def _short(data: Answered) -> Answered:
    return {name: _shortened(value) for name, value in data.items()}


def _shortened(value: object) -> object:
    match value:
        case str():
            return _cut(value, _TEXT)
        case dict():
            return {_cut(str(name), _TEXT): _shortened(each) for name, each in value.items()}
        case list() | tuple():
            return [_shortened(each) for each in value[: MOST_ROWS + 1]]
        case _:
            return value


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}... ({len(text):,} characters)"


def _json(data: object) -> str:
    return json.dumps(data, ensure_ascii=False, allow_nan=False, default=str, separators=(",", ":"))


# -- the list ----------------------------------------------------------------------------------------------------------

_TABLE: Final = Parameter("table", "name", "A table, named as the tool tables lists it.", required=True)
_WHERE: Final = Parameter("where", "text", "A SQL condition as behind WHERE: dep_delay > 60 AND dest = 'SEA'.")
_NEEDED: Final = replace(_WHERE, required=True)
_VERSION: Final = Parameter(
    "version", "name", "A Delta version number, an Iceberg snapshot id, branch or tag; default: as it is now."
)
_LIMIT: Final = Parameter("limit", "number", f"Rows of the answer at most; default: {_ROWS}.", most=MOST_ROWS)
_BUDGET: Final = Parameter(
    "budget_bytes",
    "number",
    "Bytes of data files that this call may read: more is refused before any is read. Only lowers the server's limit.",
)
_EXACT: Final = Parameter("exact", "truth", "Read the candidates and count the rows that match; default: false.")
_PLANS: Final = "Opens no data file."


def _columns(name: str, about: str) -> Parameter:
    return Parameter(name, "names", about)


TOOLS: Final[tuple[Tool, ...]] = (
    Tool(
        "tables",
        f"The tables that can be asked: format, version, files, bytes and indexes of each. {_PLANS}",
        (Parameter("name_contains", "name", "Only tables whose name has this part."), _LIMIT),
        _tables,
        "tables",
    ),
    Tool(
        "schema",
        f"Columns, size and indexes of a table. Ask it before you write a condition. {_PLANS}",
        (_TABLE, _VERSION),
        _schema,
        "columns",
    ),
    Tool(
        "prune",
        "What a question would cost: the files that can hold rows for a condition, their bytes, and which index skipped"
        f" the others. {_PLANS}",
        (_TABLE, _NEEDED, _VERSION, _LIMIT),
        _prune,
        "files",
    ),
    Tool(
        "count",
        "How many rows match a condition, exactly. Files of which every row matches are answered from metadata; only"
        " the others are read.",
        (_TABLE, _WHERE, _VERSION, _BUDGET),
        _count,
        "rows",
    ),
    Tool(
        "aggregate",
        "Counts, least and greatest values, sums and numbers of distinct values, by groups if wanted; exact but for"
        " approx_distinct. Files whose answer metadata knows are not read.",
        (
            _TABLE,
            Parameter("count", "truth", "Count the rows."),
            _columns("count_of", "Columns whose values are counted, NULL excluded."),
            _columns("min", "Columns whose least value is wanted."),
            _columns("max", "Columns whose greatest value is wanted."),
            _columns("sum", "Columns whose sum is wanted."),
            _columns("count_distinct", "Columns whose distinct values are counted."),
            _columns("approx_distinct", "The same, approximately, in little memory."),
            _columns("group_by", "Columns that make the groups."),
            _WHERE,
            _VERSION,
            _LIMIT,
            _BUDGET,
        ),
        _aggregate,
        "rows",
    ),
    Tool(
        "locate",
        "Where rows that match a condition are: files and row groups. Reads the ends of the kept files only; with exact"
        " the files, and counts the rows.",
        (_TABLE, _NEEDED, _EXACT, _VERSION, _LIMIT, _BUDGET),
        _locate,
        "found",
    ),
    Tool(
        "search",
        "In which indexed columns, files and row groups a value is. Reads the ends of the kept files only; with exact"
        " the files, and counts the rows.",
        (
            _TABLE,
            Parameter("text", "text", "The whole value: 42, N14228, 2026-01-31.", required=True),
            _EXACT,
            _VERSION,
            _LIMIT,
            _BUDGET,
        ),
        _search,
        "found",
    ),
    Tool(
        "what_if",
        "What conditions would read with an index that does not exist yet, and what it would cost: estimates from a"
        " sample, within the budget. Nothing is built.",
        (
            _TABLE,
            Parameter("where", "texts", "SQL conditions, one for each question.", required=True),
            _VERSION,
            _BUDGET,
        ),
        _what_if,
        "queries",
    ),
)
_NAMES: Final = tuple(tool.name for tool in TOOLS)
