"""A proxy before an Iceberg REST catalog: what it answers is forwarded, but for the plans that the indexes make."""
