"""Lines of the Java sources are as short as those of Python, which the linter sees to."""

from pathlib import Path

METAINDEX = Path(__file__).parents[2] / "metaindex"


def test_no_line_of_java_is_longer_than_120_columns() -> None:
    sources = sorted(METAINDEX.rglob("*.java"))
    assert sources
    lines = ((path.name, n, line) for path in sources for n, line in enumerate(path.read_text().splitlines(), 1))
    assert [f"{name}:{number}" for name, number, line in lines if len(line) > 120] == []
