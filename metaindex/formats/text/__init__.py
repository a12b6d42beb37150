"""Content of CSV and JSON files by the rules of Spark's readers, for builders and readers."""

from .reader import TextReader

__all__ = ["TextReader"]
