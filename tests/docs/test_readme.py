"""The README is finished by a stranger: its Python runs as it stands, its links lead somewhere, and it is short."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import python

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])


def blocks(language: str) -> list[str]:
    """The fenced blocks of a language ("": of none)."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    return [text for named, text in found if named == language]


@pytest.mark.slow
def test_the_first_example_prints_what_the_readme_says_however_often_it_runs(tmp_path: Path) -> None:
    run = [sys.executable, "-c", blocks("python")[0]]
    ran = [subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=True).stdout for _ in range(2)]
    said = next(block for block in blocks("") if "dropped 99 files" in block)

    def facts(text: str) -> list[str]:
        """Without what differs from run to run and from folder to folder."""
        same = re.sub(r"version \w+|planned in .*|reads, [\d.]+ KB|, [\d.]+ ms|/\S*(?=/lake/events)|-{9,}", "", text)
        return [" ".join(line.split()) for line in same.splitlines() if line.strip()]

    assert facts(ran[0]) == facts(said)
    assert facts(ran[1]) == facts(said), "a second run"


@pytest.mark.slow
def test_the_command_lines_run(tmp_path: Path) -> None:
    """In order: behind the Python, which may be run twice."""
    for _ in range(2):
        python("-c", blocks("python")[0], cwd=tmp_path)
    metaindex = ".venv/bin/metaindex "
    commands = [line for block in blocks("") for line in block.splitlines() if line.startswith(metaindex)]
    assert len(commands) == 3
    for command in commands:
        words = re.findall(r'"([^"]*)"|(\S+)', command.removeprefix(metaindex))
        assert python("-m", "metaindex", *(quoted or plain for quoted, plain in words), cwd=tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_paths_of_the_project_are_there(page: Path) -> None:
    if "decisions" not in page.parts:  # which tell of what was
        named = re.findall(r"`((?:metaindex|tests|docs|requirements|benchmarks|kit)/[\w./-]+)`", page.read_text())
        assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_readme_is_short() -> None:
    assert 110 <= len(README.splitlines()) <= 130


def test_every_decision_is_in_the_index_by_its_title() -> None:
    folder = ROOT / "docs" / "decisions"
    index = (folder / "README.md").read_text()
    pages = sorted(folder.glob("[0-9]*.md"))
    assert pages
    for page in pages:
        number, title = re.fullmatch(r"# (\d+)\. (.+)", page.read_text().splitlines()[0], re.ASCII).groups()
        assert int(number) == int(page.name[:4])
        assert f"| {number} | [{title}]({page.name}) |" in index
