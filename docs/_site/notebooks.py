"""The notebooks of docs/notebooks as pages, with the output that is stored in them: nothing is run here. Called by mkdocs
(`make docs`); a test says that what is stored is what a run gives (`python -m tests.notebooks`)."""

from __future__ import annotations

import json
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

FOLDER = Path(__file__).parents[1] / "notebooks"
HEAD = """---
hide: [toc]
---

<style>
.notebook-output { border-left: 3px solid rgba(128, 128, 128, .35); padding-left: 1em; margin: 1em 0; overflow-x: auto }
.notebook-output pre { white-space: pre-wrap; font-size: .68rem; line-height: 1.5; margin: .5em 0 }
.notebook-output table th, .notebook-output table td { padding: .3em .9em !important; min-width: 0 !important }
.notebook-output caption { text-align: left; padding: .3em .9em }
</style>"""
"""What a cell shows has the colours of the page, whichever these are, and all of the width."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds a page for each; the notebook itself can be fetched beside it."""
    for path in sorted(FOLDER.glob("*.ipynb")):
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=page(path)))
    return files


def page(path: Path) -> str:
    """The notebook as Markdown."""
    cells = json.loads(path.read_text())["cells"]
    title, *parts = [part for cell in cells for part in _cell(cell)]
    fetched = f"[This page is a notebook: {path.name}]({path.name})"
    return "\n\n".join([HEAD, *title.split("\n\n", 1)[:1], fetched, *title.split("\n\n", 1)[1:], *parts]) + "\n"


def _cell(cell: dict) -> list[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return [re.sub(r"\]\(([\w-]+)\.ipynb\)", r"](\1.md)", source)]
    return [_fenced(source, "python"), *map(_output, cell["outputs"])]


def _output(output: dict) -> str:
    data = output.get("data", {})
    if "text/html" in data:
        return f'<div class="notebook-output">{"".join(data["text/html"])}</div>'
    return _fenced("".join(data.get("text/plain", output.get("text", ""))), "text")


def _fenced(text: str, language: str) -> str:
    longest = max((len(ticks) for ticks in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"
