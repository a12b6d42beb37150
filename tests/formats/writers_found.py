"""The findings of `python -m tests.writers`: a line for a claim of a writer about columns of a kind; and their page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass
from itertools import groupby
from pathlib import Path
from typing import Final

from metaindex.formats.parquet.writers import LIES, Kind, Range

FOUND: Final = Path(__file__).parents[1] / "writers" / "found.tsv"
_HEAD: Final = (
    "# Statistics of Parquet footers compared with the rows. Written anew by: python -m tests.writers\n"
    "# library\twriter\tversion\tkind\tdictionaries\tin a struct\tclaims: compared, wrong\tthe first that is wrong\n"
)


@dataclass(frozen=True, order=True)
class Row:
    """The statistics of one claim about one kind of columns: how many were compared, how many were wrong."""

    library: str  # and version, as installed
    writer: str  # as files name it
    version: tuple[int, ...]
    kind: str
    dictionaries: bool
    inside: bool
    claim: str
    compared: int
    lies: int
    first: str


def written(rows: Iterable[Row], without: dict[str, str]) -> str:
    lines = [f"# not had: {name}: {why}\n" for name, why in sorted(without.items())]
    for _, same in groupby(sorted(row for row in rows if row.claim in _CLAIMS), lambda row: astuple(row)[:6]):
        alike = list(same)
        row = alike[0]
        flags = ["yes" if flag else "" for flag in (row.dictionaries, row.inside)]
        claims = " ".join(f"{row.claim}={row.compared},{row.lies}" for row in alike)
        first = next((row.first for row in alike if row.lies), "").replace("\t", " ").replace("\n", " ")[:120]
        said = (row.library, row.writer, ".".join(map(str, row.version)), row.kind, *flags, claims, first)
        lines.append("\t".join(said).rstrip() + "\n")
    return _HEAD + "".join(lines)


def read() -> tuple[list[Row], dict[str, str]]:
    """The rows, and why there are none of others."""
    rows, without = [], {}
    for line in FOUND.read_text().splitlines() if FOUND.exists() else ():
        if line.startswith("# not had: "):
            name, _, why = line.removeprefix("# not had: ").partition(": ")
            without[name] = why
        elif not line.startswith("#"):
            library, writer, version, kind, dictionaries, inside, claims, *first = line.split("\t")
            numbers = tuple(int(part) for part in version.split(".") if part)
            about = library, writer, numbers, kind, bool(dictionaries), bool(inside)
            for claim, counts in (said.split("=") for said in claims.split(" ")):
                compared, lies = map(int, counts.split(","))
                rows.append(Row(*about, claim, compared, lies, "".join(first) if lies else ""))
    return rows, without


PAGE: Final = Path(__file__).parents[2] / "docs" / "parquet-writers.md"
_CLAIMS: Final = {
    "BOUNDS": "bounds",
    "ATTAINED": "that a bound is a value",
    "NO_NULL": "that no value is NULL",
    "SOME_NULLS": "counts of NULLs",
    "ALL_NULL": "that every value is NULL",
    "NANS": "counts of NaN",
}
_KINDS: Final = {
    "WHOLE": "whole numbers, dates, times, booleans, decimals in integers",
    "UNSIGNED": "unsigned numbers",
    "FLOAT": "floats",
    "HALF": "floats of 16 bits",
    "DECIMAL_BYTES": "decimals in bytes",
    "BYTES": "texts and bytes",
}


def page(rows: Iterable[Row], without: dict[str, str]) -> str:
    """The page of the docs: who was tried, what was found wrong, what is not believed, who was not tried."""
    rows = [row for row in rows if row.claim in _CLAIMS]
    tried: dict[str, list[Row]] = {}
    for row in rows:
        tried.setdefault(row.writer, []).append(row)
    lines = [_INTRODUCTION.format(sum(row.compared for row in rows), len({row.library for row in rows}))]
    lines += ["| a file's writer | versions | written by | statistics compared | wrong |", "|---|---|---|---|---|"]
    for name, mine in sorted(tried.items()):
        versions = sorted({row.version for row in mine})
        said = ", ".join(dict.fromkeys(_version(v) for v in versions))
        by: dict[str, None] = dict.fromkeys(row.library.rpartition("-")[0] for row in mine)
        wrong = sum(row.lies for row in mine)
        lines.append(f"| {name} | {said} | {', '.join(by)} | {sum(row.compared for row in mine):,} | {wrong:,} |")
    lines += [
        "",
        "## What is not believed",
        "",
        "| writer | versions | columns | what | seen by |",
        "|---|---|---|---|---|",
    ]
    for lie in LIES:
        where = " that Arrow may have held as a dictionary" if lie.dictionary else ""
        where += ", in a struct that may be NULL" if lie.inside else ""
        kinds = "all" if lie.kinds == ~Kind(0) else ", ".join(_KINDS[str(kind.name)] for kind in lie.kinds)
        claims = ", ".join(_CLAIMS[str(claim.name)] for claim in lie.claims)
        lines.append(f"| {lie.of.writer} | {_range(lie.of)} | {kinds}{where} | {claims} | {lie.source} |")
    lines += ["", "## Not tried", "", *(f"- {name}: {why}" for name, why in sorted(without.items())), *_NOT_TRIED]
    return "\n".join(lines) + "\n"


def _version(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version)) or "not named"


def _range(of: Range) -> str:
    if of.before == (0,):
        return "not named"
    return (
        ("all" if of.before > (10**6,) else f"before {_version(of.before)}")
        if of.since in ((), (0,))
        else f"{_version(of.since)} to before {_version(of.before)}"
    )


_NOT_TRIED: Final = (
    "- Impala, Hive, Trino, Athena, BigQuery, Snowflake: their own writers cannot be had here.",
    "- Spark: it writes by parquet-mr. The crate parquet before 60: by deltalake and datafusion.",
    "- Go's Arrow before 18.8, parquetjs and its forks, Rust's parquet2, the minor versions between those above.",
)
_INTRODUCTION: Final = """<!-- Drawn by `python -m tests.writers`. -->
# Parquet writers

A Parquet footer holds the least and greatest value of each column, and how many are NULL. Some writers get that wrong,
and a query that believes them loses rows. So each writer that can be had was asked to write columns that are hard to
get right, and each statistic was compared with the rows: {:,} statistics by {} versions of libraries. What was wrong
is not believed of that writer; the column is read when an index is built, and in queries its files are kept.

Of a writer or version that is not in the first table, bounds of numbers are believed, and of texts where the footer
states that they were compared as bytes. That no value is NULL, how many are, or that a bound is a value is not believed
of it.

An index keeps the revision of these rules. What an older one believed and today's do not counts as unknown, and
`explain`, `verify_index` and `indexes()` show it; `refresh_index(name, mode="full")` reads the files again.
"""
