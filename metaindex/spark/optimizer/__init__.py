"""Spark uses the indexes by itself: `mi.enable(spark)`, and the session's SQL and DataFrames leave out files that an
index proves to hold no matching row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

from .enabling import RuleCounts, counts, disable, enable, hint, is_enabled
from .parsing import ANSWERS
from .reasons import Reason, Unasked
from .settings import RuleConfig

if TYPE_CHECKING:  # loaded when asked for
    from pyspark.sql import SparkSession

    from metaindex.core import Config

    from .executed import ScanRead as ScanRead
    from .explaining import ExplainedScan as ExplainedScan
    from .explaining import QueryExplanation as QueryExplanation
    from .explaining import explain as explain
    from .why_not import IndexVerdict as IndexVerdict

_LATER: Final = {
    "ExplainedScan": "explaining",
    "IndexVerdict": "why_not",
    "QueryExplanation": "explaining",
    "ScanRead": "executed",
    "explain": "explaining",
}
"""The modules of what is asked of an enabled session, which `enable` does not wait for."""


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_LATER[name]}", __name__), name)


def _answering(
    session: Callable[[], SparkSession], config: Config, storage_options: Mapping[str, str]
) -> Callable[[str], str]:
    """Answers statements; what runs them is loaded with the first."""

    @cache
    def loaded() -> Callable[[str], str]:
        from .statements import Answering

        return Answering(session, config, storage_options)

    def answer(request: str) -> str:
        return loaded()(request)

    return answer


ANSWERS[:] = [_answering]

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
