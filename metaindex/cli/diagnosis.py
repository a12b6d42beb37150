"""Checks of `metaindex doctor`, of what no error says: versions of packages, variables that nobody reads, Spark's
defaults, and the place of a table's indexes. The Python that the defaults name is asked what it has; of a place one
object is written, and removed again."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from enum import StrEnum
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from packaging.requirements import Requirement

import metaindex_lake
from metaindex.core import Column, MetaIndexError, ObjectExistsError, StorageError, TextTable, dataclass, one_line
from metaindex.spark import EXTENSION, digest_in
from metaindex.storage import Storage, is_remote, local_path, own_folder
from metaindex.table import Table, handle_of

VARIABLES: Final = (
    "METAINDEX_CACHE",
    "METAINDEX_CALLED_WITH",  # what the JVM tells the process beside it, as below
    "METAINDEX_CA_BUNDLE",
    "METAINDEX_CONFIG",
    "METAINDEX_MAVEN_REPOSITORY",
    "METAINDEX_QUERY_LOG",
    "METAINDEX_QUERY_LOG_SALT",
    "METAINDEX_REMEMBER_FILTERS",
    "METAINDEX_SEAL_KEY",
    "METAINDEX_SERVE_TOKEN",
    "METAINDEX_SPARK_PYTHONPATH",
    "METAINDEX_SPARK_VERSION",
)
"""All that metaindex reads of the environment under names of its own."""
_PATIENCE_SECONDS: Final = 60.0
_APART_SECONDS: Final = 2.0
"""A file that is younger is not believed to keep its identity (`Config.settle_seconds`): clocks that are further apart
make young files look old."""
_FOLDER: Final = "folder of indexes"
_ELSEWHERE: Final = "choose another place with --index-location"
_SWITCH: Final = "switch"
_DEFAULTS: Final = "spark-defaults.conf"
_MOST_BYTES: Final = 1 << 20  # of a file of defaults that are read
_JARS: Final = ("spark.jars", "spark.driver.extraClassPath")
_PYTHONS: Final = ("spark.metaindex.python", "spark.pyspark.driver.python", "spark.pyspark.python")
"""In the order in which `Sidecar.java` looks for one, before PYSPARK_PYTHON."""
_FOREIGN: Final = ("PYTHONHOME", "PYTHONSTARTUP", "PYTHONINSPECT", "PYTHONWARNINGS")
_ASK: Final = (
    "import metaindex.spark.optimizer.sidecar, metaindex.spark.extension_jar as jar;"
    " print(metaindex.__version__, jar.digest())"
)


class Health(StrEnum):
    """`RIGHT`: as it should be. `LACKING`: something cannot be used, which not everybody needs. `WRONG`: something will
    fail."""

    RIGHT = "right"
    LACKING = "lacking"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Symptom:
    """`about`: the thing; `fact`: how it is; `cure`: what to do, empty if nothing is to be done."""

    about: str
    health: Health
    fact: str
    cure: str = ""


def table_of(symptoms: Sequence[Symptom]) -> TextTable:
    rows = tuple((symptom.about, str(symptom.health), symptom.fact, symptom.cure) for symptom in symptoms)
    return TextTable(Column.named("what", "state", "found", "what to do"), rows)


def look(table: Table | None = None, *, write: bool = True) -> list[Symptom]:
    """Check this machine, and the place of this table's indexes: report what is missing or wrong. `write`: puts an
    object there, and removes it, to see whether one can. Raises nothing for what it finds."""
    symptoms = [packages(), *variables(os.environ)]
    if importlib.util.find_spec("pyspark") is not None:
        symptoms += switch(os.environ)
    return [*symptoms, *(() if table is None else (*folder(table, write=write), *touched(table)))]


def _symptom(health: Health, about: str, fact: str, cure: str = "") -> Symptom:
    return Symptom(about, health, one_line(fact), cure)


_right, _lacking, _wrong = (partial(_symptom, health) for health in Health)


def _output(command: Sequence[str], environ: Mapping[str, str]) -> tuple[str | None, str]:
    """Run a program and return its output and "", or None and one line that says why it failed."""
    try:
        ran = subprocess.run(  # noqa: S603 - what Spark would run
            command, capture_output=True, text=True, timeout=_PATIENCE_SECONDS, check=False, env=dict(environ), cwd="/"
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, one_line(str(error))
    last = ((ran.stderr or ran.stdout).strip().splitlines() or ["it says nothing"])[-1]
    return (ran.stdout, "") if ran.returncode == 0 else (None, one_line(last[:200]))


# -- the machine -------------------------------------------------------------------------------------------------------


def packages(needs: Sequence[str] | None = None) -> Symptom:
    """Check the versions of packages that are there, those of extras too; an error names what is missing. `needs`:
    default: what metaindex declares."""
    if (trouble := metaindex_lake.trouble()) is not None:
        return _wrong("packages", *trouble)
    install, name = f"{sys.executable} -m pip install", metaindex_lake.DISTRIBUTION
    try:
        declared = metadata.requires(name) or ()
    except metadata.PackageNotFoundError:
        return _wrong("packages", "metaindex is imported from a folder and not installed", f"{install} {name}")
    there, unfit = [], {}
    for need in map(Requirement, declared if needs is None else needs):
        try:
            version = metadata.version(need.name)
        except metadata.PackageNotFoundError:
            continue
        there.append(f"{need.name} {version}")
        if not need.specifier.contains(version, prereleases=True):
            unfit[need.name] = f"'{need.name}{need.specifier}'"
    if unfit:
        names = ", ".join(said for said in dict.fromkeys(there) if said.split()[0] in unfit)
        return _wrong("packages", f"{names}: another version is needed", f"{install} {' '.join(unfit.values())}")
    own = f"metaindex {metadata.version(name)} on Python {sys.version.split()[0]}"
    return _right("packages", f"{own}: {', '.join(dict.fromkeys(there))}")


def variables(environ: Mapping[str, str]) -> Iterator[Symptom]:
    for name in sorted(environ):
        if name.startswith("METAINDEX_") and name not in VARIABLES:
            near = get_close_matches(name, VARIABLES, n=1, cutoff=0.8)
            cure = f"did you mean {near[0]}?" if near else f"unset it; there are {', '.join(VARIABLES)}"
            yield _wrong("environment", f"{name} is set, which metaindex does not read", cure)


# -- Spark's defaults --------------------------------------------------------------------------------------------------


def switch(environ: Mapping[str, str]) -> Iterator[Symptom]:
    """Check whether Spark's defaults switch metaindex on (docs/spark.md), and what they name. Yield a single symptom
    where they do not mention it."""
    file = _defaults(environ)
    if file is None:
        yield _right(_SWITCH, f"no {_DEFAULTS}: metaindex is on where somebody enables it, or names it by --conf")
        return
    try:
        with open(file, "rb") as stream:
            conf = read_defaults(stream.read(_MOST_BYTES).decode("utf-8", "replace"))
    except OSError as error:
        yield _wrong(_SWITCH, f"{file} cannot be read: {error}", "make it readable")
        return
    jars = [part for name in _JARS for part in re.split("[,:]" if "Class" in name else ",", conf.get(name, ""))]
    jars = [jar.strip() for jar in jars if "metaindex" in jar.rpartition("/")[2]]
    named = EXTENSION in [part.strip() for part in conf.get("spark.sql.extensions", "").split(",")]
    if not named and not jars and not any(name.startswith("spark.metaindex.") for name in conf):
        yield _right(_SWITCH, f"{file} has nothing of metaindex")
        return
    if conf.get("spark.metaindex.enabled", "true").lower() == "false":
        yield _lacking(_SWITCH, f"{file} has spark.metaindex.enabled=false", "set it to true")
    yield _extension(file, named, conf)
    home = environ.get("SPARK_HOME") or _package()
    beside = [] if home is None else [str(path) for path in sorted(Path(home).glob("jars/metaindex-spark*.jar"))]
    version, answer = _python(conf, environ)
    yield _jar(jars + beside, version)
    yield answer


def read_defaults(text: str) -> dict[str, str]:
    """Parse Spark's defaults, which are Java properties: a name, then blanks, `=` or `:`, then the value."""
    lines = (
        re.match(r"\s*([^#!\s=:][^\s=:]*)\s*[=:]?\s*(.*?)\s*$", line) for line in text.replace("\\\n", "").split("\n")
    )
    return {line[1]: line[2] for line in lines if line}


