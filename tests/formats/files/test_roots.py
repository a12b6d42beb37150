"""Patterns, lists of folders and basePath: what fits, where partitions begin, and what is refused."""

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.core import MetaIndexError, NotATableError, UnsupportedFeatureError
from metaindex.formats.files.globs import escape, expand, literal, matcher
from metaindex.formats.format import At
from metaindex.formats.model import Snapshot
from metaindex.formats.registry import open_ref
from tests.storage.counting import in_memory

NAMES = [
    "g/a1/x.parquet", "g/a2/x.parquet", "g/b1/y.parquet", "g/_hid/z.parquet", "g/_hf.parquet", "g/top.parquet",
    "g/a1/sub/deep.parquet",
    "p/day=1/0.parquet", "p/day=2/0.parquet", "q/a/p=1/0.parquet", "q/b/p=2/0.parquet", "q/c/0.parquet",
    "e/[x]/0.parquet", "e/x/0.parquet",
    "r/y=1/m=1/0.parquet", "r/y=1/m=2/0.parquet", "r/y=2/m=1/0.parquet",
]  # fmt: skip


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    for name in NAMES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"n": [1]}), tmp_path / name)
    return tmp_path


def opened(lake: Path, *paths: str, **options: object) -> Snapshot:
    named = [f"{lake}/{path}" for path in paths]
    if "basePath" in options:
        options["basePath"] = f"{lake}/{options['basePath']}"
    table_format, ref = open_ref(named[0] if len(named) == 1 else named, **options)
    return table_format.snapshot(ref, At())


def names(snapshot: Snapshot, lake: Path) -> list[str]:
    return sorted(str(Path(snapshot.uri(path)).relative_to(lake)) for path in snapshot.files.paths.to_pylist())


# The paths, the options, the files (as Spark lists them, `tests/formats/files/test_spark.py`), the columns.
CASES: list[tuple[list[str], dict[str, object], list[str], list[str]]] = [
    (["g/a?"], {}, ["g/a1/x.parquet", "g/a2/x.parquet"], ["n"]),
    (["g/*"], {}, ["g/_hid/z.parquet", "g/a1/x.parquet", "g/a2/x.parquet", "g/b1/y.parquet", "g/top.parquet"], ["n"]),
    (["g/{a1,b1}"], {}, ["g/a1/x.parquet", "g/b1/y.parquet"], ["n"]),
    (["g/{a1/x,b1/y}.parquet"], {}, ["g/a1/x.parquet", "g/b1/y.parquet"], ["n"]),
    (["g/{a1,a*}/x.parquet"], {}, ["g/a1/x.parquet", "g/a2/x.parquet"], ["n"]),
    (["g/{a{1,2},b1}"], {}, ["g/a1/x.parquet", "g/a2/x.parquet", "g/b1/y.parquet"], ["n"]),
    (["g/[!a]*"], {}, ["g/_hid/z.parquet", "g/b1/y.parquet", "g/top.parquet"], ["n"]),
    (["g/[^a]1"], {}, ["g/b1/y.parquet"], ["n"]),
    (["g/[a-b]1"], {}, ["g/a1/x.parquet", "g/b1/y.parquet"], ["n"]),
    (["g/_h*"], {}, ["g/_hid/z.parquet"], ["n"]),
    (["g/*/x.parquet"], {}, ["g/a1/x.parquet", "g/a2/x.parquet"], ["n"]),
    (["g/a1", "g/b1"], {}, ["g/a1/x.parquet", "g/b1/y.parquet"], ["n"]),
    (["g/a1", "p/day=1"], {}, ["g/a1/x.parquet", "p/day=1/0.parquet"], ["n"]),
    (["g/top.parquet", "p/day=1"], {}, ["g/top.parquet", "p/day=1/0.parquet"], ["n"]),
    (["p/day=1"], {}, ["p/day=1/0.parquet"], ["n"]),
    (["p/day=1"], {"basePath": "p"}, ["p/day=1/0.parquet"], ["n", "day"]),
    (["p/day=*/*.parquet"], {}, ["p/day=1/0.parquet", "p/day=2/0.parquet"], ["n"]),
    (["p/day=*/*.parquet"], {"basePath": "p"}, ["p/day=1/0.parquet", "p/day=2/0.parquet"], ["n", "day"]),
    (["p"], {"basePath": "."}, ["p/day=1/0.parquet", "p/day=2/0.parquet"], ["n", "day"]),
    (["r/y=1"], {}, ["r/y=1/m=1/0.parquet", "r/y=1/m=2/0.parquet"], ["n", "m"]),
    (["r/y=[1]"], {}, ["r/y=1/m=1/0.parquet", "r/y=1/m=2/0.parquet"], ["n", "m"]),
    (["r/y=*"], {"basePath": "r"}, ["r/y=1/m=1/0.parquet", "r/y=1/m=2/0.parquet", "r/y=2/m=1/0.parquet"],
        ["n", "y", "m"]),
    (["r/y=1", "r/y=2/m=1"], {"basePath": "r"}, ["r/y=1/m=1/0.parquet", "r/y=1/m=2/0.parquet", "r/y=2/m=1/0.parquet"],
        ["n", "y", "m"]),
    (["r/y=1", "r/y=2"], {"recursiveFileLookup": True}, ["r/y=1/m=1/0.parquet", "r/y=1/m=2/0.parquet",
        "r/y=2/m=1/0.parquet"], ["n"]),
]  # fmt: skip

