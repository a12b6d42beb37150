"""Stored objects of any content: every query answers, in time, and right where a digest covers what was changed
(`tests.query.pruning.fuzz`)."""

import json
import os
import select
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from tests.examples import few
from tests.figures import count

PARTS, MUTATIONS = (20, 5_000) if os.environ.get("METAINDEX_SOAK") else (1, few(60, 400))
SECONDS = 600.0
"""Without a sign from the child for so long, it hangs: an answer takes some tens of milliseconds."""
_WRONG = 10


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.slow
def test_queries_answer_whatever_lies_among_the_objects_of_an_index(part: int, tmp_path: Path) -> None:
    seed = int(os.environ.get("METAINDEX_SEED", "0")) + part
    wrong: list[str] = []
    first = 0
    while first < MUTATIONS and len(wrong) < _WRONG:
        first = _run(tmp_path, seed, first, wrong)
    assert not wrong, f"seed {seed}:\n" + "\n\n".join(wrong)


def _run(folder: Path, seed: int, first: int, wrong: list[str]) -> int:
    """A child from a mutation on, until it is through, or found some wrong, or dies, or hangs; the next mutation to
    try."""
    words = [sys.executable, "-m", "tests.query.pruning.fuzz", str(folder), str(seed), str(first), str(MUTATIONS)]
    with (folder / "errors").open("w+b") as errors:
        child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors, cwd=Path(__file__).parents[3])
        assert child.stdout is not None
        begun, ended = first - 1, first - 1
        try:
            while len(wrong) < _WRONG and (line := _line(child.stdout)):
                said = json.loads(line)
                if "begun" in said:
                    begun = said["begun"]
                    continue
                ended = said["ended"]
                count("mutations")
                count("mutations whose seals were made right", said["resealed"])
                if said["wrong"]:
                    wrong.append(_plain(f"{ended}: {said['what']}\n{said['wrong']}"))
            if begun > ended:
                died = child.poll()
                how = "no answer" if died is None else f"the process ended with {died}"
                errors.seek(0)
                wrong.append(f"mutation {begun}: {how}\n{errors.read()[-3000:].decode(errors='replace')}")
            elif begun < first:
                errors.seek(0)
                wrong.append(errors.read()[-3000:].decode(errors="replace"))
                return MUTATIONS
        finally:
            child.kill()
            child.wait()
            child.stdout.close()
    return begun + 1


def _line(out: IO[bytes]) -> bytes:
    """The next line; none at the end, or where none comes in time."""
    ready, _, _ = select.select([out], [], [], SECONDS)
    return out.readline() if ready else b""


def _plain(text: str) -> str:
    """Halves of characters, which a fuzzer writes, cannot be sent from a worker."""
    return text.encode(errors="backslashreplace").decode()
