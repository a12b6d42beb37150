"""The written list of mutants fits the sources: each line stands once, what takes its place is Python, and its tests
exist."""

from collections import Counter
from pathlib import Path

import pytest

from .written import MUTANTS, Mutant

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_fits_its_source(mutant: Mutant) -> None:
    text = (ROOT / mutant.file).read_text()
    assert text.count(mutant.before) == 1, f"{mutant.before!r} stands {text.count(mutant.before)} times"
    assert mutant.before != mutant.after
    compile(text.replace(mutant.before, mutant.after), mutant.file, "exec")
    assert mutant.tests
    for test in mutant.tests:
        place, _, function = test.partition("::")
        assert (ROOT / place).exists(), test
        assert not function or f"def {function.partition('[')[0]}(" in (ROOT / place).read_text(), test


def test_names_are_told_apart() -> None:
    assert Counter(mutant.name for mutant in MUTANTS).most_common(1)[0][1] == 1
