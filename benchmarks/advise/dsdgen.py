"""Tables and queries of TPC-DS, by DuckDB and its extension. Run by the Python of an environment of its own
(`tpcds.py`): `python dsdgen.py FOLDER SCALE` writes a Parquet file a table, as dsdgen makes its rows, and the 99
queries as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import duckdb
import duckdb_extension_tpcds


def main() -> None:
    folder, scale = Path(sys.argv[1]), float(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    (extension,) = Path(duckdb_extension_tpcds.__file__).parent.rglob("tpcds.duckdb_extension")
    connection = duckdb.connect(str(folder / "made.duckdb"), config={"threads": 2})
    connection.execute(f"LOAD '{extension}'")
    connection.execute(f"CALL dsdgen(sf = {scale:g})")
    for (table,) in connection.execute("SHOW TABLES").fetchall():
        connection.execute(f"COPY {table} TO '{folder / table}.parquet' (FORMAT parquet, COMPRESSION zstd)")
    queries = connection.execute("SELECT query_nr, query FROM tpcds_queries() ORDER BY query_nr").fetchall()
    (folder / "queries.json").write_text(json.dumps(dict(queries)))
    connection.close()
    (folder / "made.duckdb").unlink()


if __name__ == "__main__":
    main()
