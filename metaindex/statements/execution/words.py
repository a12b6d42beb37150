"""The words of statements, for cures.

How files are read stands behind a table (``csv.`/data/x` WITH (escape = '"')``), or was said where a session's table or
view was created. The option that is the cure is said with the table, so that it can be pasted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from metaindex.core import Words, dataclass
from metaindex.expressions import column_sql, text_sql, value_sql
from metaindex.statements.grammar.tree import TableName

NAMING: Final = "tables={'name': 'path'}"
"""How `mi.sql` is told what a name means."""
_INNER: Final = re.compile(r"(?<!^)(?=[A-Z])")
_NAME: Final = re.compile(r"[A-Za-z_]\w*\Z")
_CLAUSES: Final = {"version": "VERSION AS OF", "timestamp": "TIMESTAMP AS OF", "where": "WHERE"}
_ANEW: Final = "DROP INDEX {index} ON {name} and VACUUM INDEX {index} ON {name}"
_TEXTS: Final = {
    "spark": "read it with Spark",
    "full": "REFRESH INDEX {index} ON {table} FULL",
    "identity": "REFRESH INDEX {index} ON {table} IDENTITY",
    "indexes": "list them by SHOW INDEXES ON {table}",
    "versions": "DESCRIBE INDEX {index} ON {name} has those of an index",
    "version": "DESCRIBE INDEX gives it",
    "drop": "DROP INDEX",
    "restore": "RESTORE INDEX {index} ON {name}",
    "repair": "REPAIR INDEX {index} ON {name}",
    "mend": "REPAIR INDEX {index} ON {name}",
    "vacuum": "VACUUM INDEX {index} ON {name}",
    "vacuum_it": "VACUUM INDEX {index} ON {name}",
    "anew": _ANEW,
    "same_name": f"(by the same name: {_ANEW} before)",
    "naming": "{by} names a table by its path",
    "all": "the rows have all",
    "unchecked": "not_compared",
}


@dataclass(frozen=True, slots=True)
class StatementWords(Words):
    """The words that a cure takes from a statement: its table, if it has one, and the index that it names.
    `takes_options`: WITH may stand behind the table's name. `in_spark`: it is run by Spark, which reads the table
    anyway. `named_by`: how a table is given a name. `face`: the words of whoever runs the statement."""

    table: TableName | None = None
    index: str = ""
    takes_options: bool = True
    in_spark: bool = False
    named_by: str = NAMING
    face: Words = Words()

    def of(self, index: str) -> StatementWords:
        return replace(self, index=index)

    def say(self, what: str, *arguments: object) -> str:
        if what == "spark" and self.in_spark:
            return "leave it so, as Spark reads it"
        if what in _TEXTS:
            return _TEXTS[what].format(index=self._index, table=self._table, name=self._named, by=self.named_by)
        return Words.say(self, what, *arguments)

    def text(self, what: str) -> str:
        return self.face.text(what)

    def argument(self, name: str, value: object = ...) -> str:
        said = "" if value is ... else _value(value)
        match name:
            case "format":
                last = "" if self.table is None else self.table.path or self.table.parts[-1]
                place = column_sql((last,)) if self.table is not None and (self.table.path or "/" in last) else "`path`"
                return f"{value}.{place}" if said else "the format before the path"
            case "mode":
                return str(value).upper() if said else "the mode"
            case "version" | "timestamp" | "where":
                return f"{_CLAUSES[name]} {value if name == 'where' else said}" if said else _CLAUSES[name]
            case "if_not_exists":
                return "IF NOT EXISTS"
            case "budget_bytes":
                return "OPTIONS (budget = '100MB')"
            case "retention":
                return f"RETAIN {value} HOURS"
            case "builder" | "under" | "copies" | "days" | "history":
                return f"OPTIONS ({name} = {said or '...'})"
        return self.face.argument(name, value)

    def reader(self, name: str, value: object = ...) -> str:
        return self.readers((name, value))

    def readers(self, *options: tuple[str, object]) -> str:
        if not self.takes_options:
            return f"{self._with(options)} where the table or view is created"
        if self.table is None:
            return self._with(options)
        names = {name.lower() for name, _ in options}
        others = [(key, value) for key, value in self.table.options if key.lower() not in names]
        return f"{_name(self.table)} {self._with((*others, *options))}"

    def also(self, name: str, value: object = ...) -> str:
        return self._with([(name, value)])

    def _with(self, options: Sequence[tuple[str, object]]) -> str:
        return f"{'WITH' if self.takes_options else 'OPTIONS'} ({_options(options)})"

    def setting(self, text: str, variable: str = "") -> str:
        if not self.in_spark:
            return self.face.setting(text, variable)
        config = f"Config(query_log={text})" if text.startswith("QueryLog") else text
        return " or ".join(filter(None, (f"mi.enable(spark, config=mi.{config})", variable)))

    def option(self, name: str) -> str:
        return self.face.option(name)

    def kind(self, kind: str, *columns: str) -> str:
        return f"USING {_INNER.sub('_', kind).lower()}" + (f" ({', '.join(columns)})" if columns else "")

    def create_index(self, name: str, kind: str) -> str:
        return f"CREATE INDEX {name} ON {self._table} {self.kind(kind)}"

    @property
    def _index(self) -> str:
        return column_sql((self.index,), bare=True) if self.index else "name"

    @property
    def _table(self) -> str:
        if self.table is None:
            return "table"
        return f"{self._named} {self._with(self.table.options)}" if self.table.options else self._named

    @property
    def _named(self) -> str:
        return "table" if self.table is None else _name(self.table)


def _name(table: TableName) -> str:
    return text_sql(table.path) if table.path else column_sql(table.parts, bare=True)


def _options(options: Sequence[tuple[str, object]]) -> str:
    return ", ".join(f"{key if _NAME.match(key) else text_sql(key)} = {_value(value)}" for key, value in options)


def _value(value: object) -> str:
    return "..." if value is ... else value_sql(value)