def _defaults(environ: Mapping[str, str]) -> Path | None:
    """The file that Spark reads: of SPARK_CONF_DIR, else of SPARK_HOME, else of the package."""
    home = environ.get("SPARK_HOME") or _package()
    folder = environ.get("SPARK_CONF_DIR") or (None if home is None else os.path.join(home, "conf"))
    file = None if folder is None else Path(folder) / _DEFAULTS
    return file if file is not None and file.is_file() else None


def _package() -> Path | None:
    spec = importlib.util.find_spec("pyspark")
    return Path(spec.origin).parent if spec is not None and spec.origin else None


def _extension(file: Path, named: bool, conf: Mapping[str, str]) -> Symptom:
    about = "switch: extension"
    if named:
        return _right(about, f"{file}: spark.sql.extensions has {EXTENSION}")
    cure = f"spark.sql.extensions {','.join(filter(None, (EXTENSION, conf.get('spark.sql.extensions', ''))))}"
    if conf.get("spark.sql.extensions.loadFromClasspath", "true").lower() == "false":
        return _wrong(about, f"spark.sql.extensions lacks {EXTENSION}, and none is found by itself", cure)
    return _lacking(about, f"spark.sql.extensions lacks {EXTENSION}, which Spark 4 finds by itself; 3.5 does not", cure)


