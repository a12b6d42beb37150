"""A test that hangs fails by its name, with the stacks of what it waits for, and the others run on."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.hanging import java_threads

TESTS = """
import time

def test_before():
    pass

def test_hangs():
    while True:
        time.sleep(1)

def test_behind():
    pass
"""


@pytest.mark.slow
def test_a_test_that_hangs_fails_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-c", os.devnull, "--rootdir", str(tmp_path), "-n", "1"]
    command += ["-p", "tests.hanging", "-o", "faulthandler_timeout=4", "-o", "faulthandler_exit_on_timeout=true"]
    home = Path(__file__).parents[2]
    ran = subprocess.run([*command, str(tmp_path)], cwd=home, check=False, capture_output=True, text=True, timeout=600)
    said = ran.stdout + ran.stderr
    assert ran.returncode == 1
    assert "1 failed, 2 passed" in said
    assert "crashed while running 'test_some.py::test_hangs'" in said
    assert "hanging: test_some.py::test_hangs has 4 seconds" in said
    assert "in test_hangs" in said, "the stack"


def test_java_says_what_its_threads_do(spark: SparkSession) -> None:
    assert any("java.lang.Thread.getAllStackTraces" in thread for thread in java_threads())
