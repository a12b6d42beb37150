"""The pinned environment is whole, exact, fits what the project says it needs, and names no place to fetch from."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "requirements").glob("*.txt"))


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


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_line_is_one_exact_version_with_the_digests_of_its_files_and_nothing_else(path: Path) -> None:
    for line in lines(path):
        assert re.fullmatch(r"[A-Za-z0-9_.-]+==[A-Za-z0-9_.]+( --hash=sha256:[0-9a-f]{64})+", line), line


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_pip_is_told_to_take_nothing_without_its_digest(path: Path) -> None:
    asked = [line for line in (ROOT / "Makefile").read_text().splitlines() if f"requirements/{path.name}" in line]
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
