"""Delta tables: our own log reader, without a JVM."""

from .table import DeltaFormat

__all__ = ["DeltaFormat"]
