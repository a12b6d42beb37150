"""Spark uses the indexes by itself: `mi.enable(spark)`, and the session's SQL and DataFrames leave out files that an index proves to hold no matching row."""

from .enabling import RuleCounts, counts, disable, enable, is_enabled
from .explain import ExplainedScan, QueryExplanation, explain
from .reasons import Reason

__all__ = [
    "ExplainedScan",
    "QueryExplanation",
    "Reason",
    "RuleCounts",
    "counts",
    "disable",
    "enable",
    "explain",
    "is_enabled",
]
