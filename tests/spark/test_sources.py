"""The Java of every room, as each Spark has it: it compiles, and what is one Spark's alone stands in its own folder."""

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import metaindex
from metaindex.core import SparkDriver, SparkRelease, UnsupportedFeatureError
from metaindex.core.jvm.sources import java_sources
from tests.each_spark import NEWEST, RELEASES

PACKAGE = Path(metaindex.__file__).parent
ROOMS = sorted(
    ".".join(folder.parent.relative_to(PACKAGE).parts) for folder in PACKAGE.rglob("java") if folder.is_dir()
)
ROOMS.remove("core.jvm")  # what it has is of every room


def java_of(room: str) -> Path:
    return PACKAGE.joinpath(*room.split("."), "java")


@pytest.mark.spark
@pytest.mark.parametrize("room", ROOMS)
def test_every_class_compiles_in_this_spark(spark: SparkSession, room: str) -> None:
    """Whoever writes Java runs it in every Spark: `make test-spark SPARK=3.5 ARGS=tests/spark/test_sources.py`."""
    from py4j.protocol import Py4JJavaError

    sources = SparkDriver(spark).sources(f"metaindex.{room}")
    classes = SparkDriver(spark).compiled(sources)
    wrong = []
    for name in sorted(sources):
        try:
            classes.named(name).getDeclaredMethods()
        except Py4JJavaError as error:
            wrong.append(f"{name}: {error.java_exception}")
    assert wrong == []


@pytest.mark.parametrize("room", ROOMS)
def test_what_is_one_sparks_alone_stands_in_the_place_of_what_the_newest_has(room: str) -> None:
    folder = java_of(room)
    own = {part.name: {source.name for source in part.iterdir()} for part in folder.iterdir() if part.is_dir()}
    assert own.keys() <= {release.folder for release in RELEASES if release is not NEWEST}
    for names in own.values():
        assert names <= {source.name for source in folder.glob("*.java")}


@pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.name)
@pytest.mark.parametrize("room", ROOMS)
def test_the_sources_of_a_release_are_those_of_its_folder_and_all_others(room: str, release: SparkRelease) -> None:
    found = java_sources(f"metaindex.{room}", release, "2.13")
    shared = {source.stem for source in (PACKAGE / "core" / "jvm" / "java").glob("*.java")}
    assert {
        *shared,
        *(source.stem for source in (java_of(room)).glob("*.java")),
    } == found.keys()
    for source in (java_of(room) / release.folder).glob("*.java"):
        assert found[source.stem].splitlines()[0] == source.read_text().splitlines()[0]
        assert found[source.stem] != (java_of(room) / source.name).read_text()


@pytest.mark.parametrize("room", ROOMS)
def test_sequences_are_those_of_scala(room: str) -> None:
    """What Scala calls `Seq` is another interface in 2.12."""
    pattern = re.compile(r"scala\.collection\.immutable\.(Indexed)?Seq\b")
    assert not [
        name for name, text in java_sources(f"metaindex.{room}", RELEASES[0], "2.12").items() if pattern.search(text)
    ]
    newest = java_sources(f"metaindex.{room}", NEWEST, "2.13")
    assert any(pattern.search(text) for text in newest.values())


@pytest.mark.parametrize("version", ["3.4.4", "3.50.1", "4.2.0", "4.10.0", "5.0.0", ""])
def test_a_spark_that_nobody_has_tried_is_refused_in_one_line(version: str) -> None:
    with pytest.raises(
        UnsupportedFeatureError, match=r"Spark 3\.5, 4\.0 and 4\.1; this one is .*table\.scan"
    ) as refused:
        SparkRelease.of(version)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("version", "name"), [("3.5.0", "3.5"), ("4.0.5", "4.0"), ("4.1.4-platform-7", "4.1")])
def test_a_release_is_known_by_its_line(version: str, name: str) -> None:
    assert SparkRelease.of(version).name == name
