"""Pages of the site that are made of other files: the README as its home, the changelog, CONTRIBUTING, and the command
line from its parser. Called by mkdocs (`make docs`)."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
MOVED = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
"""Files of the root that are pages, too."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages."""
    for name, page in MOVED.items():
        files.append(File.generated(config, page, content=_moved((ROOT / name).read_text())))
    files.append(File.generated(config, "reference/command-line.md", content=command_line()))
    files.append(File.generated(config, "reference/statements.md", content=statements()))
    return files


def on_page_markdown(markdown: str, page: object, **_: object) -> str:
    """Links from docs/ to files that are no pages lead nowhere in the site: their words stay."""
    depth = str(getattr(page, "file").src_uri).count("/")  # noqa: B009 - mkdocs' own page
    up = "../" * depth
    for name, target in MOVED.items():
        markdown = markdown.replace(f"](../{up}{name})", f"]({up}{target})")
    markdown = markdown.replace("sql/)", "sql/duckdb.sql)")
    markdown = re.sub(rf"\[([^\]]+)\]\({up}decisions/[^)]*\)", r"\1", markdown)  # these are no pages
    return re.sub(rf"\[([^\]]+)\]\({re.escape('../' + up)}[^)]*\)", r"\1", markdown)


def on_post_page(output: str, page: object, **_: object) -> str:
    """The offline plugin names a script of another host, which search in files needs: it is one of the site's own."""
    depth = str(getattr(page, "file").dest_uri).count("/")  # noqa: B009 - mkdocs' own page
    return output.replace("https://unpkg.com/iframe-worker/shim", "../" * depth + "assets/file-worker.js")


def _moved(text: str) -> str:
    """Links from the root of the project, as they are from docs/."""
    text = text.replace("](docs/", "](")
    for name, page in MOVED.items():
        text = text.replace(f"]({name})", f"]({page})")
    return re.sub(r"\[([^\]]+)\]\((?!https?://|#)(?:docker|tests|kit|benchmarks|metaindex|changes)/[^)]*\)", r"\1", text)


def command_line() -> str:
    """Every command's own help, by the program itself."""
    listed = _said("--help")
    commands = re.findall(r"^    (\w+)  ", listed, re.MULTILINE)
    pages = [f"# Command line\n\n```text\n{listed}\n```"]
    pages += [f"## metaindex {name}\n\n```text\n{_said(name, '--help')}\n```" for name in commands]
    return "\n\n".join(pages) + "\n"


def statements() -> str:
    """Every statement, how it is written, and its options, from the forms that read them."""
    from metaindex.statements import FORMS, VERBS

    pages = ["# Statements", "[SQL statements](../guides/sql.md) explains them, with examples."]
    for words, form in FORMS.items():
        verb = VERBS.get(words[0].lower()) or VERBS.get(words[1].lower())
        options = "\n".join(f"- `{name}`: {takes}" for name, takes in form.options.items())
        parts = (f"## {' '.join(words)}", verb and verb.line, f"```text\n{form.text}\n```", options)
        pages += [part for part in parts if part]
    return "\n\n".join(pages) + "\n"


def _said(*words: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-m", "metaindex", *words],
        cwd=ROOT,
        env={"COLUMNS": "110", "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout.rstrip()
