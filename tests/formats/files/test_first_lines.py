"""What the first file, or its first lines, do not say of the columns of CSV and JSON: empty parts, comments, blank
lines, an unended line. No row and no column is lost in silence."""

import gzip
import json
from pathlib import Path

import pytest

import metaindex as mi
from metaindex.core import CorruptTableError, MetaIndexError, UnsupportedFeatureError
from tests.tables import settle

ROWS = [{"a": 1, "b": 2}, {"a": 3, "b": 4}]
CSV = b"a,b\n1,2\n3,4\n"
JSON = b'{"a": 1, "b": 2}\n{"a": 3, "b": 4}\n'


def lake(root: Path, files: dict[str, bytes]) -> str:
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    settle(root)
    return str(root)


EMPTY = {"nothing": b"", "an end": b"\n", "blanks": b"   \n\t\n", "a mark": b"\xef\xbb\xbf"}


@pytest.mark.parametrize("first", EMPTY.values(), ids=EMPTY)
@pytest.mark.parametrize(("kind", "rest"), [("csv", CSV), ("json", JSON)])
@pytest.mark.parametrize("later", [False, True], ids=["first", "newest"])
def test_a_file_without_a_line_says_nothing_of_columns(
    tmp_path: Path, kind: str, first: bytes, rest: bytes, later: bool
) -> None:
    """Also where it is the first and the newest one, of three."""
    names = ["b", "c"] if later else ["c", "b"]
    files = {f"{name}.{kind}.gz": rest if name == "b" else first for name in names}
    root = lake(tmp_path / "t", files)
    table = mi.open_table(root)
    assert table.scan().to_arrow().to_pylist() == ROWS
    table.create_index("i", mi.ColumnStats())
    (tmp_path / "t" / f"a.{kind}.gz").write_bytes(gzip.compress(first))
    again = mi.open_table(root)
    assert again.scan().to_arrow().to_pylist() == ROWS
    assert again.scan("a = 3").to_arrow().to_pylist() == ROWS[1:]


def test_files_that_all_have_no_line(tmp_path: Path) -> None:
    table = mi.open_table(lake(tmp_path / "t", {"a.csv.gz": b"", "b.csv.gz": b"\n"}))
    assert table.scan().to_arrow().num_rows == 0
    with pytest.raises(MetaIndexError, match="the table has none"):
        table.count()


@pytest.mark.parametrize("whole", [False, True])
def test_a_line_of_megabytes_behind_a_file_without_one_is_read_to_its_end(tmp_path: Path, whole: bool) -> None:
    rows = [{"a": 1, "s": "x" * (2 << 20)}]
    empty = b"[]" if whole else b""
    text = json.dumps(rows if whole else rows[0]).encode()
    root = lake(tmp_path / "t", {"a.json": empty, "b.json": text, "c.json": empty})
    assert mi.open_table(root, multiLine=whole).scan().to_arrow().to_pylist() == rows


def test_megabytes_of_blanks_are_a_doubt(tmp_path: Path) -> None:
    """Behind them there may be a line; and whoever writes them makes nobody read gigabytes."""
    root = lake(tmp_path / "t", {f"{name}.csv.gz": b" " * (5 << 20) for name in "abcd"} | {"e.csv.gz": CSV})
    with pytest.raises(CorruptTableError, match=r"2 of 5 files.*name the columns with schema="):
        mi.open_table(root).scan()


BEGINNINGS = [
    (b"# said\n#again\n" + CSV, {"header": True, "comment": "#"}),
    (b"# said\n#again\na,b\n1,2\n#9,9\n3,4\n", {"header": True, "comment": "#"}),
    (b"#said\n" + CSV, {"header": True, "comment": "#", "multiLine": True}),
    (b"   \n\n" + CSV, {"header": True}),
    (b"\t\n" + CSV.replace(b",", b"\t"), {"header": True, "sep": "\t"}),
    (CSV.removesuffix(b"\n"), {"header": True}),
]


@pytest.mark.parametrize(("text", "options"), BEGINNINGS)
def test_lines_that_are_passed_over_are_no_names(tmp_path: Path, text: bytes, options: dict[str, object]) -> None:
    table = mi.open_table(lake(tmp_path / "t", {"a.csv": text}), **options)
    assert table.scan().to_arrow().to_pylist() == ROWS


def test_a_comment_before_rows_without_a_header(tmp_path: Path) -> None:
    root = lake(tmp_path / "t", {"a.csv": b"#x\n1,2\n3,4\n"})
    rows = mi.open_table(root, header=False, comment="#").scan().to_arrow().to_pylist()
    assert rows == [{"_c0": 1, "_c1": 2}, {"_c0": 3, "_c1": 4}]


def test_names_alone_without_an_end(tmp_path: Path) -> None:
    table = mi.open_table(lake(tmp_path / "t", {"a.csv": b"a,b", "b.csv": CSV}), header=True)
    assert table.scan().to_arrow().num_rows == 2


@pytest.mark.parametrize("more", [{}, {"schema": "a INT, b INT"}], ids=["inferred", "said"])
def test_a_later_file_without_a_header_asks_for_the_choice(tmp_path: Path, more: dict[str, str]) -> None:
    root = lake(tmp_path / "t", {"a.csv": b"a,b\n1,2\n", "b.csv": b"3,4\n5,6\n"})
    with pytest.raises(UnsupportedFeatureError, match=r"'b\.csv' looks like data .*header=False.*header=True"):
        mi.open_table(root, **more).scan()


def test_a_partition_amid_the_columns_of_csv_is_refused(tmp_path: Path) -> None:
    """Behind them it is one; and all of the files can be read without the folders."""
    for day in (1, 2):
        lake(tmp_path / "t", {f"day={day}/x.csv": b"day,amount,id\n%d,%d00,0\n" % (day, day)})
        lake(tmp_path / "last", {f"day={day}/x.csv": b"amount,id,day\n%d00,0,%d\n" % (day, day)})
    with pytest.raises(UnsupportedFeatureError, match=r"'day' is a partition.*recursiveFileLookup=True"):
        mi.open_table(tmp_path / "t", header=True).scan()
    rows = [{"day": day, "amount": day * 100, "id": 0} for day in (1, 2)]
    assert mi.open_table(tmp_path / "t", header=True, recursiveFileLookup=True).scan().to_arrow().to_pylist() == rows
    assert (
        mi.open_table(tmp_path / "last", header=True).scan(columns=["day", "amount", "id"]).to_arrow().to_pylist()
        == rows
    )


def test_objects_that_go_over_lines_are_no_json_lines(tmp_path: Path) -> None:
    root = lake(tmp_path / "t", {"a.json": b'{\n "a": 1\n}\n{\n "a": 2\n}\n'})
    with pytest.raises(CorruptTableError, match="multiLine=True"):
        mi.open_table(root).scan()


def test_gzip_by_another_name_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(gzip.compress(CSV * 50))
    with pytest.raises(CorruptTableError, match=r"ends in \.gz"):
        mi.open_table(tmp_path).scan()


def test_columns_that_are_nested_too_deep_are_told(tmp_path: Path) -> None:
    root = lake(tmp_path / "t", {"a.json": b'{"a":' * 130 + b"1" + b"}" * 130 + b"\n"})
    with pytest.raises(UnsupportedFeatureError, match="120 levels"):
        mi.open_table(root).create_index("i", mi.ColumnStats(), builder="local")
