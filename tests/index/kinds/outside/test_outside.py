"""A kind that another package brings: built as a wheel, installed, and taken through every verb over every format; and
what becomes of its indexes where the package is not installed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.index.contract.verbs_lake import FORMATS

HERE = Path(__file__).parent
ROOT = HERE.parents[2]


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the wheel is installed, and nothing else."""
    place = tmp_path_factory.mktemp("outside")
    shutil.copytree(HERE / "package", place / "source")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    build = ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(place), str(place / "source")]
    subprocess.run([*pip, *build], check=True, capture_output=True)
    (wheel,) = place.glob("hash_set-*.whl")
    install = ["install", "--no-deps", "--no-index", "--target", str(place / "packages"), str(wheel)]
    subprocess.run([*pip, *install], check=True, capture_output=True)
    return place / "packages"


def told(script: str, *words: str, packages: Path | None) -> None:
    path = [str(ROOT), *([str(packages)] if packages is not None else [])]
    done = subprocess.run(
        [sys.executable, str(HERE / script), *words],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "told", done.stderr[-4000:]


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize("format_", FORMATS)
def test_every_verb_over_every_format(packages: Path, tmp_path: Path, format_: str) -> None:
    told("story.py", format_, str(tmp_path), "local", packages=packages)
    told("without.py", format_, str(tmp_path), packages=None)
    told("again.py", format_, str(tmp_path), packages=packages)
    (tmp_path / "site").mkdir()
    told("later.py", format_, str(tmp_path), str(packages), str(tmp_path / "site"), packages=tmp_path / "site")


@pytest.mark.spark
def test_spark_builds_it(packages: Path, tmp_path: Path) -> None:
    told("story.py", "delta", str(tmp_path), "spark", packages=packages)
