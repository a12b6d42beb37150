"""Other Sparks in continuous integration: a slow mirror is no failure, and what is not as it was pinned is one."""

import sys
import time
from pathlib import Path

import pytest

from tests.each_spark import FEATURES, SPARKS, feature_of
from tests.lanes import PROMISES
from tests.other_sparks import fetched, main


def test_the_promises_are_of_every_feature() -> None:
    parts = {feature_of(name) for name in PROMISES} - {None}
    assert parts == FEATURES.keys(), FEATURES.keys() - parts


def test_one_that_is_unknown_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["3.4"]) == main([*SPARKS]) == 2
    assert f"[{'|'.join(SPARKS)}]" in capsys.readouterr().err


def test_a_mirror_that_does_not_answer_is_given_up_with_all_that_waits_for_it(tmp_path: Path) -> None:
    code = (
        f"import subprocess, time; subprocess.Popen(['sh', '-c', 'sleep 20; touch {tmp_path}/late']); time.sleep(600)"
    )
    since = time.monotonic()
    why, mirror = fetched([sys.executable, "-c", code], 1.0)
    assert time.monotonic() - since < 15
    assert mirror
    assert why.startswith("not fetched within")
    assert not (tmp_path / "late").exists()


@pytest.mark.parametrize(
    ("said", "mirror"),
    [
        ("ERROR: No matching distribution found for pyspark==3.5.9", True),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.", False),
        ("io.delta:delta-storage:3.3.3 must have the pinned SHA-256 45ad193053fd...", False),
    ],
)
def test_why_nothing_is_fetched_is_said_in_a_line(said: str, mirror: bool) -> None:
    code = f"print('first'); print({said!r}); print('make: *** [Makefile:89: x] Error 1'); raise SystemExit(1)"
    assert fetched([sys.executable, "-c", code], 60.0) == (said, mirror)
    assert fetched([sys.executable, "-c", ""], 60.0) == (None, True)
