"""Iceberg tables: metadata, manifests, deletes, partition transforms, statistics."""
