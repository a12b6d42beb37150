"""The Java of every room, as each Spark has it: it compiles, and what is one Spark's alone stands in its own folder."""

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import metaindex
from metaindex.core import SparkDriver, SparkRelease, UnsupportedFeatureError
from metaindex.core.jvm.sources import java_sources
from tests.each_spark import NEWEST, RELEASES, lacked

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
            if not lacked(error):  # a class of a format that has not been published for this Spark
                wrong.append(f"{name}: {error.java_exception}")
    assert wrong == []


@pytest.mark.parametrize("room", ROOMS)
def test_what_a_spark_has_otherwise_stands_in_the_place_of_what_those_before_it_have(room: str) -> None:
    folder = java_of(room)
    own = {part.name: {source.name for source in part.iterdir()} for part in folder.iterdir() if part.is_dir()}
    assert not [name for name in own if RELEASES[0].uses(name)], "the first has the files that are in no folder"
    assert all(SparkRelease.skipping("9.0.0").uses(name) for name in own)
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
    folders = sorted(part for part in java_of(room).iterdir() if release.uses(part.name))
    own = {source.stem: source for folder in folders for source in folder.glob("*.java")}
    for name, source in own.items():  # the newest folder's
        assert found[name] == source.read_text()
        assert found[name] != (java_of(room) / source.name).read_text()


@pytest.mark.parametrize("room", ROOMS)
def test_sequences_are_those_of_scala(room: str) -> None:
    """What Scala calls `Seq` is another interface in 2.12."""
    pattern = re.compile(r"scala\.collection\.immutable\.(Indexed)?Seq\b")
    assert not [
        name for name, text in java_sources(f"metaindex.{room}", RELEASES[0], "2.12").items() if pattern.search(text)
    ]
    newest = java_sources(f"metaindex.{room}", NEWEST, "2.13")
    assert any(pattern.search(text) for text in newest.values())


@pytest.mark.parametrize("version", ["3.4.4", "3.50.1", "4.10.0", "5.0.0", ""])
def test_a_spark_that_nobody_has_tried_is_refused_in_one_line(version: str) -> None:
    named = re.escape(SparkRelease.known_names())
    with pytest.raises(UnsupportedFeatureError, match=rf"Spark {named}; this one is .*table\.scan") as refused:
        SparkRelease.of(version)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("version", "name"), [("3.5.0", "3.5"), ("4.0.5", "4.0"), ("4.1.4-platform-7", "4.1")])
def test_a_release_is_known_by_its_line(version: str, name: str) -> None:
    assert SparkRelease.of(version).name == name


@pytest.mark.parametrize(("version", "name"), [("4.9.0", "4.9"), ("4.10.1", "4.10"), ("5.0.0-preview1", "5.0")])
def test_a_newer_spark_is_taken_to_be_as_the_one_before_it_for_a_trial(version: str, name: str) -> None:
    release = SparkRelease.skipping(version)
    assert (release.name, release.tried, release.javas) == (name, False, NEWEST.javas)
    assert release.uses(NEWEST.folder)
    assert release.uses("spark49")
    assert not release.uses("sparks")
    assert not NEWEST.uses("spark49")


def test_a_line_that_was_left_out_is_as_the_one_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metaindex.core.jvm.releases.RELEASES", (RELEASES[0], RELEASES[-1]))
    release = SparkRelease.skipping("4.0.5")
    assert (release.name, release.tried, release.javas) == ("4.0", False, RELEASES[0].javas)
    assert release.uses("spark40")
    assert not release.uses("spark41")


@pytest.mark.parametrize("version", ["3.4.4", "2.4.8", "", "4", "next"])
def test_any_other_is_refused(version: str) -> None:
    assert SparkRelease.skipping("4.1.4") is SparkRelease.of("4.1.4")
    with pytest.raises(UnsupportedFeatureError, match="this one is"):
        SparkRelease.skipping(version)
