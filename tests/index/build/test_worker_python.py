"""Spark's workers are asked what they have before they build; what is missing is said in a line, or sent, or done
without."""

import json
import subprocess
import sys
import venv
from pathlib import Path

import pyarrow as pa
import pytest

from metaindex.index.build.spark_workers import _reason
from tests.tables import settled

_SCRIPT = """
import json, logging, os, sys
import metaindex as mi
from metaindex.core import WorkerError
from metaindex.spark.session import quiet_session

said = []
class Kept(logging.Handler):
    def emit(self, record):
        said.append(record.getMessage())
logging.getLogger("metaindex").addHandler(Kept())
out, covering = [], []
lake, place = sys.argv[1:3]
for number, python in enumerate(sys.argv[3:]):
    os.environ["PYSPARK_PYTHON"] = python
    spark = quiet_session("workers")
    for builder in ("spark", "default"):
        config = mi.Config(local_bytes=0, index_location=f"{place}/{number}{builder}")
        table = mi.open_table(lake, spark=spark, config=config)
        said.clear()
        try:
            runs = table.create_index("i", mi.ColumnStats(), mi.Values("a"), builder=builder).entry.content.runs
            built = [run.builder for run in runs]
        except WorkerError as error:
            built = str(error)
        out.append([built, list(said), table.count("a = 1")])
    try:
        table.create_index("c", mi.ColumnStats(), mi.Covering("a"))
        covering.append("built")
    except WorkerError as error:
        covering.append(str(error))
    spark.stop()
print(json.dumps([*out, covering]))
"""


def _python(folder: Path, paths: list[str]) -> str:
    """A Python of its own, which finds packages in these folders alone."""
    venv.create(folder, with_pip=False)
    (home,) = folder.glob("lib/python*/site-packages")
    (home / "more.pth").write_text("\n".join(paths))
    return str(folder / "bin" / "python")


@pytest.mark.spark
@pytest.mark.slow
def test_workers_without_packages(tmp_path: Path) -> None:
    lake = settled(
        tmp_path / "lake", {f"{number}.parquet": pa.table({"a": [number, number + 1]}) for number in range(2)}
    )
    # Of what is installed here the second has all but metaindex, which is found by a file that names its folder.
    installed = [folder for folder in sys.path if folder.endswith("-packages")]
    pythons = [_python(tmp_path / "empty", []), _python(tmp_path / "bare", installed), "/nowhere/python"]
    command = [sys.executable, "-c", _SCRIPT, str(lake), str(tmp_path / "indexes"), *pythons]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    empty, empty_default, bare, bare_default, none, none_default, covering = json.loads(ran.stdout.splitlines()[-1])
    assert "lacks numpy, pyarrow, xxhash, pyroaring" in empty[0]
    assert f"PYSPARK_PYTHON={sys.executable}" in empty[0]
    assert "/nowhere/python cannot be started" in none[0]
    for built, logged, _ in (empty_default, none_default):
        assert built == ["local"]
        (line,) = [line for line in logged if "built in this process" in line]
        assert "PYSPARK_PYTHON" in line
    assert all(said[0].endswith("or build with builder='local'") for said in (empty, none))
    assert covering[1] == "built"
    for said in (covering[0], covering[2]):  # nobody else builds it: no other builder is advised, which would refuse
        assert f"PYSPARK_PYTHON={sys.executable}" in said
        assert said.endswith("covering indexes are built by them alone")
    assert (bare[0], bare_default[0]) == (["spark"], ["spark"])
    assert [each[2] for each in (empty, empty_default, bare, bare_default, none, none_default)] == [2] * 6


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.13 than that in driver: 3.11,", "3.13"),
        ("Python in worker has different version 3.8 than that in driver 3.11, PySpark cannot run", "3.8"),
        ('java.io.IOException: Cannot run program "python9": error=2', "python9 cannot be started"),
        ("Error from python worker:\n  File x\n  SyntaxError: invalid syntax\nPYTHONPATH was", "invalid syntax"),
        ("EOFException occurred while reading the port number from pyspark.daemon's stdout", "does not start"),
    ],
)
def test_why_no_worker_starts(said: str, reason: str) -> None:
    assert reason in str(_reason(said))


def test_what_is_no_matter_of_workers() -> None:
    assert _reason("Job aborted due to stage failure: java.lang.OutOfMemoryError") is None
