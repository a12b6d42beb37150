"""What a release is: built from the commit alone, tried where nothing else is, listed with digests: `make release`.

An sdist and a wheel are built from what git has of HEAD. The wheel is installed into an empty environment of each
Python that is on the path (3.11 to 3.14), where `metaindex-lake` and `metaindex demo --quick` end well, with no Java;
the sdist into one. The quick tests of the rooms run against the installed package, with no sources beside them. `dist/`
then has both files, `SHA256SUMS`, and a bill of materials (CycloneDX) of what the core brings.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import time
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.processes import say

ROOT: Final = Path(__file__).parents[1]
DIST: Final = ROOT / "dist"
PYTHONS: Final = ("python3.11", "python3.12", "python3.13", "python3.14")
TESTS: Final = ("tests/api", "tests/core", "tests/expressions", "tests/query/pruning", "tests/storage")
"""Of the rooms: tests of docs and of the architecture read sources."""
_FAST: Final = "not spark and not s3 and not slow and not exhaustive"


def main(tools: str) -> int:
    """`tools`: the Python of an environment with requirements/release.txt."""
    if said := _run("git", "status", "--porcelain", cwd=ROOT):
        return _refuse(f"a release is built from a commit; not committed: {said.splitlines()[0].strip()}; commit it")
    tools = os.path.abspath(tools)  # commands run elsewhere
    environ = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "JAVA_HOME")}
    with tempfile.TemporaryDirectory() as place:
        here = Path(place)
        source = here / "source"
        subprocess.run(["git", "archive", "--output", str(here / "head.tar"), "HEAD"], cwd=ROOT, check=True)
        with tarfile.open(here / "head.tar") as archive:
            archive.extractall(source, filter="data")
        built = here / "built"
        say(f"release: building {_run('git', 'describe', '--always', cwd=ROOT).strip()}")
        _run(tools, "-m", "build", "--no-isolation", "--outdir", str(built), str(source), cwd=here)
        sdist, wheel = (one for pattern in ("*.tar.gz", "*.whl") for one in built.glob(pattern))
        _run(tools, "-m", "twine", "check", "--strict", str(sdist), str(wheel), cwd=here)
        said = _changelog(source, wheel)
        if said is not None:
            return _refuse(said)
        tried = []
        for number, python in enumerate(PYTHONS):
            if (program := _works(python)) is None:
                say(f"release: {python} is not here: not tried")
                continue
            files = (wheel, sdist) if number == 0 else (wheel,)
            tried += [_try(program, file, here / f"{python}{file.suffix}", environ) for file in files]
        _tested(wheel, source, here / "tested", environ)
        bill = here / "bill.cdx.json"
        _run(tools, "-m", "cyclonedx_py", "environment", "--output-file", str(bill), str(tried[0]), cwd=here)
        shutil.rmtree(DIST, ignore_errors=True)
        DIST.mkdir()
        for file, name in ((sdist, sdist.name), (wheel, wheel.name), (bill, f"{wheel.stem}.cdx.json")):
            shutil.copy2(file, DIST / name)
    files = sorted(DIST.iterdir())
    sums = "".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files)
    (DIST / "SHA256SUMS").write_text(sums)
    say(f"release: {DIST}\n{sums}".rstrip())
    return 0


def _changelog(source: Path, wheel: Path) -> str | None:
    """Why this is no release, if it is not: its version is told, and nothing is left to tell. A version that is not out
    yet (`0.1.0, unreleased`) is built to be tried."""
    version = wheel.name.split("-")[1]
    told = (source / "CHANGELOG.md").read_text()
    if f"## {version}" not in told:
        return f"CHANGELOG.md tells of each version; it has nothing of {version}; write it"
    if f"## {version}, unreleased" in told:
        say(f"release: {version} is unreleased by CHANGELOG.md: to be tried, not to be published")
        return None
    left = [path.name for path in (source / "changes").glob("*.md") if path.name != "README.md"]
    return f"changes/ is collected in CHANGELOG.md; there is {left[0]}; collect it" if left else None


def _works(python: str) -> str | None:
    program = shutil.which(python)
    if program is None:
        return None
    done = subprocess.run([program, "-c", "import venv, ensurepip"], capture_output=True, check=False)
    return program if done.returncode == 0 else None


def _try(python: str, file: Path, home: Path, environ: dict[str, str]) -> Path:
    """Install into an empty environment, and use what is there; return its Python."""
    own = home / "bin" / "python"
    _run(python, "-m", "venv", str(home), cwd=file.parent, environ=environ)
    _run(str(own), "-m", "pip", "install", "--quiet", str(file), cwd=home, environ=environ)
    whose = _run(str(home / "bin" / "metaindex-lake"), cwd=home, environ=environ).strip()
    bare = {**environ, "PATH": os.path.dirname(own)}  # no Java there
    started = time.monotonic()
    found = json.loads(_run(str(home / "bin" / "metaindex"), "demo", "--quick", "--json", cwd=home, environ=bare))
    assert found["comparisons"] > 0
    assert found["broken"] == []
    say(f"release: {Path(python).name}, {file.suffix}: {whose}; the quick demo: {time.monotonic() - started:.0f} s")
    return own


def _tested(wheel: Path, source: Path, home: Path, environ: dict[str, str]) -> None:
    """The quick tests beside no sources: what they import is installed; their tools are this environment's."""
    for package in source.glob("metaindex*"):
        shutil.rmtree(package)
    venv.create(home, with_pip=False)
    own = home / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--python", str(own)]
    _run(*pip, "install", "--no-deps", "--no-index", str(wheel), cwd=source)
    (packages,) = home.glob("lib/*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    words = ["-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", "-m", _FAST, *TESTS]
    said = _run(str(own), *words, cwd=source, environ={**environ, "METAINDEX_FAST": "1"})
    counts = re.findall(r"\d+ passed[^=\n]*", said)
    assert counts, said[-2000:]
    say(f"release: the quick tests on the installed package: {counts[-1].strip()}")


def _run(*command: str, cwd: Path, environ: dict[str, str] | None = None) -> str:
    """What a command prints; it ends well, or this program ends with its last lines."""
    done = subprocess.run(command, cwd=cwd, env=environ, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(
            _refuse(f"{' '.join(command[:4])} ended with {done.returncode}: {(done.stdout + done.stderr)[-3000:]}")
        )
    return done.stdout


def _refuse(why: str) -> int:
    sys.stderr.write(f"release: {why}\n")
    return 1


if __name__ == "__main__":
    words: Sequence[str] = sys.argv[1:]
    sys.exit(main(*words))
