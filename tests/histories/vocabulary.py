"""Of what random histories are made: types, the values of their columns as SQL, what a type may be widened to, literals
to compare with, names."""

from typing import Final

# h: a number that depends on the row's id and on the statement.
VALUES: Final = {
    "TINYINT": "TINYINT(pmod(h, 21) - 10)",
    "SMALLINT": "SMALLINT(pmod(h, 2001) - 1000)",
    "INT": "INT(pmod(h, 41) - 20)",
    "BIGINT": "element_at(array(-9223372036854775808, -1, 0, 7, 5000000000, 9223372036854775807), pmod(h, 6) + 1)",
    "FLOAT": (
        "element_at(array(FLOAT('NaN'), FLOAT('-0.0'), FLOAT(0), FLOAT(0.1), FLOAT(1) / 3, FLOAT('Infinity'),"
        " FLOAT(16777217), FLOAT(-0.1)), pmod(h, 8) + 1)"
    ),
    "DOUBLE": (
        "element_at(array(DOUBLE('NaN'), DOUBLE('-0.0'), 0D, 0.1D, 1D / 3, DOUBLE('-Infinity'), 1.0000000000000002D,"
        " -0.1D), pmod(h, 8) + 1)"
    ),
    "DECIMAL(6,2)": "CAST(pmod(h, 20001) / 100.0 - 100 AS DECIMAL(6,2))",
    "DECIMAL(12,2)": "CAST(pmod(h, 20001) * 1000 / 100.0 AS DECIMAL(12,2))",
    "DECIMAL(12,4)": "CAST(pmod(h, 20001) / 10000.0 - 1 AS DECIMAL(12,4))",
    "DECIMAL(38,10)": "CAST(pmod(h, 20001) / 7.0 - 1000 AS DECIMAL(38,10))",
    "STRING": (
        "element_at(array('', 'a', 'a b', 'az', 'aé', 'é', '\\uE000', '😀', 'x/y=1%', repeat('z', 40), 'Z', concat('k',"
        " h)), pmod(h, 12) + 1)"
    ),
    "BINARY": "CAST(element_at(array('', 'a', 'ÿ', '😀'), pmod(h, 4) + 1) AS BINARY)",
    "BOOLEAN": "pmod(h, 2) = 0",
    "DATE": "date_add(DATE'1969-12-30', pmod(h, 7) * pmod(h, 4001))",
    "TIMESTAMP": "timestamp_micros(pmod(h, 10007) * 123456789123 - 600000000000001)",
    "TIMESTAMP_NTZ": "CAST(timestamp_micros(pmod(h, 10007) * 123456789123 - 600000000000001) AS TIMESTAMP_NTZ)",
    "STRUCT<x: INT, y: STRING>": (
        "named_struct('x', INT(pmod(h, 41)), 'y', IF(pmod(h, 3) = 0, NULL, concat('y', pmod(h, 5))))"
    ),
    "ARRAY<INT>": "IF(pmod(h, 4) = 0, array(), array(INT(pmod(h, 9)), NULL))",
    "ARRAY<STRUCT<k: INT, v: STRING>>": "array(named_struct('k', INT(pmod(h, 9)), 'v', 'v'), NULL)",
    "MAP<STRING, INT>": "map('a', INT(pmod(h, 9)), 'b', NULL)",
    "CHAR(4)": "element_at(array('', 'a', 'a b', 'az', 'é', 'z'), pmod(h, 6) + 1)",
    "VARCHAR(6)": "element_at(array('', 'a', 'a ', 'az', '😀', 'zz'), pmod(h, 6) + 1)",
}
LENGTHS: Final = ("CHAR(4)", "VARCHAR(6)")
"""Of texts: Spark fills the first up with blanks."""
DELTA_WIDER: Final = {
    "TINYINT": ("SMALLINT", "INT", "BIGINT", "DOUBLE"),
    "SMALLINT": ("INT", "BIGINT", "DOUBLE"),
    "INT": ("BIGINT", "DOUBLE", "DECIMAL(12,2)"),
    "FLOAT": ("DOUBLE",),
    "DECIMAL(6,2)": ("DECIMAL(12,2)", "DECIMAL(12,4)"),
    "DATE": ("TIMESTAMP_NTZ",),
}
ICEBERG_WIDER: Final = {"INT": ("BIGINT",), "FLOAT": ("DOUBLE",), "DECIMAL(6,2)": ("DECIMAL(12,2)",)}
LITERALS: Final = {
    "INT": ("0", "-3", "7", "19"),
    "BIGINT": ("0", "7", "5000000000", "-9223372036854775808"),
    "FLOAT": ("0.1D", "0D", "0.1", "FLOAT('NaN')", "16777216", "-0.1D"),
    "DOUBLE": ("0.1D", "0", "1", "DOUBLE('NaN')", "1e300"),
    "DECIMAL": ("0", "12.34", "-1", "99.999"),
    "STRING": ("'a'", "'az'", "'é'", "'😀'", "'k'", f"'{'z' * 36}'"),
    "CHAR": ("'a'", "'az'", "'a   '", "'é'", "'b'"),
    "VARCHAR": ("'a'", "'az'", "'a '", "'😀'"),
    "DATE": ("DATE'1970-01-01'", "DATE'1990-02-03'"),
    "TIMESTAMP": ("TIMESTAMP'1970-01-01 00:00:00'", "TIMESTAMP'1969-12-25 01:20:00'"),
    "TIMESTAMP_NTZ": ("TIMESTAMP_NTZ'1970-01-01 00:00:00'", "TIMESTAMP_NTZ'1990-01-01 00:00:00.5'"),
}  # fmt: skip
PLAIN_NAMES: Final = ["a", "b", "c", "d", "e", "Camel", "é"]
ODD_NAMES: Final = [*PLAIN_NAMES, "a b", "dot.ted", "x,y", "p=1", "%20", "back\\slash", "(q)"]
