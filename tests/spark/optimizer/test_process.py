"""A session of Spark that ends and another one in the same process; and mistakes in Java, which hold up no query and
fail none."""

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


@pytest.mark.spark
@pytest.mark.slow
def test_a_session_is_stopped_and_another_one_started(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "tests.spark.optimizer.restarted", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
