"""Clocks that are wrong by hours, and readers that hold on to what is cleaned away, with the index on a real S3
server."""

from pathlib import Path

import pytest

from tests.index.actions.mishaps import WRONG_HOURS, a_life_under_wrong_clocks, a_reader_holds_what_is_cleaned_away

from .server import S3Server

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("ahead", "behind"), WRONG_HOURS[:1])
def test_clocks_that_are_wrong_by_hours_decide_nothing(
    s3: S3Server, bucket: str, tmp_path: Path, ahead: float, behind: float
) -> None:
    a_life_under_wrong_clocks(tmp_path, f"s3://{bucket}/indexes", ahead, behind)


def test_a_reader_that_holds_an_entry_reads_right_while_everything_is_optimized_and_cleaned(
    s3: S3Server, bucket: str, tmp_path: Path
) -> None:
    a_reader_holds_what_is_cleaned_away(tmp_path, f"s3://{bucket}/indexes")
