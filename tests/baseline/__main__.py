"""`python -m tests.baseline` writes `surface.txt` anew, and says what went and what came."""

import sys
import tempfile
from pathlib import Path

from . import held


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        lines = held.surface(Path(folder))
    before = held.SURFACE.read_text().splitlines() if held.SURFACE.exists() else []
    held.SURFACE.write_text("".join(f"{line}\n" for line in lines))
    said = held.difference(before, lines) or f"nothing has changed: {len(lines):,} lines"
    sys.stdout.write(f"{said}\n")


main()
