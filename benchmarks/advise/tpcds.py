"""TPC-DS by DuckDB's extension, in an environment of its own: what the project itself uses is another DuckDB, of which
there is no such extension in the package index."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path

PINS = ("duckdb==1.5.5", "duckdb-extension-tpcds==1.5.5")


def made(folder: Path, scale: float) -> Path:
    """The folder with a Parquet file a table, and the 99 queries as JSON; made where it is not there yet."""
    done = folder / f"tpcds-{scale:g}" / "made"
    if not (done / "queries.json").exists():
        print(f"advise: TPC-DS at scale factor {scale:g}", file=sys.stderr)
        program = Path(__file__).with_name("dsdgen.py")
        subprocess.run([_python(folder), program, done, f"{scale:g}"], check=True)
    return done


def queries(done: Path) -> list[str]:
    """The 99, in their order."""
    told = json.loads((done / "queries.json").read_text())
    return [told[str(number)] for number in sorted(map(int, told))]


def _python(folder: Path) -> Path:
    """Of the environment, which is made where it is not there."""
    home = folder / f"environment-{PINS[0].rpartition('=')[2]}"
    python = home / "bin" / "python"
    if not (home / "done").exists():
        venv.create(home, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PINS], check=True)
        (home / "done").touch()
    return python
