"""The same table where the package is not installed: `without.py FORMAT FOLDER`."""

import sys
from contextlib import suppress
from pathlib import Path

from metaindex import MetaIndexError
from tests.index.contract.verbs_lake import Lake, rows

USERS = ["user-1", "user-33", "user-77", "nobody"]


def says_the_cure(text: str) -> None:
    assert "hash_set" in text, text
    assert "install the package" in text, text


def refused(lake: Lake, verb: str) -> str:
    try:
        done = getattr(lake.open(), verb)("sets", builder="local")
    except MetaIndexError as error:
        return str(error)
    raise AssertionError(f"{verb} was not refused: {done}")


def main(format_: str, folder: str) -> None:
    lake = Lake(Path(folder), format_)
    parts = sorted(lake.root.rglob("*.mix"))
    table, there = lake.open(), lake.there().to_pylist()
    for user in USERS:
        got = table.scan(f"user = '{user}'").to_arrow().select(["user", "n"]).sort_by("n").to_pylist()
        assert got == [row for row in there if row["user"] == user]
    (report,) = [one for one in table.prune("user = 'user-33'").indexes if one.name == "sets"]
    says_the_cure(report.reason)
    (info,) = table.indexes()
    assert info.name == "sets"
    says_the_cure(info.problem)
    verified = table.verify_index("sets", files=None)
    assert verified.sound, verified
    assert any("hash_set" in why for why in verified.unchecked), verified
    table.clean_index("sets", retention=0)
    assert sorted(lake.root.rglob("*.mix")) == parts
    lake.add([rows(300)])
    says_the_cure(refused(lake, "refresh_index"))
    for verb in ("optimize_index", "erase_index"):
        with suppress(MetaIndexError):
            getattr(lake.open(), verb)("sets", builder="local")
    assert sorted(lake.root.rglob("*.mix")) == parts
    done = lake.open().repair_index("sets", builder="local")
    assert not done.changed, done
    assert "hash_set" in str(done), done
    assert sorted(lake.root.rglob("*.mix")) == parts
    assert lake.open().scan("user = 'user-301'").to_arrow().num_rows == 1
    sys.stdout.write("told\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
