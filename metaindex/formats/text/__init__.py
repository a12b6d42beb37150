"""What do the bytes of CSV and JSON files say, by the rules of Spark's readers? Asked by builders and by readers."""

from .reader import TextReader

__all__ = ["TextReader"]
