"""The notebooks of docs/notebooks, run from top to bottom by a kernel of their own in an empty folder.

    python -m tests.notebooks [NAME ...]      runs them, and stores what they show

A test says that what is stored is what a run gives, but for what no run gives twice: times, sizes, names of files.
"""

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
SHOWN_FOLDER = "/data"
"""Where a reader sees the tables lie."""

_ROW = re.compile(r"<tr>.*?</tr>", re.DOTALL)
_VARYING = (
    (re.compile(r"<svg.*?</svg>", re.DOTALL), ""),  # bars of times and sizes, which stand beside them
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]{16,40}\b|\b[0-9a-f]{9}\.\.\."), "NAME"),
    (re.compile(r"\b20\d\d-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?"), "TIME"),
    (re.compile(r"\b[\d,.]+ (?:ns|µs|us|ms|s|min|h|d)\b"), "TIME"),
    (re.compile(r"\b[\d,.]+ (?:B|KB|MB|GB)\b"), "SIZE"),
    (re.compile(r"(?:(?<=>)|(?<=\n)) +| {2,}|-{3,}"), " "),  # columns are as wide as what is in them
)


def run(notebook: Any, folder: Path) -> Path:
    """Runs the cells in a kernel, in an empty folder below, which is given back. nbclient's CellExecutionError where
    one fails."""
    from nbclient import NotebookClient

    # As for a reader: no setting of this process, and nobody's IPython profile.
    own = {"PYTHONPATH": str(ROOT), "IPYTHONDIR": str(folder / ".ipython"), "JUPYTER_PLATFORM_DIRS": "1"}
    env = {name: value for name, value in os.environ.items() if not name.startswith("METAINDEX_")} | own
    work = folder / "work"
    work.mkdir()
    place = {"metadata": {"path": str(work)}}
    with patch.dict(os.environ, env, clear=True), tempfile.TemporaryDirectory(prefix="ipc") as sockets:
        client = NotebookClient(notebook, timeout=300, kernel_name="python3", resources=place)
        kernel = client.create_kernel_manager()
        kernel.transport, kernel.ip = "ipc", f"{sockets}/kernel"  # no port is opened
        client.execute()
    return work


def executed(path: Path, folder: Path) -> Any:
    """The notebook with what a run in the folder shows."""
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    work = run(notebook, folder)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = [_stored(output, str(work)) for output in cell.outputs if not _is_progress(output)]
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return notebook


def shown(notebook: Any) -> list[list[str]]:
    """Cell by cell its source and what it shows, without what no run gives twice."""
    return [[cell.source, *map(_masked, _texts(cell.get("outputs", ())))] for cell in notebook.cells]


def _texts(outputs: Any) -> Iterator[str]:
    for output in outputs:
        if output.output_type == "stream":
            yield f"{output.name}: {output.text}"
        else:
            yield from (f"{kind}: {text}" for kind, text in sorted(output.data.items()))


def _masked(text: str) -> str:
    for varying, word in _VARYING:
        text = varying.sub(word, text)
    # Delta names its files by chance, and so are they sorted.
    if "NAME" in text:
        rows = iter(sorted(_ROW.findall(text)))
        text = _ROW.sub(lambda _: next(rows), text)
    return text


def _is_progress(output: Any) -> bool:
    """A bar is there where the machine was slow."""
    return "metaindex-progress" in output.get("data", {}).get("text/html", "")


def _stored(output: Any, work: str) -> Any:
    if output.output_type == "stream":
        output.text = output.text.replace(work, SHOWN_FOLDER)
        return output
    if "text/html" in output.data:
        output.data.pop("text/plain", None)
    for kind, text in output.data.items():
        output.data[kind] = text.replace(work, SHOWN_FOLDER)
    return output


def main(names: list[str]) -> int:
    import nbformat

    for path in NOTEBOOKS:
        if not names or path.stem in names:
            with tempfile.TemporaryDirectory() as folder:
                nbformat.write(executed(path, Path(folder)), path)
            sys.stdout.write(f"notebooks: {path.relative_to(ROOT)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
