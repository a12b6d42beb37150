"""Advice to the owner of a table: a layout, what a query would read then, and the statement that makes it so."""

from __future__ import annotations

from collections.abc import Sequence

from metaindex.core import Column, Shown, Tabular, TextTable, dataclass, percent

from .statements import Rewrite, way_of


@dataclass(frozen=True, slots=True)
class LayoutEffect:
    """The files that a range over 1% of the rows reads by a column, averaged over its beginnings: now, and then, of as
    many files in all. `wanted`: the advice is for this column; for other columns it shows what they lose."""

    column: str
    wanted: bool
    files_now: float
    files_then: float

    @property
    def place(self) -> str:
        """Whom the layout is for, in a word or two."""
        return "for it" if self.wanted else "for others"


@dataclass(frozen=True, slots=True, repr=False)
class Advice(Shown):
    """A layout that leaves out more. Estimated from a sample; the table stays as it is until its owner runs `sql`."""

    columns: tuple[str, ...]
    effects: tuple[LayoutEffect, ...]
    files: int  # of the table, now and then
    rewrite: Rewrite

    @property
    def how(self) -> str:
        """Describe the layout in words."""
        names = ", ".join(self.columns)
        return f"sorted by {names}" if self.rewrite.curve == "sort" else f"in Z-order of {names}"

    @property
    def saving(self) -> float:
        """The share of the files that queries read now and then would not, on average over the wanted columns."""
        wanted = [effect for effect in self.effects if effect.wanted]
        now = sum(effect.files_now for effect in wanted)
        return 1 - sum(effect.files_then for effect in wanted) / now if now else 0.0

    def sql(self, name: str | None = None) -> str:
        """Return the statements to run in Spark, a line each (for plain files a line of Python). `name`: the table's in
        its catalog, such as `lake.db.flights`; default: its path (Iceberg: as its folders are named)."""
        return ";\n".join(self.rewrite.statements(name))

    @property
    def shown(self) -> Sequence[str | Tabular]:
        return self.described(None)

    def described(self, name: str | None) -> Sequence[str | Tabular]:
        """Return `shown` with the table's name in the statements."""
        titles = (
            Column("column"),
            Column("files now", right=True),
            Column("files then", right=True),
            Column("the layout is"),
        )
        rows = tuple(
            (
                effect.column,
                f"{effect.files_now:,.1f}",
                f"{effect.files_then:,.1f}",
                effect.place,
            )
            for effect in self.effects
        )
        parts: list[str | Tabular] = [
            (
                f"advice: {self.how}: {percent(max(self.saving, 0.0))} fewer files; of {self.files:,} a range over 1%"
                " of the rows reads"
            ),
            TextTable(titles, rows),
            *(f"  {statement}{way_of(self.rewrite.format).end}" for statement in self.rewrite.statements(name)),
        ]
        other = self.rewrite.otherwise(name)
        if other:
            parts.append(way_of(self.rewrite.format).title)
            parts += [f"  {statement};" for statement in other]
        return parts

    def to_json(self, name: str | None = None) -> dict[str, object]:
        """Plain data for machines."""
        effects = [{name: getattr(effect, name) for name in effect.__dataclass_fields__} for effect in self.effects]
        return {
            "columns": list(self.columns),
            "how": "sort" if self.rewrite.curve == "sort" else "zorder",
            "files": self.files,
            "saving": self.saving,
            "effects": effects,
            "statements": list(self.rewrite.statements(name)),
            "otherwise": list(self.rewrite.otherwise(name)),
        }
