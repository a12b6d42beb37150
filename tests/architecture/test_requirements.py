"""The pinned environment is whole, exact, fits what the project says it needs, and names no place to fetch from."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from metaindex.core import SparkRelease
from tests.each_spark import NEWEST, RELEASES

ROOT = Path(__file__).parents[2]
EVERY = sorted((ROOT / "requirements").glob("*.txt"))
OTHER_SPARKS = [path for path in EVERY if path.name.startswith("spark")]
LOWEST = ROOT / "requirements" / "lowest.txt"
FILES = [path for path in EVERY if path not in [*OTHER_SPARKS, LOWEST]]


def lines(path: Path) -> list[str]:
    """A pin a line, its hashes behind it."""
    whole = path.read_text().replace("\\\n", " ")
    return [" ".join(text.split()) for line in whole.splitlines() if (text := line.partition("#")[0].strip())]


def pins() -> dict[str, str]:
    found: dict[str, str] = {}
    for path in FILES:
        for line in lines(path):
            name, _, version = line.partition(" ")[0].partition("==")
            found[canonicalize_name(name)] = version
    return found


@pytest.mark.parametrize("path", EVERY, ids=lambda path: path.name)
def test_every_line_is_one_exact_version_with_the_digests_of_its_files_and_nothing_else(path: Path) -> None:
    for line in lines(path):
        assert re.fullmatch(r"[A-Za-z0-9_.-]+==[A-Za-z0-9_.]+( --hash=sha256:[0-9a-f]{64})+", line), line


@pytest.mark.parametrize("path", EVERY, ids=lambda path: path.name)
def test_pip_is_told_to_take_nothing_without_its_digest(path: Path) -> None:
    named = path.name if path not in OTHER_SPARKS else "spark$(SPARK_NAME).txt"
    asked = [line for line in (ROOT / "Makefile").read_text().splitlines() if f"requirements/{named}" in line]
    installed = [line for line in asked if "--requirement" in line]
    assert installed
    assert all("--require-hashes" in line for line in installed), installed


def test_no_package_is_pinned_twice() -> None:
    names = [canonicalize_name(line.partition("==")[0]) for path in FILES for line in lines(path)]
    assert sorted(names) == sorted(set(names))


def test_pins_satisfy_what_the_project_declares() -> None:
    metadata = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = metadata["project"]
    extras = [text for group in project["optional-dependencies"].values() for text in group]
    found = pins()
    for text in [*project["dependencies"], *extras, *metadata["build-system"]["requires"]]:
        requirement = Requirement(text)
        if canonicalize_name(requirement.name) == project["name"]:
            assert requirement.extras <= project["optional-dependencies"].keys()  # an extra of extras
            continue
        version = found.get(canonicalize_name(requirement.name))
        assert version is not None, f"{requirement.name} is not pinned"
        assert requirement.specifier.contains(version), f"{text} against {version}"


def test_the_lowest_are_those_that_are_declared() -> None:
    """All but Spark's and Java's, of which other files tell, and what is wanted exactly."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pinned = dict(line.partition(" ")[0].split("==") for line in lines(LOWEST))
    extras = {
        name: texts for name, texts in project["optional-dependencies"].items() if name not in ("spark", "java", "all")
    }
    declared = [*project["dependencies"], *(text for texts in extras.values() for text in texts)]
    for text in declared:
        (lowest,) = Requirement(text).specifier
        assert lowest.operator == ">=", text
        version = pinned[canonicalize_name(Requirement(text).name)]
        assert lowest.contains(version)
        # The first that can be had of the series that is named.
        assert version.startswith(lowest.version), f"{text} against {version}"


def test_other_sparks_are_those_that_metaindex_knows_and_pin_one_of_their_line_each() -> None:
    lines_of = {path.stem.removeprefix("spark"): lines(path) for path in OTHER_SPARKS}
    assert sorted(lines_of) == sorted(release.name.replace(".", "") for release in RELEASES if release is not NEWEST)
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["spark"][0]
    for name, pinned in lines_of.items():
        (version,) = [line.partition(" ")[0].partition("==")[2] for line in pinned if line.startswith("pyspark==")]
        assert SparkRelease.known(version) is not None
        assert version.replace(".", "").startswith(name)
        assert Requirement(declared).specifier.contains(version)
        assert {line.partition("==")[0] for line in pinned} <= pins().keys(), "all else is that of dev.txt"
