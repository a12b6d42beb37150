"""What `import metaindex` costs over `import pyarrow`: new processes, interleaved, medians; sources compiled before, as
in an installed package.

CPU is that of the importing thread: NumPy's BLAS starts others, which wait for work by spinning.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

CODE = """
import json, time
wall, cpu = time.perf_counter(), time.thread_time()
import {}
print(json.dumps([1000 * (time.perf_counter() - wall), 1000 * (time.thread_time() - cpu)]))
"""


def run(folder: Path, quick: bool) -> list[dict[str, object]]:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run([sys.executable, "-c", "import metaindex"], env=environment, check=True)
    times: dict[str, list[tuple[float, float]]] = {"pyarrow": [], "metaindex": []}
    for _ in range(3 if quick else 15):
        for name, found in times.items():
            command = [sys.executable, "-c", CODE.format(name)]
            out = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
            found.append(tuple(json.loads(out.stdout)))
    middle = {name: [statistics.median(one) for one in zip(*found, strict=True)] for name, found in times.items()}
    return [
        {
            "import": name,
            "wall ms (median)": middle[name][0],
            "min": min(wall for wall, _ in found),
            "max": max(wall for wall, _ in found),
            "wall over pyarrow": middle[name][0] - middle["pyarrow"][0],
            "CPU ms": middle[name][1],
            "CPU over pyarrow": middle[name][1] - middle["pyarrow"][1],
        }
        for name, found in times.items()
    ]
