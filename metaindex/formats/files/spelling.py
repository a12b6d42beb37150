"""Reader options and the spelling of their names, as Spark documents them: Spark itself keeps them in lower case."""

from __future__ import annotations

from difflib import get_close_matches
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
KNOWN: Final = (
    *READER,
    *("format", "file_format", "path", "paths", "pathGlobFilter", "modifiedBefore", "modifiedAfter", "compression"),
    *("codec", "ignoreCorruptFiles", "ignoreMissingFiles", "datetimeRebaseMode", "int96RebaseMode"),
    *("serialization.format", "mode", "charset", "wholeFile", "charToEscapeQuoteEscaping"),
    *("prefersDate", "preferDate", "enforceSchema", "positiveInf", "negativeInf", "timeFormat", "maxCharsPerColumn"),
    *("columnNameOfCorruptRecord", "quoteAll", "escapeQuotes", "locale", "unescapedQuoteHandling", "samplingRatio"),
    *("columnPruning", "inputBufferSize", "inferTimestampNTZ", "primitivesAsString", "prefersDecimal"),
    *("allowComments", "allowUnquotedFieldNames", "allowSingleQuotes", "allowNumericLeadingZeros"),
    *("allowBackslashEscapingAnyCharacter", "allowUnquotedControlChars", "allowNonNumericNumbers"),
    *("dropFieldIfAllNull", "enableDateTimeParsingFallback", "singleVariantColumn", "parseMode", "inferTimestamp"),
    *("maxNestingDepth", "maxNumLen", "maxStringLen", "ignoreInvalidPartitionPaths", "wholetext", "pretty"),
    *("ignoreNullFields", "extension", "useUnsafeRow", "writeNonAsciiCharacterAsCodePoint"),
)
"""Options that Spark's readers of Parquet, CSV and JSON have (and its writers, which say them side by side), and
ours."""
_SPELLED: Final = {name.lower(): name for name in KNOWN}


def spelled(name: str) -> str:
    """Return the proper spelling of an option's name; an unknown one stays as it is."""
    return _SPELLED.get(name.lower(), name)


def is_known(name: str) -> bool:
    return name.lower() in _SPELLED


def meant(name: str) -> str | None:
    """The option that a name is nearly the one of; None where it is one, or near to none."""
    near = [] if is_known(name) else get_close_matches(name.lower(), _SPELLED, n=1, cutoff=0.8)
    return _SPELLED[near[0]] if near else None
