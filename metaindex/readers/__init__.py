"""Rows of chosen files of a snapshot: exactly those that Spark returns, deletes applied, the predicate applied
again."""

from .scan import Scan, ScanError

__all__ = ["Scan", "ScanError"]
