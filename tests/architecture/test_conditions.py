"""Conditions of all engines come in by one door: `to_predicate`, whose callers are few and named."""

import ast

from tests.architecture.sources import nodes, package

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
    "metaindex/advisor/workloads/shape.py",  # of workloads, held against no table yet
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
