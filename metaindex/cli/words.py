"""The words of the command line, for cures."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from metaindex.core import Words

_OTHERWISE = {
    "copies": "--no-copies",
    "if_not_exists": "--if-not-exists",
    "overwrite": "--overwrite",
    "budget_bytes": "--budget",
    "retention": "--retention 0s",
    "tables": "--as",
}
"""Options that are not called as arguments of Python are, or take no value."""
_SETTINGS = {
    "Config(index_location=...)": "--index-location",
    "Config(confine_to=(...,))": "--confine-to",
    "Config(query_log=True)": "METAINDEX_QUERY_LOG=kept",
    "Config(single_writer=True)": "--storage-option single_writer=true",
}


@dataclass(frozen=True, slots=True)
class CommandWords(Words):
    """`typed`: the command and its arguments, as they stand on the command line."""

    TEXTS: ClassVar[Mapping[str, str]] = {
        **Words.TEXTS,
        "spark": "read it with Spark",
        "indexes": "list them with `metaindex indexes TABLE`",
        "versions": "`metaindex indexes TABLE NAME` has those of an index",
        "version": "`metaindex indexes TABLE NAME` gives it",
        "drop": "metaindex drop TABLE NAME",
        "naming": "--as NAME says what TABLE is called in them",
        "all": "--json has all",
        "unchecked": "--json",
        "create": "--create does; in Python",
        "queries": "name queries (--queries, --where)",
        "catalog_uri": "--catalog-option uri=...",
        "catalog_options": "--catalog-option",
    }
    typed: Sequence[str] = ()

    def argument(self, name: str, value: object = ...) -> str:
        said = "" if value in (..., "") else f" {shlex.quote(str(value))}"
        return _OTHERWISE.get(name) or f"--{name.replace('_', '-')}{said}"

    def option(self, name: str) -> str:
        return {"storage_options": "--storage-option", "trust_index": "--trust-index"}.get(name) or repr(name)

    def reader(self, name: str, value: object = ...) -> str:
        text = "..." if value is ... else str(value).lower() if isinstance(value, bool) else value
        return f"--option {shlex.quote(f'{name}={text}')}"

    def setting(self, text: str, variable: str = "") -> str:
        return variable or _SETTINGS[text]

    def restore(self, name: str) -> str:
        return self._instead("restore")

    def repair(self, name: str) -> str:
        return self._instead("repair")

    def vacuum(self, name: str) -> str:
        return self._instead("vacuum")

    def _instead(self, verb: str) -> str:
        """The command with another verb; the words that name the table stay."""
        return f"`{shlex.join(['metaindex', verb, *self.typed[1:]])}`"

    def kind(self, kind: str, *columns: str) -> str:
        return {"Values": f"--values {','.join(columns)}", "ColumnStats": "--stats"}[kind]

    def create_index(self, name: str, kind: str) -> str:
        return f"metaindex create TABLE {name} {self.kind(kind)}"
