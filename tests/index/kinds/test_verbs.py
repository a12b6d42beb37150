"""Every kind of metaindex lives through every verb, over every format, built here and by Spark; and so does one that
knows nothing of `=`."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import metaindex as mi
from metaindex.index.kinds import registry
from metaindex.index.kinds.kind import Kind, WholeKind
from metaindex.index.log.entry import KindSpec
from tests.index.contract.verbs import commands, story
from tests.index.contract.verbs_lake import FORMATS, Lake
from tests.index.kinds.null_files import NullFiles, installed

LEFT_OUT = 20
KINDS: dict[str, tuple[Kind, str, int]] = {
    "column_stats": (mi.ColumnStats(), "column_stats", LEFT_OUT),
    "values": (mi.Values("user", ("user", "n")), "values", LEFT_OUT),
    "values by value": (mi.Values("user", ("user", "n"), by="value"), "value_keys", LEFT_OUT),
    "bloom_filters": (mi.Bloom("user", ("user", "n")), "bloom_filters", LEFT_OUT),
    "value_lists": (mi.ValueList("user", ("user", "n")), "value_lists", LEFT_OUT),
    "covering": (mi.Covering("user", "n", buckets=3), "covering", 0),
    "covering_range": (mi.CoveringRange("user", "n"), "covering", 0),
    "covering_curve": (mi.CoveringCurve(("user", "n")), "covering", 0),
    "sums": (mi.Sums("n"), "sums", 0),
    "sketches": (mi.Sketches("user", "n"), "sketches", 0),
}
KEYS = ("user", ("user", "n"))
KINDS |= {
    kind.name: (kind(*KEYS), kind.name, LEFT_OUT)
    for kind in registry.KINDS
    if issubclass(kind, WholeKind) and kind.name not in KINDS
}
HERE = [name for name, (kind, _, _) in KINDS.items() if not kind.needs_spark]


def test_every_kind_is_here() -> None:
    assert {kind.name for kind, _, _ in KINDS.values()} == {kind.name for kind in registry.KINDS}


@pytest.mark.exhaustive(but="column_stats-delta")
@pytest.mark.slow
@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("name", HERE)
def test_a_kind_lives_through_every_verb(name: str, format_: str, tmp_path: Path) -> None:
    kind, partition, left_out = KINDS[name]
    story(Lake(tmp_path, format_), kind, partition, "local", left_out)


@pytest.mark.spark
@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("name", KINDS)
def test_built_by_spark(name: str, format_: str, spark: SparkSession, tmp_path: Path) -> None:
    kind, partition, left_out = KINDS[name]
    story(Lake(tmp_path, format_), kind, partition, "spark", left_out)


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize("format_", FORMATS)
def test_a_kind_that_knows_nothing_of_equality(format_: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(NullFiles, tmp_path / "packages", monkeypatch)
    story(Lake(tmp_path / "lake", format_), NullFiles("user"), "null_files", "local", 2)


class Unsaid(WholeKind):
    """Neither a record, nor one that says what the log stores of it."""

    name = "unsaid"


Unsaid.__abstractmethods__ = frozenset()  # all of them are there


@dataclass(frozen=True)
class Recorded(Unsaid):
    keys: tuple[tuple[str, ...], ...] = ()
    name = "recorded"


class Said(Unsaid):
    name = "said"

    def spec(self) -> KindSpec:
        return KindSpec(self.name, self.version, {})


Recorded.__abstractmethods__ = Said.__abstractmethods__ = frozenset()


@pytest.mark.parametrize(("kind", "known"), [(Unsaid, False), (Recorded, True), (Said, True)])
def test_a_kind_says_what_the_log_stores_of_it(
    kind: type[Kind], known: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Or is a record, whose fields are stored."""
    installed(kind, tmp_path, monkeypatch)
    assert (kind.name in registry.KindRegistry([*registry.KINDS]).others()) is known
    assert ("it does not say spec" in caplog.text) is not known


@pytest.mark.exhaustive
@pytest.mark.slow
def test_the_command_line_takes_it_too(tmp_path: Path) -> None:
    lake = Lake(tmp_path, "delta")
    story(lake, mi.Values("user"), "values", "local", LEFT_OUT)
    commands(lake, "--value-list", ("user", "user,n"), "value_lists(user, n)")
