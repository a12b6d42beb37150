"""Spark uses the indexes by itself: `mi.enable(spark)`, and the session's SQL and DataFrames leave out files that an index proves to hold no matching row."""

from .enabling import RuleCounts, counts, disable, enable, hint, is_enabled
from .explaining import ExplainedScan, QueryExplanation, explain
from .reasons import Reason
from .settings import RuleConfig

__all__ = [
    "ExplainedScan",
    "QueryExplanation",
    "Reason",
    "RuleConfig",
    "RuleCounts",
    "counts",
    "disable",
    "enable",
    "explain",
    "hint",
    "is_enabled",
]
