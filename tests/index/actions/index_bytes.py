"""What stands in the files of an index, in whatever way it is packed."""

from pathlib import Path

import pyarrow.parquet as pq


def everything(folder: Path) -> str:
    """Every byte of every file below, names included, and every value of those that are Parquet."""
    out = []
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            out += [str(path.relative_to(folder)), data.decode("latin-1")]
            if data.startswith(b"PAR1"):
                out.append(str(pq.read_table(path).to_pylist()))
    return "\n".join(out)
