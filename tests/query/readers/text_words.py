"""Of what random text files are made: types, words that are nearly values of them,
and options of Spark's readers."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

FLAT: Final = {
    "string": pa.string(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "smallint": pa.int16(),
    "tinyint": pa.int8(),
    "boolean": pa.bool_(),
    "double": pa.float64(),
    "float": pa.float32(),
    "decimal(5,2)": pa.decimal128(5, 2),
    "decimal(20,0)": pa.decimal128(20, 0),
    "decimal(38,10)": pa.decimal128(38, 10),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "binary": pa.binary(),
}
NESTED: Final = {
    "struct<x:int,y:string>": pa.struct([("x", pa.int32()), ("y", pa.string())]),
    "array<int>": pa.list_(pa.int32()),
    "array<string>": pa.list_(pa.string()),
    "map<string,int>": pa.map_(pa.string(), pa.int32()),
    "array<struct<x:double>>": pa.list_(pa.struct([("x", pa.float64())])),
}

NUMBERS: Final = [
    "0", "1", "-1", "+1", "007", "127", "128", "-128", "-129", "255", "32767", "32768", "2147483647", "2147483648",
    "9223372036854775807", "9223372036854775808", "1.5", "1.", "-.5", "1e3", "1E-2", "1e400", "NaN",
    "nan", "Inf", "-Inf",
    "Infinity", "-Infinity", "+Infinity", "1_000", "1,5", "0x1F", "1d", "1f", "1L", " 1", "1 ", "１",
    "٣", "-0", "-0.0", "0.0",
    "1e-400", "123456789012345678901", "0.1", "0.30000000000000004", "99.995", "999.99", "1000",
    "12.345", "-12.344999",
]  # fmt: skip
TRUTHS: Final = ["true", "false", "TRUE", "True", "t", "f", "0", "1", "yes", " true", "null"]
DAYS: Final = [
    "2024-01-01", "2024-1-1", "2024-02-30", "0001-01-01", "1582-10-10", "1500-02-29", "9999-12-31", "10000-01-01",
    "-0001-01-01", "2024-01", "2024", "20240101", "01.02.2024", "31/12/2023", "2024-01-01T00:00:00",
    "2024-01-01 12:34:56",
    " 2024-01-01", "2024-01-01 ", "2024-01-01T", "today", "epoch", "now", "19723", "-5", "+2024-01-01",
]  # fmt: skip
MOMENTS: Final = [
    "2024-01-01 00:00:00", "2024-01-01T00:00:00Z", "2024-01-01T00:00:00.123456", "2024-01-01T00:00:00.123456789",
    "2024-01-01 00:00:00+02:00", "2024-01-01T00:00:00 Europe/Berlin", "2024-01-01 1:2:3", "2024-01-01 24:00:00",
    "2024-01-01 23:59:60", "2024-01-01", "2024-01", "00:00:00", "T12:00", "1700000000", "1582-10-10 00:00:00",
    "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999", "294247-01-10 04:00:54.775807", "01.02.2024 03:04",
    "2024-01-01T00:00:00.1", "2024-01-01T00:00Z", "2024-01-01T00+02:00", "2024-03-31T02:30:00.000",
    "2024-01-01T00:00:00.000+0200", "2024-01-01T00:00:00.000UTC",
]  # fmt: skip
TEXTS: Final = [
    "a", "b", "", "NULL", "null", "-", "é", "日本", "𝄞", "\ufeff", "x y", " lead", "trail ", "\t", "#c",
    "N/A", "\x00", "\x01",
    "\x0b", "\u2028", "\u00a0", "\u0085", "a'b", "it''s", "\\", "\\n", '\\"', "/", "0", '"', "''",
    "\x7f", "ß", "ﬀ", "e\u0301",
]  # fmt: skip
BASE64: Final = ["", "YQ==", "YQ", "Y", "YQ=", "AAECAw==", "!!", "é", "a", "////", "YWJj\\n", " YQ=="]
WORDS: Final = [*TEXTS, *NUMBERS, *DAYS, *MOMENTS, *TRUTHS]

JSON_VALUES: Final = [
    '"a"', '""', "1", "true", "[]", "{}", "[1,2]", '{"x":1}', "1.0", '"1"', "NaN", "Infinity", "-Infinity", '"NaN"',
    '"Infinity"', "+1", "+INF", "-INF", "01", ".5", "1.", "1e5", "-0", "-0.0", "1e400", "'q'",
    '"\\u0041"', '"\\ud800"',
    '"\\ud834\\udd1e"', '"\\q"', '"\\q,', '"\\u12"', '"\t"', "nul", '"a', "12345678901234567890123", "1E400", "0x1",
    '"2024-01-01"', "1700000000", "123456789012345678901234567890.5", "[null]", "[1 2]", '"\\/"', '" "',
]  # fmt: skip
JSON_LINES: Final = [
    "", "  ", "{", "}", "{}", "[]", "[{}]", "null", "1", '"a"', "{,}", '{"c0":1}x', '{"c0":1} {"c0":2}',
    '[{"c0":1},{"c0":2}]', '[{"c0":1},3]', "{'c0':1}", '/*x*/{"c0":1}', "#c", '{"c0":1,}', '{"c0" 1}',
    '\ufeff{"c0":1}',
    '{"c0":1}]', '{"c0":[}',
]  # fmt: skip

Options = Mapping[str, tuple[float, Sequence[Any]]]
"""Of each option how often it is given, and with which values."""
BOTH_OPTIONS: Final[Options] = {
    "multiLine": (0.3, (True, True, False)),
    "dateFormat": (
        0.2,
        (
            "yyyy-MM-dd",
            "dd.MM.yyyy",
            "MM/dd/yyyy",
            "yyyyMMdd",
            "d/M/y",
            "uuuu-MM-dd",
            "yy-MM-dd",
            "dd MMM yyyy",
            "yyyy-MM-dd['T'HH:mm:ss]",
        ),
    ),
    "timestampFormat": (
        0.2,
        (
            "yyyy-MM-dd HH:mm:ss",
            "yyyy-MM-dd'T'HH:mm:ss[.SSS][XXX]",
            "dd.MM.yyyy HH:mm",
            "yyyy-MM-dd'T'HH:mm:ssXXX",
            "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
            "yyyy-MM-dd",
            "HH:mm:ss",
        ),
    ),
    "timestampNTZFormat": (0.1, ("yyyy-MM-dd HH:mm:ss", "yyyy-MM-dd'T'HH:mm:ss[.SSS]", "dd.MM.yyyy HH:mm")),
    "mode": (0.04, ("PERMISSIVE", "permissive", "DROPMALFORMED")),
    "encoding": (
        0.2,
        ("UTF-8", "utf8", "ISO-8859-1", "US-ASCII", "windows-1252", "ISO-8859-15"),
    ),
    "timeZone": (0.06, ("UTC", "America/New_York", "+02:00", "Europe/Berlin")),
    "locale": (0.03, ("en-US", "de-DE")),
}
CSV_OPTIONS: Final[Options] = {
    "header": (0.5, (True, False, "true", "FALSE", "True")),
    "sep": (0.3, (";", "|", "\t", " ", "\\t", "||", "é", "'", "a", "\x01")),
    "quote": (0.25, ("'", "", '"', "|", "\x00", "q")),
    "escape": (0.25, ('"', "\\", "!", "'", "\x00", "")),
    "charToEscapeQuoteEscaping": (0.03, ("\\", "!", "\x00")),
    "comment": (0.2, ("#", "a", "-")),
    "nullValue": (0.25, ("NULL", "", "-", "a", "0", "null", "\\N", " ")),
    "emptyValue": (0.2, ("E", "", "NULL", "0")),
    "nanValue": (0.15, ("nan", "-", "N/A")),
    "positiveInf": (0.15, ("Infinity", "inf", "+Inf")),
    "negativeInf": (0.1, ("-Infinity", "-inf")),
    "ignoreLeadingWhiteSpace": (0.25, (True, False)),
    "ignoreTrailingWhiteSpace": (0.25, (True, False)),
    "unescapedQuoteHandling": (0.03, ("STOP_AT_DELIMITER", "BACK_TO_DELIMITER", "STOP_AT_CLOSING_QUOTE")),
    "maxColumns": (0.05, (3, 20480)),
    "maxCharsPerColumn": (0.03, (-1, 100)),
    "enforceSchema": (0.05, (True, False)),
    "columnPruning": (0.03, (False,)),
}
JSON_OPTIONS: Final[Options] = {
    "primitivesAsString": (0.03, (True, False)),
    "allowSingleQuotes": (0.1, (True, False)),
    "allowComments": (0.04, (True, False)),
    "allowUnquotedFieldNames": (0.04, (True, False)),
    "allowNumericLeadingZeros": (0.04, (True, False)),
    "allowBackslashEscapingAnyCharacter": (0.04, (True, False)),
    "allowNonNumericNumbers": (0.06, (True, False)),
    "allowUnquotedControlChars": (0.04, (True, False)),
    "dropFieldIfAllNull": (0.03, (True, False)),
    "prefersDecimal": (0.03, (True, False)),
}
CODECS: Final = {
    "UTF-8": "utf-8", "utf8": "utf-8", "ISO-8859-1": "latin-1", "US-ASCII": "ascii", "windows-1252": "cp1252",
    "ISO-8859-15": "iso-8859-15",
}  # fmt: skip
"""Python's names of the encodings."""
LITERALS: Final = {
    "string": ("'a'", "'b'", "''", "'NULL'", "'é'", "'0'", "'1'", "'x y'"),
    "boolean": ("true", "false"),
    "date": ("date'2024-01-01'", "date'0001-01-01'", "date'1582-10-10'", "date'9999-12-31'"),
    "timestamp": ("timestamp'2024-01-01 00:00:00Z'", "timestamp'1582-10-10 00:00:00Z'"),
    **dict.fromkeys(("int", "bigint", "smallint", "tinyint"), ("0", "1", "-1", "127", "7")),
    **dict.fromkeys(("double", "float"), ("0.0", "1.5", "1000.0", "-1.0")),
    **dict.fromkeys(("decimal(5,2)", "decimal(20,0)", "decimal(38,10)"), ("0", "1.5", "100.00", "-1", "12.35")),
}