def _jar(jars: Sequence[str], version: str | None) -> Symptom:
    """`version`: of the Python that is named, and the digest of the jar that it would write."""
    about = "switch: jar"
    cure = "python -m metaindex.spark extension -o JAR, by the Python that is named; spark.jars JAR"
    if not jars:
        return _wrong(about, f"no {' or '.join(_JARS)} names metaindex-spark.jar", cure)
    jar, parts = jars[0], urlsplit(jars[0])
    if parts.scheme not in ("", "file", "local"):
        return _lacking(about, f"{jar} is not on this machine: not looked at", "name a file of this machine")
    try:
        digest = digest_in(unquote(parts.path) if parts.scheme else jar)
    except OSError as error:
        return _wrong(about, f"{jar} cannot be read: {error}", cure)
    if digest is None:
        return _wrong(about, f"{jar} is no jar of metaindex, or of an older one", cure)
    if version is None:
        return _lacking(about, f"{jar} is there; whether it fits is not known", "see the Python, below")
    if digest != version.split()[1]:
        return _wrong(about, f"{jar} is of another metaindex than its Python ({version.split()[0]})", cure)
    return _right(about, f"{jar}, of the metaindex of its Python")


def _python(conf: Mapping[str, str], environ: Mapping[str, str]) -> tuple[str | None, Symptom]:
    """Return what identifies the Python that the JVM would start beside it (None if it cannot run), and the symptom."""
    about, cure = "switch: Python", "spark.metaindex.python: a Python 3.11 or newer with metaindex and pyspark"
    named = next((conf[name] for name in _PYTHONS if conf.get(name)), environ.get("PYSPARK_PYTHON") or "python3")
    program = shutil.which(named, path=environ.get("PATH"))
    if program is None:
        return None, _wrong(about, f"there is no {named}", cure)
    own = {name: value for name, value in environ.items() if name not in _FOREIGN}
    printed, why = _output([program, "-P", "-c", _ASK], own)
    said = (printed or "").split()[-2:]
    if len(said) < 2:
        return None, _wrong(about, f"{program} cannot be the switch's: {why or 'it says nothing'}", cure)
    return " ".join(said), _right(about, f"{program}, metaindex {said[0]}")


# -- the place of a table's indexes ------------------------------------------------------------------------------------


def folder(opened: Table, *, write: bool) -> Iterator[Symptom]:
    """Check the folder of the indexes. `write`: an object is put there, and removed."""
    handle = handle_of(opened)
    root = handle.indexes_folder()
    there = Path(local_path(root) or root)
    at = next((place for place in (there, *there.parents) if place.exists()), there)
    if not is_remote(root) and not (at.is_dir() and os.access(at, os.W_OK | os.X_OK)):
        yield _lacking(_FOLDER, f"nothing can be written in {at}: indexes are used, not built", _ELSEWHERE)
    elif write and (is_remote(root) or at == there):
        options = handle.storage_options if is_remote(root) else None
        yield from written(own_folder(root, root, handle.root(None), options), root)
    else:
        yield _right(_FOLDER, root)


def touched(opened: Table) -> Iterator[Symptom]:
    """Check that no index lost its files to chmod, a link or a copy."""
    try:
        infos = opened.indexes()
    except MetaIndexError as error:
        yield _lacking("indexes", str(error), "see that the table can be read")
        return
    for info in infos:
        if info.touched_files:
            fact, _, cure = info.touched_said.rpartition("; ")
            yield _lacking(f"index {info.name}", fact, cure)


def written(storage: Storage, root: str) -> Iterator[Symptom]:
    """Check that an object can be put, put only once and read, and compare the storage's clock with ours."""
    name = f"_doctor-{uuid.uuid4().hex}"
    try:
        before = time.time_ns()
        storage.put_if_absent(name, b"")
        after = time.time_ns()
        kept = storage.head(name).modified_ns
        yield _right(_FOLDER, f"{root}: written and read")
        try:
            storage.put_if_absent(name, b"x")
        except ObjectExistsError:
            yield _right("put-if-absent", "has one winner")
        else:
            yield _wrong("put-if-absent", "replaced an object: two writers would both win", _ELSEWHERE)
        yield clock(before, kept, after)
    except (StorageError, OSError) as error:
        yield _lacking(_FOLDER, f"{error}: indexes are used, not built", _ELSEWHERE)
    finally:
        try:
            storage.delete(name)
        except (StorageError, OSError) as error:
            yield _lacking(_FOLDER, f"{name} cannot be removed: {error}", "clean needs the right to delete")


def clock(before: int, kept: int, after: int) -> Symptom:
    """The object was made between two looks at our clock."""
    off = max(before - kept, kept - after, 0) / 1e9
    if off <= _APART_SECONDS:
        return _right("clock", "agrees with that of the storage")
    which = "ahead of" if kept < before else "behind"
    return _wrong("clock", f"this machine is {off:,.1f} seconds {which} the storage", "set the clock (NTP)")
