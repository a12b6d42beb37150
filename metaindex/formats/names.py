"""The formats by their names, as people say them and statements and the command line know them: nothing is loaded."""

from typing import Final

FORMATS: Final = {
    "delta": "delta.table.DeltaFormat",
    "iceberg": "iceberg.table.IcebergFormat",
    "hudi": "hudi.table.HudiFormat",
    "files": "files.table.FilesFormat",
}
"""The class of each, inside of `metaindex.formats`, in the order in which they are looked for: a table of Delta or
Iceberg holds Parquet files too, so plain files come last."""

PLAIN: Final = ("parquet", "csv", "json")
"""What plain files may be, each a way to say the format."""

FILES: Final = "files"
NAMED: Final = (*(name for name in FORMATS if name != FILES), *PLAIN)
"""What a statement may say before a path."""