# What Spark refuses, or reads twice.
REFUSED: list[tuple[list[str], dict[str, object]]] = [
    (["q/a", "q/b"], {}),
    (["q/a", "q/c"], {}),
    (["q/*"], {}),
    (["q/a", "q/b"], {"basePath": "q"}),
    (["r/y=*"], {}),
    (["r"], {"basePath": "p"}),
    (["g/nothing*"], {}),
    (["g/a1", "g/nothing"], {}),
    (["g/{a1,b1"], {}),
    (["g/[a1"], {}),
    (["g/**"], {}),
    (["g/a1", "g/a1"], {}),
    (["g/a1", "g/a1/x.parquet"], {}),
]


@pytest.mark.parametrize(("paths", "options", "files", "columns"), CASES)
def test_what_fits(
    lake: Path, paths: list[str], options: dict[str, object], files: list[str], columns: list[str]
) -> None:
    nested = {"recursiveFileLookup": False} if "recursiveFileLookup" not in options else {}
    snapshot = opened(lake, *paths, **options, **nested)
    assert names(snapshot, lake) == files
    assert snapshot.schema.names == columns
    assert snapshot.files.paths.to_pylist() == sorted(snapshot.files.paths.to_pylist())


@pytest.mark.parametrize(("paths", "options"), REFUSED)
def test_what_is_refused(lake: Path, paths: list[str], options: dict[str, object]) -> None:
    with pytest.raises(MetaIndexError):
        opened(lake, *paths, **options)


def test_a_path_that_exists_as_it_stands_is_no_pattern(lake: Path) -> None:
    assert names(opened(lake, "e/[x]"), lake) == ["e/[x]/0.parquet"]
    assert names(opened(lake, "e/\\[x\\]"), lake) == ["e/[x]/0.parquet"]
    assert names(opened(lake, "e/[x]", "g/b1"), lake) == ["e/[x]/0.parquet", "g/b1/y.parquet"]


def test_a_list_of_one_is_that_one(lake: Path) -> None:
    table_format, ref = open_ref([f"{lake}/g/a1"])
    assert ref.patterns == ()
    assert table_format.snapshot(ref, At()).files.paths.to_pylist() == ["sub/deep.parquet", "x.parquet"]


def test_the_order_of_a_list_makes_no_other_table(lake: Path) -> None:
    one, other = opened(lake, "g/a1", "g/b1"), opened(lake, "g/b1", "g/a1")
    assert one.version == other.version
    assert one.table == other.table == f"{lake}/g"


def test_a_new_folder_that_fits_is_another_version(lake: Path) -> None:
    before = opened(lake, "g/a?")
    (lake / "g" / "a3").mkdir()
    pq.write_table(pa.table({"n": [2]}), lake / "g" / "a3" / "w.parquet")
    after = opened(lake, "g/a?")
    assert before.version != after.version
    assert len(after.files) == len(before.files) + 1


def test_other_formats_take_one_folder(lake: Path) -> None:
    with pytest.raises(UnsupportedFeatureError, match="plain files"):
        open_ref([f"{lake}/g/a1", f"{lake}/g/b1"], format="delta")
    with pytest.raises(NotATableError, match="empty"):
        open_ref([])


def test_path_glob_filter_reads_hadoops_patterns(lake: Path) -> None:
    assert names(opened(lake, "g", pathGlobFilter="{x,y}.parquet"), lake) == [
        "g/a1/x.parquet",
        "g/a2/x.parquet",
        "g/b1/y.parquet",
    ]


def test_objects_of_a_store_fit_as_files_do() -> None:
    from metaindex.formats.files.walk import list_files

    storage = in_memory("s3://lake", "data")
    for name in ("2024-01/a.csv", "2024-01/_b.csv", "2024-02/p=1/c.csv", "2023-01/d.csv", "2024-03.csv"):
        storage.put(name, b"a\n1\n")
    listing = list_files(storage, patterns=("2024-*",))
    assert listing.paths == ["2024-01/a.csv", "2024-02/p=1/c.csv", "2024-03.csv"]
    assert [folder[start:] for folder, start in zip(listing.folders, listing.starts, strict=True)] == ["", "p=1/", ""]
    assert list_files(storage, patterns=("2024-0[12]/*.csv",)).paths == ["2024-01/a.csv"]


texts = st.text(st.sampled_from("ab1[]{}*?\\^!,-.é\n"), min_size=1, max_size=8)


@given(texts)
def test_an_escaped_text_fits_itself_alone(text: str) -> None:
    assert literal(escape(text)) == text
    assert matcher(escape(text)).fullmatch(text)
    assert expand(escape(text)) == [escape(text)]


@given(texts, texts)
def test_a_pattern_is_read_or_refused(pattern: str, text: str) -> None:
    try:
        found = matcher(pattern)
    except UnsupportedFeatureError:
        return
    assert isinstance(found, re.Pattern)
    found.fullmatch(text)
    if literal(pattern) is not None:
        assert bool(found.fullmatch(text)) == (text == literal(pattern))
