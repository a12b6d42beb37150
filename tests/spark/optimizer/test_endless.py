"""What the rule does in Spark's JVM cannot hold up a query or fail it, whatever is wrong with its Java."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.spark
@pytest.mark.slow
def test_mistakes_in_java_leave_the_plan_as_it_was(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "tests.spark.optimizer.faulty", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
