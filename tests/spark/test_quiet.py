"""Where the JVM's own words go: a file of ours in the temporary folder, which is everybody's."""

import os
from pathlib import Path

import pytest

from metaindex.spark.session import _private_log, _streams_to
from tests.processes import python


def test_the_log_is_a_new_file_of_ours_whose_name_nobody_knows_before() -> None:
    first, second = _private_log(), _private_log()
    try:
        assert first != second
        assert first.stat().st_mode & 0o777 == 0o600
        assert str(os.getpid()) in first.name
    finally:
        first.unlink()
        second.unlink()


def test_a_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("theirs")
    (tmp_path / "log").symlink_to(tmp_path / "victim")
    with pytest.raises(OSError, match="symbolic link"), _streams_to(tmp_path / "log"):
        pass
    assert (tmp_path / "victim").read_text() == "theirs"


@pytest.mark.slow
def test_what_is_said_inside_goes_to_the_file(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from metaindex.spark.session import _streams_to\n"
        "with _streams_to(Path(sys.argv[1])): os.system('echo inside')\n"
        "print('outside')"
    )
    assert python("-c", code, str(tmp_path / "log")) == "outside\n"
    assert (tmp_path / "log").read_text() == "inside\n"
