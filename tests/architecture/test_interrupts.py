"""An interrupt is never taken for an error of py4j, nor lost with one: who catches those has a block inside that lets
interrupts go first. And no job that metaindex starts goes on when its call is left."""

import ast
import re

from tests.architecture.sources import nodes, package

_SURELY = "metaindex/core/jvm/interrupts.py"  # tries again, and raises the last


def _names(node: ast.AST | None) -> set[str]:
    """Names and attributes."""
    nodes = [] if node is None else list(ast.walk(node))
    named = {name.id for name in nodes if isinstance(name, ast.Name)}
    return named | {name.attr for name in nodes if isinstance(name, ast.Attribute)}


def _lets_interrupts_go(node: ast.Try) -> bool:
    first = node.body[0]
    return isinstance(first, ast.With) and len(node.body) == 1 and "interrupts_first" in _names(first.items[0])


def test_who_catches_errors_of_py4j_lets_interrupts_go_first() -> None:
    catching, wrong = 0, []
    for place, text in package().items():
        for node in nodes(text) if "Py4J" in text and place != _SURELY else ():
            if isinstance(node, ast.Try) and any(
                name.startswith("Py4J") for handler in node.handlers for name in _names(handler.type)
            ):
                catching += 1
                if not _lets_interrupts_go(node):
                    wrong.append(f"{place}:{node.lineno}")
    assert catching > 10
    assert wrong == []


_RUNS = frozenset(
    {"collect", "toArrow", "_collect_as_arrow", "toPandas", "toLocalIterator", "toRdd", "foreachPartition"}
)
"""What has a job of Spark run, and is called without arguments, or with a function."""

_TAGGED_ELSEWHERE = {
    "index/build/spark.py": "SparkBuilder's methods are blocks of `_on_spark`, which tags",
    "index/build/spark_rows_text.py": "as above",
    "index/build/spark_tasks.py": "as above",
    "index/build/spark_text.py": "as above",
    "query/semi_join/sources.py": "Polars' collect",
    "spark/optimizer/remote.py": "a SET runs no job",
    "core/jvm/driver.py": "of Spark Connect, which has its jobs elsewhere",
    "core/jvm/frames.py": "arrow_of tags, and a thread of its collects",
}


def test_jobs_end_with_the_call_that_starts_them() -> None:
    """They are started in a block of `tagged`; where another function has that block, it is said here."""
    untagged: set[str] = set()
    for place, text in package().items():
        if "spark" not in text:
            continue
        inside = {
            id(call)
            for block in nodes(text)
            if isinstance(block, ast.With) and any("tagged" in _names(item) for item in block.items)
            for call in ast.walk(block)
        }
        if any(isinstance(node, ast.Call) and _runs_a_job(node) and id(node) not in inside for node in nodes(text)):
            untagged.add(place.removeprefix("metaindex/"))
    assert untagged == set(_TAGGED_ELSEWHERE)


def _runs_a_job(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in _RUNS


# Conditions -----------------------------------------------------------------------------------------------------------


ENGINES = "metaindex/expressions/engines/"
READERS = {
    "parse",
    "from_arrow",
    "from_catalyst",
    "from_duckdb",
    "from_iceberg",
    "from_polars",
    "from_spark",
    "from_spark_json",
}
CALLERS = {
    "metaindex/formats/condition.py",  # of users, and of engines that push filters down
    "metaindex/spark/optimizer/request.py",  # of plans of Spark
    "metaindex/query/queries.py",  # pyiceberg's conditions, where they choose rows
    "metaindex/query/query_log/texts.py",  # what it has written: does the text of a condition say it?
    "metaindex/advisor/workloads/template.py",  # of workloads, held against no table yet
    "metaindex/advisor/workloads/eventlog/spark_text.py",  # as Spark prints them
}


def test_conditions_are_read_in_one_place() -> None:
    callers, others = set(), []
    for place, text in package().items():
        if place.startswith(ENGINES):
            continue
        for node in nodes(text):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("metaindex.expressions"):
                names = {alias.name for alias in node.names}
                others += [f"{place} reads conditions by {name}" for name in names & READERS]
                callers |= {place} if "to_predicate" in names else set()
    assert others == []
    assert callers == CALLERS


# Footers --------------------------------------------------------------------------------------------------------------


_ASKS = re.compile(r"\.(?:row_group|num_row_groups)\b")
_CHUNKS = re.compile(r"\.column\(|\.column,|num_columns")

LOOKED = {
    "formats/parquet/file.py": "what was looked at is handed to `collect`",
    "formats/delta/checkpoint.py": "columns of tables alone",
    "index/build/key_parquet.py": "columns that are encrypted are left uncovered before",
    "query/query_log/files.py": "`Footer.unasked`",
    "query/query_log/pages.py": "querylog/files.py has looked",
    "index/kinds/covering/parts.py": "of a part that was written a moment ago, in memory",
    "index/kinds/values/collecting.py": "of this process",
    "formats/parquet/footers.py": "`chunk_bytes` looks before it asks",
    "formats/parquet/opened.py": "columns of the schema and of tables alone",
    "formats/parquet/rows.py": "columns of tables alone",
    "formats/parquet/pages.py": "`look` is asked first",
    "formats/parquet/costs.py": "columns that `FilePages.hidden` names are left out",
    "formats/delta/parquet_part.py": "columns of tables alone",
    "index/build/parquet_scan.py": "columns of tables alone",
    "index/store/pages.py": "columns of the schema and of tables alone",
    "index/store/reader.py": "columns of the schema and of tables alone",
    "index/store/writer.py": "of a part that was written a moment ago, in memory",
}


def test_columns_of_row_groups_are_asked_of_where_they_were_looked_at() -> None:
    asking = set()
    for place, text in package().items():
        if _ASKS.search(text) and _CHUNKS.search(text):
            asking.add(place.removeprefix("metaindex/"))
    assert asking == set(LOOKED)
