"""The wheel works without the repository: installed into an environment of its own, beside a user's own code, typed,
and with its command."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

import metaindex as mi
import metaindex_lake
from metaindex.core import errors as ours
from metaindex.core import expression_errors as below

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Installed:
    wheel: Path
    bin: Path

    def run(self, *words: str, cwd: Path) -> str:
        """What a command of the environment prints, with nothing of this repository on its path."""
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        done = subprocess.run(
            [str(self.bin / words[0]), *words[1:]],
            cwd=cwd,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    place = tmp_path_factory.mktemp("wheel")
    copy = place / "source"
    copy.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy2(ROOT / name, copy / name)
    for name in ("metaindex", "metaindex_lake"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    built = [*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(place), str(copy)]
    subprocess.run(built, check=True, capture_output=True)
    (wheel,) = place.glob("metaindex_lake-*.whl")
    home = place / "environment"
    venv.create(home, with_pip=False)
    packages = home / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    subprocess.run(
        [*pip, "--python", str(home / "bin" / "python"), "install", "--no-deps", "--no-index", str(wheel)], check=True
    )
    # What it depends on is that of this environment; a path file found there is not read, so its editable metaindex is
    # not found.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return Installed(wheel, home / "bin")


def test_the_wheel_has_packages_that_say_their_types_and_the_java_sources(installed: Installed) -> None:
    names = zipfile.ZipFile(installed.wheel).namelist()
    tops = {name.split("/")[0] for name in names if not name.split("/")[0].endswith(".dist-info")}
    assert tops == {"metaindex", "metaindex_lake"}
    assert {f"{top}/py.typed" for top in tops} <= set(names)
    java = {path.relative_to(ROOT).as_posix() for path in (ROOT / "metaindex").rglob("*.java")}
    assert java
    assert java <= set(names)


def test_it_is_found_without_the_repository(installed: Installed, tmp_path: Path) -> None:
    said = installed.run("python", "-c", "import metaindex; print(metaindex.__file__)", cwd=tmp_path)
    assert Path(said.strip()).is_relative_to(installed.bin.parent)


def test_the_command_builds_and_asks(installed: Installed, tmp_path: Path) -> None:
    made = "import pyarrow as pa, pyarrow.csv as c; c.write_csv(pa.table({'a': [1, 2]}), 't/one.csv')"
    (tmp_path / "t").mkdir()
    installed.run("python", "-c", made, cwd=tmp_path)
    assert "done" in installed.run("metaindex", "create", "t", "k", "--builder", "local", cwd=tmp_path)
    found = installed.run("metaindex", "scan", "t", "a = 2", "--json", cwd=tmp_path)
    assert json.loads(found)["rows"] == [{"a": 2}]


def test_a_user_s_own_formats_and_expressions_stand_beside_it(installed: Installed, tmp_path: Path) -> None:
    """Both are common names: a module of theirs is neither taken for one of ours nor hidden by it."""
    (tmp_path / "formats.py").write_text("THEIRS = 1\n")
    (tmp_path / "expressions").mkdir()
    (tmp_path / "expressions" / "__init__.py").write_text("THEIRS = 2\n")
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "one.csv").write_text("a\n1\n2\n")
    for first, then in (("formats, expressions", "metaindex as mi"), ("metaindex as mi", "formats, expressions")):
        code = f"import {first}\nimport {then}\n" + (
            "table = mi.open_table('t')\nif not len(table.indexes()): table.create_index('k', mi.ColumnStats(),"
            " builder='local')\n"
            "print(table.scan('a = 2').to_arrow().num_rows, formats.THEIRS, expressions.THEIRS)"
        )
        (tmp_path / "theirs.py").write_text(code)
        assert installed.run("python", "theirs.py", cwd=tmp_path).split() == ["1", "1", "2"]


def test_every_error_can_be_named_from_the_face() -> None:
    every = {
        name
        for module in (below, ours)
        for name, found in vars(module).items()
        if isinstance(found, type) and issubclass(found, mi.MetaIndexError)
    }
    assert every <= set(mi.__all__)


def test_every_public_name_is_there_and_completed() -> None:
    assert set(mi.__all__) <= set(dir(mi))
    for name in mi.__all__:
        assert getattr(mi, name) is not None


# The name is another project's ----------------------------------------------------------------------------------------


def test_the_name_of_the_distribution_is_one() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert declared["name"] == metaindex_lake.DISTRIBUTION == mi.MissingDependencyError.DISTRIBUTION
    assert all(f"{declared['name']}[" in each for each in declared["optional-dependencies"]["all"])


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel like that which has the name on the package index: the same import, the same command."""
    wheel = tmp_path_factory.mktemp("foreign") / "metaindex-2.3.0-py3-none-any.whl"
    about = "metaindex-2.3.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as made:
        made.writestr("metaindex/__init__.py", "def main():\n    print('tags of files')\n")
        made.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: metaindex\nVersion: 2.3.0\n")
        made.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        made.writestr(f"{about}/entry_points.txt", "[console_scripts]\nmetaindex = metaindex:main\n")
        made.writestr(f"{about}/RECORD", "")
    return wheel


@pytest.mark.exhaustive
@pytest.mark.parametrize("order", ["before", "after"])
def test_whose_metaindex_it_is_is_always_told(installed: Installed, foreign: Path, tmp_path: Path, order: str) -> None:
    home = tmp_path / "environment"
    venv.create(home, with_pip=False)
    pip = [sys.executable, "-m", "pip", "--quiet", "--python", str(home / "bin" / "python")]
    here = Installed(installed.wheel, home / "bin")

    def install(wheel: Path, *options: str) -> None:
        subprocess.run([*pip, "install", "--no-deps", "--no-index", *options, str(wheel)], check=True)

    def told(*words: str) -> tuple[int, str]:
        environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        command = [str(here.bin / words[0]), *words[1:]]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
        return done.returncode, done.stdout + done.stderr

    for wheel in (foreign, installed.wheel) if order == "before" else (installed.wheel, foreign):
        install(wheel)
    for words in (["metaindex-lake"], ["python", "-I", "-m", "metaindex_lake"]):
        code, said = told(*words)
        assert (code, "metaindex 2.3.0 of another project" in said) == (1, True)
    # By the half that a person thinks of first, then by the whole cure.
    subprocess.run([*pip, "uninstall", "--yes", "metaindex"], check=True)
    code, said = told("metaindex-lake")
    assert (code, f"--force-reinstall --no-deps {installed.wheel.as_uri()}" in said) == (1, True)  # without a network
    install(installed.wheel, "--force-reinstall")
    assert told("metaindex-lake")[0] == 0
    # Who wrote over one file, and left no name behind.
    (module,) = home.glob("lib/*/site-packages/metaindex/__init__.py")
    module.write_text("THEIRS = 1\n")
    code, said = told("metaindex-lake")
    assert (code, str(module) in said) == (1, True)
    # Packages that stand apart from commands: `pip install --target`, a copy into an image.
    apart = tmp_path / "apart"
    subprocess.run(
        [*pip, "install", "--no-deps", "--no-index", "--target", str(apart), str(installed.wheel)], check=True
    )
    environ = {**os.environ, "PYTHONPATH": str(apart)}
    done = subprocess.run([sys.executable, "-m", "metaindex_lake"], env=environ, cwd=tmp_path, check=False)
    assert done.returncode == 0
