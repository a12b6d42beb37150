"""Whose `metaindex` an environment has. On the package index that name is another project's, with the same import and
the same command: where both are installed, the files of the later one are there, and ours could not say so itself."""

import base64
import hashlib
import importlib.util
import json
import shlex
import sys
from importlib import metadata
from pathlib import Path
from typing import Final

DISTRIBUTION: Final = __name__.replace("_", "-")
FOREIGN: Final = "metaindex"
"""The import, the command, and the other project's distribution."""
_PACKAGES: Final = Path(__file__).resolve().parents[1]


def trouble() -> tuple[str, str] | None:
    """Say what is wrong with the `metaindex` of this environment, and its cure; None where it is ours."""
    pip = f"{sys.executable} -m pip"
    cure = f"{pip} uninstall --yes {FOREIGN}; {pip} install --force-reinstall --no-deps {_source()}"
    try:
        return f"{FOREIGN} {metadata.version(FOREIGN)} of another project is installed beside {DISTRIBUTION}", cure
    except metadata.PackageNotFoundError:
        pass
    spec = importlib.util.find_spec(FOREIGN)
    if spec is None or spec.origin is None:
        return f"there is no {FOREIGN} to import", cure
    if Path(spec.origin).resolve().parents[1] != _PACKAGES:
        return f"import {FOREIGN} finds {spec.origin}, not {_PACKAGES / FOREIGN}", f"take {spec.origin} off the path"
    if changed := _changed():
        return f"{changed} is not as {DISTRIBUTION} brought it", cure
    return None


def _source() -> str:
    """Return what pip installed it from (a wheel, a folder, a commit), else its name on the package index."""
    try:
        told = json.loads(metadata.distribution(DISTRIBUTION).read_text("direct_url.json") or "")
        vcs = told.get("vcs_info")
        return shlex.quote(f"{vcs['vcs']}+{told['url']}@{vcs['commit_id']}" if vcs else told["url"])
    except (metadata.PackageNotFoundError, ValueError, KeyError, TypeError, AttributeError):
        return DISTRIBUTION


def _changed() -> Path | None:
    """Return the package's first module or the command, if another distribution wrote over it. A command that is not
    there is nobody's: `pip install --target` and copies of packages put it elsewhere."""
    try:
        files = metadata.files(DISTRIBUTION) or ()
    except metadata.PackageNotFoundError:  # imported from a folder
        return None
    for file in files:
        if file.hash is not None and (
            str(file) == f"{FOREIGN}/__init__.py" or (file.stem == FOREIGN and ".." in file.parts)
        ):
            path = Path(str(file.locate()))
            if not path.is_file():
                continue
            digest = hashlib.new(file.hash.mode, path.read_bytes()).digest()
            if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != file.hash.value:
                return path
    return None


def main() -> int:
    """Say in one line whose it is; 1 where it is not ours."""
    if found := trouble():
        print(f"{DISTRIBUTION}: {found[0]}; {found[1]}", file=sys.stderr)
        return 1
    try:
        version = metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        version = "(from a folder)"
    print(f"{FOREIGN} is that of {DISTRIBUTION} {version}, in {_PACKAGES / FOREIGN}")
    return 0
