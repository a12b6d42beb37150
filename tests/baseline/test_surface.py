"""The public surface is the one that is written down, and has all that it had at 956c3373, but for what was renamed or
removed on purpose."""

import hashlib
from pathlib import Path

import pytest

from tests.baseline import held

CURE = (
    "enter a rename in tests/baseline/renamed.txt (old -> new) and a removal in tests/baseline/removed.txt"
    " (beginning :: reason), then run `python -m tests.baseline`"
)


@pytest.fixture(scope="module")
def now(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return held.surface(tmp_path_factory.mktemp("surface"))


@pytest.fixture(scope="module")
def renamed() -> list[tuple[str, str]]:
    return held.entries(held.RENAMED, "->")


@pytest.fixture(scope="module")
def removed() -> list[tuple[str, str]]:
    return held.entries(held.REMOVED, "::")


BEGINNING = held.BEGINNING.read_text().splitlines()
WRITTEN = "adcfb1cb1035a50d9a3c7c21eb470293484e9495a4144dcf08c04fca4026b26e"


def test_the_surface_is_the_one_that_is_written_down(now: list[str]) -> None:
    written = held.SURFACE.read_text().splitlines()
    assert written == now, f"the public surface changed; {CURE}\n{held.difference(written, now)}"


def test_the_beginning_is_never_written_again() -> None:
    assert hashlib.sha256(held.BEGINNING.read_bytes()).hexdigest() == WRITTEN


def test_nothing_of_the_beginning_is_lost(
    now: list[str], renamed: list[tuple[str, str]], removed: list[tuple[str, str]]
) -> None:
    lost = held.lost(BEGINNING, now, renamed, removed)
    assert not lost, f"{len(lost)} facts of 956c3373 are gone; {CURE}\n" + "\n".join(lost)


def test_each_entry_accounts_for_something(
    now: list[str], renamed: list[tuple[str, str]], removed: list[tuple[str, str]]
) -> None:
    assert not list(held.needless(BEGINNING, now, renamed, removed)), "entries that account for nothing are taken out"


@pytest.mark.parametrize("name", ["mi.open_table()", "metaindex prune --paths", "sql CREATE INDEX", "reason NO_INDEX"])
def test_a_fact_that_vanishes_is_seen(name: str) -> None:
    fewer = [line for line in BEGINNING if line != name]
    assert held.lost(BEGINNING, fewer, [], []) == [name]
    assert held.lost(BEGINNING, fewer, [], [(name, "nobody used it")]) == []
    assert held.lost(BEGINNING, [*fewer, "new"], [(name, "new")], []) == []


def test_a_name_is_renamed_wherever_it_stands() -> None:
    before = ["class Told", "Told.rows", "Table.told() returns list[Told]", "Untold.Told"]
    after = ["class Answer", "Answer.rows", "Table.told() returns list[Answer]", "Untold.Told"]
    assert held.lost(before, after, [("Told", "Answer")], []) == []
    assert held.lost(before, after, [("Told", "Reply")], []) == before[:3]


def test_an_entry_that_says_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "renamed.txt").write_text("# words\n\nold ->\n")
    with pytest.raises(ValueError, match="written 'one -> other'"):
        held.entries(tmp_path / "renamed.txt", "->")
    assert list(held.needless(["a"], ["a"], [("a", "b")], [("a", "why")])) == ["a -> b", "a :: why"]
