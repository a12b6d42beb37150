"""Spark's defaults switch metaindex on, or the doctor says what is missing of what they name."""

import contextlib
import io
import os
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.cli.diagnosis import Health, read_defaults, switch
from metaindex.spark import EXTENSION, digest_in
from metaindex.spark.extension_jar import digest

NAMED = f"spark.sql.extensions {EXTENSION},io.delta.sql.DeltaSparkSessionExtension\n"


def told(folder: Path, defaults: str) -> dict[str, tuple[Health, str]]:
    (folder / "spark-defaults.conf").write_text(defaults)
    environ = {"SPARK_CONF_DIR": str(folder), "PATH": "/usr/bin:/bin", "PYTHONHOME": "/of/the/application"}
    environ["PYTHONPATH"] = str(Path(__file__).parents[2])
    return {symptom.about: (symptom.health, symptom.fact) for symptom in switch(environ)}


def jar_of(path: Path, said: str) -> Path:
    with zipfile.ZipFile(path, "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", f"Manifest-Version: 1.0\r\n{said}\r\n\r\n")
    return path


def test_defaults_that_name_all_of_it_are_right(tmp_path: Path) -> None:
    jar = jar_of(tmp_path / "metaindex-spark.jar", f"Metaindex-Sources: {digest()}")
    text = f"# ours\n{NAMED}spark.jars=/other.jar,file:{jar}\nspark.metaindex.python : {sys.executable}\n"
    found = told(tmp_path, text)
    assert found.keys() == {"switch: extension", "switch: jar", "switch: Python"}
    assert {health for health, _ in found.values()} == {Health.RIGHT}, found


@pytest.mark.parametrize(
    ("text", "about", "health", "fact"),
    [
        ("", "switch", Health.RIGHT, "has nothing of metaindex"),
        (f"{NAMED}spark.metaindex.enabled FALSE", "switch", Health.LACKING, "enabled=false"),
        ("spark.metaindex.python python3", "switch: extension", Health.LACKING, "Spark 4 finds by itself"),
        (
            "spark.metaindex.enabled true\nspark.sql.extensions.loadFromClasspath false",
            "switch: extension",
            Health.WRONG,
            "none is found by itself",
        ),
        (NAMED, "switch: jar", Health.WRONG, "names metaindex-spark.jar"),
        (f"{NAMED}spark.jars hdfs:///m/metaindex-spark.jar", "switch: jar", Health.LACKING, "not looked at"),
        (f"{NAMED}spark.jars /nowhere/metaindex-spark.jar", "switch: jar", Health.WRONG, "cannot be read"),
        (f"{NAMED}spark.metaindex.python /nowhere/python", "switch: Python", Health.WRONG, "there is no /nowhere"),
        (f"{NAMED}spark.metaindex.python false", "switch: Python", Health.WRONG, "cannot be the switch's"),
    ],
)
def test_what_is_missing_is_said(tmp_path: Path, text: str, about: str, health: Health, fact: str) -> None:
    found = told(tmp_path, text)
    assert found[about][0] is health
    assert fact in found[about][1]


@pytest.mark.parametrize("said", ["Metaindex-Sources: 0123", "Created-By: somebody", None])
def test_a_jar_of_another_metaindex_is_wrong(tmp_path: Path, said: str | None) -> None:
    jar = tmp_path / "metaindex-spark.jar"
    jar_of(jar, said) if said is not None else jar.write_bytes(b"PK\3\4 damaged")
    assert digest_in(jar) == ("0123" if said is not None and "0123" in said else None)
    health, fact = told(tmp_path, f"{NAMED}spark.jars {jar}\nspark.metaindex.python {sys.executable}")["switch: jar"]
    assert health is Health.WRONG
    assert "another metaindex" in fact or "older" in fact


@given(st.data())
def test_no_jar_lets_another_error_out(data: st.DataObject) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as jar:
        jar.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\r\nMetaindex-Sources: abc\r\n\r\n")
    whole = bytearray(stream.getvalue())
    for place, value in data.draw(st.lists(st.tuples(st.integers(0, len(whole) - 1), st.integers(0, 255)), max_size=4)):
        whole[place] = value
    with tempfile.NamedTemporaryFile(suffix=".jar") as file, contextlib.suppress(OSError):
        file.write(whole[: data.draw(st.integers(0, len(whole)))] if data.draw(st.booleans()) else whole)
        file.flush()
        digest_in(file.name)


def test_a_name_that_is_no_text_is_no_jar(tmp_path: Path) -> None:
    jar = jar_of(tmp_path / "metaindex-spark.jar", "Metaindex-Sources: abc")
    data = bytearray(jar.read_bytes().replace(b"META-INF", b"\xffETA-INF"))
    at = data.index(b"PK\1\2")
    data[at + 8 : at + 10] = (0x800).to_bytes(2, "little")  # its names are said to be UTF-8
    jar.write_bytes(data)
    assert digest_in(jar) is None


def test_a_pipe_in_place_of_the_jar_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "metaindex-spark.jar")
    text = f"{NAMED}spark.jars {tmp_path}/metaindex-spark.jar\nspark.metaindex.python false\n"
    assert "cannot be read" in told(tmp_path, text)["switch: jar"][1]


def test_defaults_are_read_as_spark_does() -> None:
    text = "a.b  c d \n  e=f\n# g h\n! i j\nk:l\nm = n=o\np \\\nq\nr"
    assert read_defaults(text) == {"a.b": "c d", "e": "f", "k": "l", "m": "n=o", "p": "q", "r": ""}
