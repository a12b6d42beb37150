"""Spark uses the indexes by itself: `mi.enable(spark)`, and the session's SQL and DataFrames leave out files that an
index proves to hold no matching row."""

from .enabling import RuleCounts, counts, disable, enable, hint, is_enabled
from .executed import ScanRead
from .explaining import ExplainedScan, QueryExplanation, explain
from .parsing import ANSWERS
from .reasons import Reason, Unasked
from .settings import RuleConfig
from .statements import Answering
from .why_not import IndexVerdict

ANSWERS[:] = [Answering]

__all__ = [
    "ExplainedScan",
    "IndexVerdict",
    "QueryExplanation",
    "Reason",
    "RuleConfig",
    "RuleCounts",
    "ScanRead",
    "Unasked",
    "counts",
    "disable",
    "enable",
    "explain",
    "hint",
    "is_enabled",
]
