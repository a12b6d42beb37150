"""The notebooks run from top to bottom, and what is stored in them is what a run gives."""

from pathlib import Path

import nbformat
import pytest

from tests.notebooks import FOLDER, NOTEBOOKS, _masked, executed, shown


def test_each_is_stored_with_what_it_shows() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["first-look", "joins-and-what-if", "needle-and-erase"]
    for path in NOTEBOOKS:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        assert notebook.cells[0].source.startswith("# ")
        code = [cell for cell in notebook.cells if cell.cell_type == "code"]
        assert sum(bool(cell.outputs) for cell in code) > len(code) // 2
        assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1)), path.stem


@pytest.mark.exhaustive(but="needle-and-erase")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.slow
def test_what_is_stored_is_what_a_run_gives(path: Path, tmp_path: Path) -> None:
    stored = nbformat.read(FOLDER / path.name, as_version=4)
    now = executed(path, tmp_path)
    assert shown(now) == shown(stored), f"python -m tests.notebooks {path.stem} stores what it shows now"
    assert not [o for cell in now.cells for o in cell.get("outputs", ()) if o.output_type in ("stream", "error")]


def test_numbers_that_matter_are_compared() -> None:
    assert _masked("read 5 of 365 files, 1.2 KB, in 3.1 ms") == "read 5 of 365 files, SIZE, in TIME"
    assert _masked("read 6 of 365 files, 1.3 KB, in 9 ms") != _masked("read 5 of 365 files, 1.2 KB, in 3 ms")
