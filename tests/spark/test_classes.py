"""Java is compiled once: a later process loads the class files, where they can be trusted, and else compiles anew."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from metaindex.core import SparkDriver
from metaindex.core.jvm.classes import JavaClasses, _class_path_digest

pytestmark = pytest.mark.spark
PROBE = "package metaindex;\npublic class Probe { public String toString() { return Other.TEXT; } }\n"
OTHER = 'package metaindex;\nclass Other { static final String TEXT = "%s".trim(); }\n'
ABSENT = "package metaindex;\npublic class Absent extends org.absent.Format { }\n"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    cache = tmp_path / "cache"
    monkeypatch.setenv("METAINDEX_CACHE", str(cache))
    return cache


def sources(text: str = "found") -> dict[str, str]:
    return {"Probe": PROBE, "Other": OTHER % text}


def said(classes: JavaClasses, name: str = "Probe") -> str:
    return str(classes.jvm.java.lang.String.valueOf(classes.new(name)))  # py4j remembers methods by class names


def compiled_in(classes: JavaClasses) -> int:
    """Sources that its loader had to read, by Janino's own list of them."""
    janino = classes.jvm.java.lang.Class.forName("org.codehaus.janino.JavaSourceClassLoader")
    field = janino.getDeclaredField("iClassLoader")
    field.setAccessible(True)
    return int(field.get(classes.loader).getUnitCompilers().size())


def kept(cache: Path) -> dict[str, bytes]:
    folder = cache / "classes"
    return {file.name: file.read_bytes() for file in folder.iterdir()} if folder.is_dir() else {}


def test_the_second_time_nothing_is_compiled(spark: SparkSession, cache: Path) -> None:
    first = SparkDriver(spark).compiled(sources())
    assert said(first) == "found"
    files = kept(cache)
    assert list(files) == [first.key]
    identity = {name: (cache / "classes" / name).stat().st_ino for name in files}
    second = SparkDriver(spark).compiled(sources())
    assert (said(second), compiled_in(second)) == ("found", 0)
    assert {name: (cache / "classes" / name).stat().st_ino for name in kept(cache)} == identity


def test_other_sources_have_other_class_files(spark: SparkSession, cache: Path) -> None:
    SparkDriver(spark).compiled(sources())
    assert said(SparkDriver(spark).compiled(sources("changed"))) == "changed"
    assert len(kept(cache)) == 2


def test_damaged_class_files_are_compiled_anew(spark: SparkSession, cache: Path) -> None:
    SparkDriver(spark).compiled(sources())
    files = kept(cache)
    [(name, content)] = files.items()
    (cache / "classes" / name).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert said(SparkDriver(spark).compiled(sources())) == "found"
    assert kept(cache) == files


@pytest.mark.parametrize("kind", ["writable", "writable cache", "link", "file"])
def test_where_class_files_cannot_be_kept_safely_java_is_compiled_in_memory(
    spark: SparkSession, cache: Path, tmp_path: Path, kind: str
) -> None:
    SparkDriver(spark).compiled(sources())
    match kind:
        case "writable":
            (cache / "classes").chmod(0o777)
        case "writable cache":
            cache.chmod(0o777)
        case "link":
            (cache / "classes").rename(tmp_path / "elsewhere")
            (cache / "classes").symlink_to(tmp_path / "elsewhere")
        case _:
            (cache / "classes").rename(tmp_path / "elsewhere")
            (cache / "classes").write_text("")
    before = kept(cache)
    known, new = SparkDriver(spark).compiled(sources()), SparkDriver(spark).compiled(sources("new"))
    assert (said(known), said(new)) == ("found", "new")
    assert (compiled_in(known), compiled_in(new)) == (2, 2)
    assert kept(cache) == before


def test_a_class_whose_jar_is_not_there_leaves_the_others_kept(spark: SparkSession, cache: Path) -> None:
    from py4j.protocol import Py4JJavaError

    for _ in range(2):
        classes = SparkDriver(spark).compiled({"Absent": ABSENT, **sources()})
        assert (said(classes), compiled_in(classes)) == ("found", 0)
        with pytest.raises(Py4JJavaError, match=r"Absent\.java"):
            classes.named("Absent")
    assert len(kept(cache)) == 1


def test_classes_upon_others_are_kept_with_them(spark: SparkSession, cache: Path) -> None:
    upon = {"Upon": "package metaindex;\npublic class Upon extends Probe { }\n"}
    for text in ("found", "changed", "found"):
        classes = SparkDriver(spark).compiled(upon, SparkDriver(spark).compiled(sources(text)))
        assert (said(classes, "Upon"), compiled_in(classes)) == (text, 0)
    assert len(kept(cache)) == 4


def test_the_key_has_the_jars_that_a_loader_finds_classes_in(spark: SparkSession, tmp_path: Path) -> None:
    jvm, jar = SparkDriver(spark).jvm, tmp_path / "format.jar"

    def digest(path: Path) -> str | None:
        urls = spark.sparkContext._gateway.new_array(jvm.java.net.URL, 1)
        urls[0] = jvm.java.io.File(str(path)).toURI().toURL()
        above = jvm.java.lang.Thread.currentThread().getContextClassLoader()
        return _class_path_digest(jvm, jvm.java.net.URLClassLoader(urls, above))

    def write(content: bytes) -> None:
        with zipfile.ZipFile(jar, "w") as written:
            written.writestr(zipfile.ZipInfo("A.class"), content)

    without = digest(jar)
    write(b"one")
    first = digest(jar)
    write(b"two")
    assert len({without, first, digest(jar)}) == 3
    write(b"one")
    assert digest(jar) == first
    (tmp_path / "folder" / "org").mkdir(parents=True)
    assert (digest(tmp_path), digest(tmp_path / "folder")) == (without, None)


ENABLE = """
import sys
sys.path[:0] = {path!r}
import metaindex as mi
from metaindex.spark.optimizer import parsing
from metaindex.spark import spark_session
from metaindex.core.jvm.classes import ROOMS
from tests.spark.test_classes import compiled_in

spark = spark_session(master="local[1]", delta=False, iceberg=False, conf={{"spark.ui.enabled": "false"}})
mi.enable(spark)
try:
    spark.sql("SHOW INDEXES ON parquet.`/nowhere`").collect()
except Exception as error:
    assert "nowhere" in str(error), error
rooms = [each for rooms in ROOMS.values() for each in rooms.values()]
parsers = [each for named in parsing._CLASSES.values() for _, each in named.values()]
print("compiled", sum(map(compiled_in, rooms)), sum(map(compiled_in, parsers)), len(rooms), len(parsers))
"""


@pytest.mark.exhaustive
def test_a_later_process_enables_a_session_without_compiling(tmp_path: Path) -> None:
    cache = tmp_path / "cache"

    def enabled(cache: Path) -> tuple[Any, ...]:
        environ = {**os.environ, "METAINDEX_CACHE": str(cache)}
        code = ENABLE.format(path=[entry for entry in sys.path if entry])
        ran = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=False)
        [line] = [line for line in ran.stdout.splitlines() if line.startswith("compiled ")] or [ran.stderr]
        return tuple(map(int, line.split()[1:]))

    assert enabled(cache) == (0, 0, 1, 1)
    files = kept(cache)
    assert len(files) == 2
    assert enabled(cache) == (0, 0, 1, 1)
    assert kept(cache) == files
    (tmp_path / "file").write_text("")
    rooms, parsers, *_ = enabled(tmp_path / "file" / "cache")
    assert (rooms > 50, parsers) == (True, 1)
