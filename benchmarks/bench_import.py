"""What `import metaindex` costs over `import pyarrow`: new processes, interleaved, medians; sources compiled before, as in an installed package."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from pathlib import Path

CODE = "import time; s = time.process_time(); import {}; print(time.process_time() - s)"


def run(folder: Path, quick: bool) -> list[dict[str, object]]:
    times: dict[str, list[float]] = {"pyarrow": [], "metaindex": []}
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run([sys.executable, "-c", "import metaindex"], env=environment, check=True)
    for _ in range(3 if quick else 15):
        for name, found in times.items():
            out = subprocess.run(
                [sys.executable, "-c", CODE.format(name)], capture_output=True, text=True, check=True, env=environment
            )
            found.append(float(out.stdout) * 1000)
    base = statistics.median(times["pyarrow"])
    return [
        {
            "import": name,
            "CPU ms (median)": statistics.median(found),
            "min": min(found),
            "max": max(found),
            "over pyarrow": statistics.median(found) - base,
        }
        for name, found in times.items()
    ]
