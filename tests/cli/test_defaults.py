"""Options that are said once, in a file, and what the command line says goes before them."""

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

from metaindex.cli import defaults
from metaindex.cli.diagnosis import Health, read_defaults, switch
from metaindex.core import ArgumentError
from metaindex.spark import EXTENSION, digest_in
from metaindex.spark.extension_jar import digest
from tests.cli.conftest import Call
from tests.cli.conftest import call as call  # the fixture
from tests.disks import someone_elses_folder
from tests.tables import settled


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "home" / "metaindex" / "config.toml"
    path.parent.mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    return path


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Files of which only who knows that they have no header reads all rows."""
    return settled(tmp_path / "lake", {"a.csv": "1,x\n2,y\n"})


@pytest.mark.slow
def test_a_table_has_a_name_and_its_options(file: Path, lake: Path, tmp_path: Path, call: Call) -> None:
    assert call("count", lake, "_c0 >= 1").code == 1, "it asks whether there is a header"
    kept = tmp_path / "elsewhere"
    file.write_text(
        f'[defaults]\nindex-location = "{kept}"\nbuilder = "local"\n'
        f'[tables.t]\ntable = "{lake}"\nformat = "csv"\noption = {{ header = false, inferSchema = true }}\n'
    )
    assert call("create", "t", "stats").code == 0
    assert kept.is_dir()
    assert call("count", "t", "_c0 >= 1", "--json").json["rows"] == [{"count(*)": 2}]
    assert call("count", "t", "_c0 >= 1", "--option", "header=true").code == 1, "the command line goes before the file"
    assert call("prune", lake, "_c0 >= 1", "--option", "header=false").code == 0
    assert call("doctor", "--json").code in (0, 1), "a command without a table has the defaults that it knows"


def test_statements_and_several_tables_know_the_names(file: Path, lake: Path, tmp_path: Path, call: Call) -> None:
    kept, other = tmp_path / "elsewhere", tmp_path / "other"
    settled(other, {"a.csv": "5;z\n"})
    file.write_text(
        f'[defaults]\nindex-location = "{kept}"\n'
        f'[tables.t]\ntable = "{lake}"\nformat = "csv"\noption = {{ header = false }}\n'
        f'[tables."db.o"]\ntable = "{other}"\noption = {{ header = false, delimiter = ";" }}\n'
    )
    told = call("sql", "CREATE INDEX i ON t USING values (_c0)", "CREATE INDEX i ON db.o USING values (_c0)", "--json")
    assert [row["files"] for (row,) in told.json] == [1, 1]
    assert kept.is_dir()
    assert call("count", "t", "_c0 >= 1", "--json").json["rows"] == [{"count(*)": 2}]
    (row,) = call("sql", "EXPLAIN INDEXES SELECT * FROM T WHERE _c0 = 7", "--json").json
    assert (row["scan"], row["used"], row["files"]) == (str(lake), True, 0)
    (row,) = call("sql", "EXPLAIN INDEXES SELECT * FROM db.o WHERE _c0 = 7", "--json").json
    assert (row["scan"], row["used"], row["files"]) == (str(other), True, 0)
    said = call(
        "sql", "SHOW INDEXES ON t", "--table", f"t={other}", "--option", "delimiter=;", "--option", "header=false"
    )
    assert " i " not in said.out.splitlines()[0], "what the command line says goes before the file"
    assert call("watch", "t", "db.o", "--once").code == 0
    workload = call("recommend", "t", "db.o", "--where", "_c0 = 7", "--json")
    assert {table["table"] for table in workload.json["tables"]} == {str(lake), str(other)}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[defaults]\nbuildr = 'local'", "has no option 'buildr'; did you mean 'builder'?"),
        ("[defaults]\nyes = true", "has no option 'yes'"),
        ("[defaults]\nbuilder = 'dask'", "invalid choice: 'dask'"),
        ("[defaults]\nbuilder = [[1]]", "builder is a text"),
        ("[defaults]\noption = 'header=false'", "option is a table such as"),
        ("[defaults]\nformat = { a = 1 }", "format is no table"),
        ("[table.t]\nformat = 'csv'", "has the sections defaults and tables.NAME; got 'table'"),
        ("tables = 3", "each table has a section"),
        ("[tables]\nt = 3", "[tables.t]"),
        ("[defaults\n", "is TOML"),
        ("\x00", "is TOML"),
        ("a = " + "[" * 5000, "is TOML: it is nested too deep;"),
        ("a = " + "9" * 10_000, "is TOML: it has a number of too many digits;"),
        ("# " + "x" * (1 << 20), "at most 1,048,576 bytes"),
    ],
)
def test_a_file_that_cannot_be_is_refused_in_a_line(file: Path, lake: Path, call: Call, text: str, said: str) -> None:
    file.write_text(text)
    told = call("create", lake, "stats", "--option", "header=false")
    assert told.code == 1
    assert said in told.err
    assert len(told.err.splitlines()[-1]) < 400


def test_an_option_that_takes_no_such_value_is_told_in_one_line(file: Path, lake: Path, call: Call) -> None:
    file.write_text('[defaults]\nformat = "orc"\n')
    told = call("indexes", lake)
    assert (told.code, told.err.count("\n")) == (1, 1)
    assert "invalid choice: 'orc'" in told.err
    assert told.err.endswith("name another file in METAINDEX_CONFIG\n")


def test_a_file_that_is_named_is_there(tmp_path: Path, lake: Path, monkeypatch: pytest.MonkeyPatch, call: Call) -> None:
    monkeypatch.setenv("METAINDEX_CONFIG", str(tmp_path / "none.toml"))
    assert "METAINDEX_CONFIG names a file" in call("indexes", lake, "--option", "header=false").err
    monkeypatch.setenv("METAINDEX_CONFIG", str(tmp_path))
    assert call("indexes", lake).code == 1
    os.mkfifo(tmp_path / "pipe")  # into which nobody ever writes
    monkeypatch.setenv("METAINDEX_CONFIG", str(tmp_path / "pipe"))
    assert "is a pipe" in call("indexes", lake).err


def test_no_file_of_the_folder_that_is_worked_in_counts(
    lake: Path, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    monkeypatch.chdir(lake.parent)
    monkeypatch.setenv("XDG_CONFIG_HOME", "home")  # a relative one is none, as the XDG specification says
    for path in ("config.toml", "metaindex.toml", "home/metaindex/config.toml"):
        (lake.parent / path).parent.mkdir(parents=True, exist_ok=True)
        (lake.parent / path).write_text("nonsense")
    assert call("indexes", lake, "--option", "header=false").code == 0


@given(st.binary(max_size=200))
def test_any_bytes_are_options_or_an_error_of_ours(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_bytes(data)
    said = ""
    try:
        defaults.load(path)
    except ArgumentError as error:
        said = str(error)
    assert "\n" not in said


def test_a_home_that_cannot_be_looked_into_is_noted_and_nothing_more(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with someone_elses_folder() as folder:
        (folder / ".config" / "metaindex").mkdir(parents=True)
        file = folder / ".config" / "metaindex" / "config.toml"
        file.write_text("[defaults]\n")
        folder.chmod(0)
        path = defaults.place({"XDG_CONFIG_HOME": str(folder / ".config")})
        assert path == file
        assert defaults.load(path) == {}
        assert "cannot be looked at (Permission denied)" in caplog.text
        with pytest.raises(ArgumentError, match="Permission denied; mend it, or name another"):
            defaults.load(path, needed=True)
        folder.chmod(0o700)
        file.chmod(0)
        with pytest.raises(ArgumentError, match="Permission denied"):  # it is there, and may say what counts
            defaults.load(path)


@pytest.mark.parametrize("home", [os.devnull, "/nowhere/at/all"])
def test_a_home_that_is_none_has_no_options(home: str, lake: Path, monkeypatch: pytest.MonkeyPatch, call: Call) -> None:
    monkeypatch.setenv("HOME", home)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("METAINDEX_CONFIG", raising=False)
    said = call("count", lake, "_c0 >= 1", "--option", "header=false")
    assert said.code == 0
    assert "options" not in said.err


def test_who_has_no_home_has_no_options(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", unknown)
    assert defaults.place({}) is None
    with pytest.raises(ArgumentError, match=r"of '~nobody-at-all/x\.toml' nobody knows the home; write the whole path"):
        defaults.place({"METAINDEX_CONFIG": "~nobody-at-all/x.toml"})


# The switch -----------------------------------------------------------------------------------------------------------


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
