"""A session of Spark that ends, and another one in the same process."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.spark
@pytest.mark.slow
def test_a_session_is_stopped_and_another_one_started(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "tests.spark.optimizer.restarted", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
