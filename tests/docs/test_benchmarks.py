"""The benchmarks whose figures the docs show still run: those that need no Spark, small, by turns."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "name",
    ["terms", "refresh", "optimize", "formats_files", "formats_iceberg", "formats_delta", "bloom", "hooks", "shapes"],
)
def test_a_benchmark_runs(name: str, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "benchmarks", name, "--quick", "--folder", str(tmp_path)]
    told = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert told.returncode == 0, told.stderr[-2000:]
    title, *table = [line for line in told.stdout.splitlines() if line.strip()]
    assert title.split()[0] == name
    assert len(table) >= 3  # names of columns, a rule, figures
