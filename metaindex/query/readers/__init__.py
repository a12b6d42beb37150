"""Rows of chosen files of a snapshot: exactly those that Spark returns, deletes applied, the predicate applied
again."""

from metaindex.core import ScanError

from .scan import Scan

__all__ = ["Scan", "ScanError"]
