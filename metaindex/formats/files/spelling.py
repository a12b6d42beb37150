"""How names of reader options are spelled, as Spark documents them: Spark itself keeps them in small letters."""

from __future__ import annotations

from typing import Final

READER: Final = (
    *("schema", "header", "encoding", "multiLine", "glob", "sep", "delimiter", "quote", "escape", "basePath"),
    *("maxColumns", "lineSep", "recursiveFileLookup", "mergeSchema", "comment", "nullValue", "emptyValue", "nanValue"),
    *("dateFormat", "timestampFormat", "timestampNTZFormat", "timeZone", "ignoreLeadingWhiteSpace"),
    *("ignoreTrailingWhiteSpace", "inferSchema"),
)
"""Those that messages name."""
FLAGS: Final = frozenset({"header", "inferSchema", "multiLine", "mergeSchema", "recursiveFileLookup"})
"""Those that are true or false."""
_SPELLED: Final = {name.lower(): name for name in READER}


def spelled(name: str) -> str:
    """The name of an option; one that is not known, as it is."""
    return _SPELLED.get(name.lower(), name)
