"""The guides: the Python of a page runs from top to bottom, in an empty folder."""

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tests.processes import python
from tests.s3.conftest import bucket, bucket_folder, s3, s3_server  # noqa: F401 - fixtures

ROOT = Path(__file__).parents[2]
GUIDES = ROOT / "docs" / "guides"
_BLOCK = re.compile(r"^(<!-- (\w+) -->\n)?```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def snippets(page: Path, needs: str) -> str:
    """The Python of a page, all of which needs the same."""
    found = _BLOCK.findall(page.read_text())
    assert {mark for _, mark, _ in found} <= {needs}, f"{page.name} mixes what its snippets need"
    return "\n".join(code for _, _, code in found)


def needed(page: Path) -> str | None:
    """What its snippets need ("": nothing); None where it has none."""
    return next((mark for _, mark, _ in _BLOCK.findall(page.read_text())), None)


PAGES = sorted(GUIDES.glob("*.md"))


def test_each_guide_that_can_run_is_run() -> None:
    found = {page.stem: needed(page) for page in PAGES}
    assert found == {
        "agents": "",
        "answers": "",
        "clusters": None,
        "conditions": "",
        "erase": "",
        "fresh": "",
        "index": None,
        "joins": "spark",
        "lake": "",
        "layout": "",
        "needle": "",
        "platforms": None,
        "recommend": "",
        "s3": "s3",
        "savings": "",
        "serve": "served",
        "serve-catalog": None,
        "sql": "",
        "text": "",
    }


RUN = [
    "agents",
    "answers",
    "conditions",
    "erase",
    "fresh",
    "lake",
    "layout",
    "needle",
    "recommend",
    "savings",
    "sql",
    "text",
]


@pytest.mark.parametrize("name", RUN)
@pytest.mark.slow
def test_a_guide_runs(name: str, tmp_path: Path) -> None:
    _run(snippets(GUIDES / f"{name}.md", ""), tmp_path)


@pytest.mark.slow
def test_the_guide_to_serving_runs(tmp_path: Path) -> None:
    """Its first snippet makes a lake; the others ask a server of it, at a port that is free."""
    first, *others = [code for _, _, code in _BLOCK.findall((GUIDES / "serve.md").read_text())]
    _run(first, tmp_path)
    words = [sys.executable, "-m", "metaindex", "serve", "lake", "--port", "0", "--json"]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as server:
        try:
            lines = iter(server.stdout.readline, "")
            said = "".join(next(lines) for _ in range(3))
            asked = "\n".join(others).replace("http://127.0.0.1:8181", json.loads(said)["uri"])
            _run(f"import os; os.environ['POLARS_ICEBERG_PLANNER'] = 'pyiceberg'\n{asked}", tmp_path)
        finally:
            server.terminate()


@pytest.mark.slow
def test_the_five_minutes_run(tmp_path: Path) -> None:
    _run(snippets(ROOT / "docs" / "five-minutes.md", ""), tmp_path)


def _run(code: str, tmp_path: Path) -> None:
    python("-c", code, cwd=tmp_path)


def test_the_guide_to_joins_runs(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import metaindex as mi

    code = snippets(GUIDES / "joins.md", "spark")
    for name in ("orders", "lines"):  # a session knows no folder of the test
        code = code.replace(f'("{name}"', f'("{tmp_path}/{name}"')
    said = io.StringIO()
    monkeypatch.setattr(sys, "stdout", said)
    before = spark.conf.get("spark.sql.autoBroadcastJoinThreshold")
    try:
        exec(code, {"spark": spark, "here": str(tmp_path)})
    finally:
        spark.conf.set("spark.sql.autoBroadcastJoinThreshold", before)
        mi.disable(spark)
    assert said.getvalue().count("by_order: used") == 2, said.getvalue()


def test_the_guide_to_s3_runs(bucket: str, bucket_folder: Path) -> None:  # noqa: F811 - fixtures
    (bucket_folder / "events").mkdir()
    for part in range(3):
        pq.write_table(
            pa.table({"id": range(part * 100, part * 100 + 100)}), bucket_folder / "events" / f"{part}.parquet"
        )
    exec(snippets(GUIDES / "s3.md", "s3"), {"place": f"s3://{bucket}/events"})
