"""Asks every writer of Parquet that can be had here: `python -m tests.writers [--scratch FOLDER] [WRITER ...]`.

Each is installed below the folder (nothing is left out for being there already), writes the columns, and each of its
statistics is compared with the rows. What comes of it is `found.tsv`; of writers that are named, only their rows are
new. `PYTHON38=...` names a Python 3.8, for Arrow before 10.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, Final

from tests.formats.writers_compared import of_file
from tests.formats.writers_found import FOUND, PAGE, Row, page, read, written
from tests.processes import say

HERE: Final = Path(__file__).parent
_OLD: Final = "python3.8"


@dataclass(frozen=True)
class Asked:
    """A version of a library: what is installed for it, and by which Python."""

    library: str
    version: str
    beside: tuple[str, ...] = ()
    python: str = ""

    @property
    def name(self) -> str:
        return f"{self.library}-{self.version}"


def _every() -> list[Asked]:
    numpy, arrow, newer = "numpy<2", "pyarrow==17.*", "pyarrow==21.*"
    asked = [Asked("pyarrow", str(v), (numpy,), _OLD) for v in range(3, 10)]
    asked += [Asked("pyarrow", str(v), (numpy if v < 26 else "numpy",)) for v in range(10, 27)]
    polars = ("0.20", "1.0", "1.5", "1.10", "1.15", "1.20", "1.25", "1.30", "1.35", "1.40", "1.44", "2.0", "2.1")
    asked += [Asked("polars", v, (numpy, arrow)) for v in polars]
    duckdb = ("0.8", "0.9", "0.10", "1.0", "1.1", "1.2", "1.3", "1.4", "1.5", "2.0")
    asked += [Asked("duckdb", v, (numpy, arrow)) for v in duckdb]
    old_delta = ("0.15", "0.18", "0.20", "0.22", "0.23", "0.25")
    asked += [Asked("deltalake", v, (numpy, arrow, "pyarrow-hotfix", "pandas<3")) for v in old_delta]
    asked += [Asked("deltalake", f"1.{v}", (numpy, newer)) for v in range(7)]
    fastparquet = ("2022.12", "2023.10", "2024.11", "2025.12", "2026.9")
    asked += [Asked("fastparquet", v, (numpy, "pandas<3", arrow)) for v in fastparquet]
    asked += [Asked("datafusion", str(v), (numpy, newer)) for v in (43, 46, 49, 50, 51, 52, 53, 54)]
    java = ("1.8.3", "1.9.0", "1.10.1", "1.11.2", "1.12.3", "1.13.1", "1.14.4", "1.15.2", "1.16.0", "1.17.0")
    asked += [Asked("java", v) for v in java]
    asked += [Asked("parquet", "60.1.0")]
    asked += [Asked("arrow-go", v) for v in ("18.8.0",)]
    asked += [Asked("hyparquet-writer", v) for v in ("0.12.0", "0.16.6", "0.17.0")]
    return asked


def _ask(asked: Asked, scratch: Path) -> tuple[list[Row], str]:
    """The rows of one version, or why there are none."""
    home, out = scratch / asked.name, scratch / "out" / asked.name
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    why = _HOW.get(asked.library, _python)(asked, home, out)
    counts: Counter[tuple[Any, ...]] = Counter()
    lies: Counter[tuple[Any, ...]] = Counter()
    shown: dict[tuple[Any, ...], str] = {}
    files = sorted(out.glob("*.parquet"))
    for file in files:
        try:
            for said in of_file(file):
                key = astuple(said)[:-1]
                counts[key] += 1
                if said.lie:
                    lies[key] += 1
                    shown.setdefault(key, f"{file.stem}: {said.lie}")
        except Exception as error:  # noqa: BLE001 - whatever a writer made of it
            why += f" {file.name} cannot be read: {str(error)[:80]};"
    if not files:
        return [], why or "nothing was written"
    if why:
        say(f"{asked.name}: {why[:500]}")
    return [Row(asked.name, *key, count, lies[key], shown.get(key, "")) for key, count in counts.items()], ""


def _python(asked: Asked, home: Path, out: Path) -> str:
    python = os.environ.get("PYTHON38", _OLD) if asked.python else str(Path(sys.base_prefix) / "bin" / "python3")
    try:
        subprocess.run([python, "--version"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return f"there is no {asked.python}"
    done = home / ".installed"
    if not done.exists():
        pip = (python, "-m", "pip", "install", "-q", "--only-binary", ":all:", "--no-compile", "--target", str(home))
        made = subprocess.run(
            [*pip, f"{asked.library}=={asked.version}.*", *asked.beside], check=False, capture_output=True, text=True
        )
        if made.returncode:
            return (made.stderr.strip().splitlines() or ["pip failed"])[-1]
        done.touch()
    command = [python, "-W", "ignore", str(HERE / "hands.py"), asked.library, str(out)]
    ran = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(home)}, check=False, capture_output=True, text=True
    )
    return "" if ran.returncode == 0 else f"ended with {ran.returncode}: {ran.stderr.strip()[-200:]}"


def _java(asked: Asked, home: Path, out: Path) -> str:
    classes = home / "classes"
    if not (home / "path").exists():
        classes.mkdir(parents=True, exist_ok=True)
        pom = (HERE / "pom.xml").read_text().replace("VERSION", asked.version)
        (home / "pom.xml").write_text(pom)
        maven = ["mvn", "-q", "-B", "dependency:build-classpath", f"-Dmdep.outputFile={home / 'path'}"]
        made = subprocess.run(maven, cwd=home, check=False, capture_output=True, text=True)
        if made.returncode:
            return (made.stdout.strip().splitlines() or ["mvn failed"])[0]
    path = (home / "path").read_text()
    javac = ["javac", "-nowarn", "-d", str(classes), "-cp", path, str(HERE / "Hand.java")]
    made = subprocess.run(javac, check=False, capture_output=True, text=True)
    if made.returncode:
        return made.stderr[:300]
    text = home / "columns.txt"
    subprocess.run([sys.executable, str(HERE / "columns.py"), str(home)], check=True)
    ran = subprocess.run(
        ["java", "-cp", f"{classes}:{path}", "Hand", str(text), str(out)], check=False, capture_output=True, text=True
    )
    (home / "said.txt").write_text(ran.stdout + ran.stderr)
    return "" if ran.returncode == 0 else ran.stderr[-300:]


def _node(asked: Asked, home: Path, out: Path) -> str:
    home.mkdir(parents=True, exist_ok=True)
    if not (home / "node_modules").exists():
        npm = ["npm", "install", "--silent", "--prefix", str(home), f"{asked.library}@{asked.version}"]
        made = subprocess.run(npm, check=False, capture_output=True, text=True)
        if made.returncode:
            return (made.stderr.strip().splitlines() or ["npm failed"])[-1]
    subprocess.run([sys.executable, str(HERE / "columns.py"), str(home)], check=True)
    library = home / "node_modules" / asked.library / "src" / "node.js"
    command = ["node", str(HERE / "hand.mjs"), str(library), str(home / "columns.txt"), str(out)]
    ran = subprocess.run(command, check=False, capture_output=True, text=True)
    return "" if ran.returncode == 0 else ran.stderr[-200:]


def _go(asked: Asked, home: Path, out: Path) -> str:
    home.mkdir(parents=True, exist_ok=True)
    module = f"github.com/apache/arrow-go/v{asked.version.partition('.')[0]}"
    if not (home / "hand").exists():
        (home / "main.go").write_text((HERE / "hand.go").read_text().replace("MODULE", module))
        (home / "go.mod").unlink(missing_ok=True)
        for command in ("mod init hand", f"get {module}@v{asked.version}", "mod tidy", "build -o hand ."):
            made = subprocess.run(["go", *command.split()], cwd=home, check=False, capture_output=True, text=True)
            if made.returncode:
                return (made.stderr.strip().splitlines() or ["go failed"])[-1]
    subprocess.run([sys.executable, str(HERE / "columns.py"), str(home)], check=True)
    command_ = [str(home / "hand"), str(home / "columns.txt"), str(out)]
    ran = subprocess.run(command_, check=False, capture_output=True, text=True)
    return "" if ran.returncode == 0 else ran.stderr[-200:]


def _cargo(asked: Asked, home: Path, out: Path) -> str:
    built = home / "target" / "debug" / "hand"
    if not built.exists():
        (home / "src").mkdir(parents=True, exist_ok=True)
        (home / "src" / "main.rs").write_text((HERE / "hand.rs").read_text())
        (home / "Cargo.toml").write_text((HERE / "Cargo.toml.txt").read_text().replace("VERSION", asked.version))
        made = subprocess.run(["cargo", "build", "-q"], cwd=home, check=False, capture_output=True, text=True)
        if made.returncode:
            return (made.stderr.strip().splitlines() or ["cargo failed"])[-1]
    subprocess.run([sys.executable, str(HERE / "columns.py"), str(home)], check=True)
    command = [str(built), str(home / "columns.txt"), str(out)]
    ran = subprocess.run(command, check=False, capture_output=True, text=True)
    return "" if ran.returncode == 0 else ran.stderr[-200:]


_HOW: Final = {"parquet": _cargo, "java": _java, "hyparquet-writer": _node, "arrow-go": _go}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.writers")
    parser.add_argument("--scratch", type=Path, default=Path(".cache") / "writers")
    parser.add_argument("writers", nargs="*", help="pyarrow, or pyarrow-10")
    args = parser.parse_args()
    scratch = args.scratch.absolute()
    every = _every()
    mine = [a for a in every if not args.writers or {a.library, a.name} & set(args.writers)]
    rows, without = read()
    names = {asked.name for asked in every}
    again = {asked.name for asked in mine}
    rows = [row for row in rows if row.library in names - again]
    without = {name: why for name, why in without.items() if name in names - again}
    with ThreadPoolExecutor(2) as pool:
        for asked, (new, why) in zip(mine, pool.map(lambda a: _ask(a, scratch), mine), strict=True):
            compared, wrong = sum(row.compared for row in new), sum(row.lies for row in new)
            say(f"{asked.name}: {compared} compared, {wrong} wrong {why[:200]}")
            rows += new
            if why:
                without[asked.name] = why.replace(str(scratch), "")[:100]
    FOUND.write_text(written(rows, without))
    PAGE.write_text(page(*read()))


if __name__ == "__main__":
    main()
