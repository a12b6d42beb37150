"""Iceberg tables: metadata, manifests, deletes, partition transforms, statistics."""

from .table import IcebergFormat

__all__ = ["IcebergFormat"]
