"""The figures that needles are to reach, beside those of this run."""

from __future__ import annotations

from collections.abc import Callable, Iterator

Figures = list[dict[str, object]]
_STRINGS = "string in 1 to 5 files"
_LOCAL, _SPARK = "oracle: right row groups, pyarrow", "oracle: right files, Spark"


def targets(found: Figures) -> Figures:
    """One row for each that this run measured."""
    ms = {(str(f["needle"]), str(f["who"])): _number(f, "wall ms") for f in found if "needle" in f}
    steps = {str(f["build"]): f for f in found if "build" in f}
    opened = [_number(f, "files kept in all") / _number(f, "look-ups") for f in found if "absent" in f]
    out = list(_look_ups(ms))
    if opened:
        out.append(
            _judged("an absent key: data files opened in vain, a look-up", sum(opened) / len(opened), 0.001, False)
        )
    return out + list(_builds(steps))


def _look_ups(ms: dict[tuple[str, str], float]) -> Iterator[dict[str, object]]:
    def ratio(
        what: str, wanted: float, over: tuple[str, str], under: tuple[str, str], least: bool
    ) -> Iterator[dict[str, object]]:
        if over in ms and under in ms:
            yield _judged(what, ms[over] / ms[under], wanted, least)

    for form, who in (("a folder", "metaindex scan"), ("Delta", "metaindex scan on Delta")):
        ours = (_STRINGS, who)
        yield from ratio(f"no JVM, {form}: times the oracle", 1.5, ours, (_STRINGS, _LOCAL), False)
        yield from ratio(f"no JVM, {form}: faster than DuckDB's scan", 30, (_STRINGS, "DuckDB scan"), ours, True)
        bloom = (_STRINGS, "DuckDB, native bloom filters")
        yield from ratio(f"no JVM, {form}: faster than DuckDB, native bloom filters", 10, bloom, ours, True)
    for form, who, scan in (
        ("a folder", "metaindex through Spark", "Spark scan"),
        ("Delta", "metaindex through Spark on Delta", "Spark scan of Delta"),
        ("Iceberg", "metaindex through Spark on Iceberg", "Spark scan of Iceberg"),
    ):
        through = (_STRINGS, who)
        yield from ratio(f"Spark, {form}: times the oracle", 1.3, through, (_STRINGS, _SPARK), False)
        yield from ratio(f"Spark, {form}: faster than its scan", 25, (_STRINGS, scan), through, True)


def _builds(steps: dict[str, dict[str, object]]) -> Iterator[dict[str, object]]:
    def figure(
        what: str, name: str, head: str, wanted: float, scale: Callable[[float], float] = lambda x: x
    ) -> Iterator[dict[str, object]]:
        if name in steps and isinstance(steps[name][head], float):
            yield _judged(what, scale(_number(steps[name], head)), wanted, False)

    strings, longs, accounts = (f"values of {of}, by hash" for of in ("strings", "unique longs", "accounts"))
    yield from figure("Spark build of strings: CPU over a scan's", f"{strings}, spark", "x scan", 3)
    by_value = {of: f"values of {of}, by value" for of in ("strings", "unique longs")}
    for name in (strings, longs, accounts, *by_value.values()):
        yield from figure(f"Spark build of {name}: CPU us an entry", f"{name}, spark", "CPU us an entry", 1.5)
    yield from figure("by hash, repeated keys: bytes an entry", f"{strings}, local", "bytes an entry", 3)
    yield from figure("by hash, unique keys: bytes an entry", f"{longs}, local", "bytes an entry", 4)
    for of, name in by_value.items():
        yield from figure(f"by value, {of}: bytes an entry", f"{name}, local", "bytes an entry", 7.2)
    yield from figure(
        "bloom filters at 1%: bits a key", "bloom filters of strings, 1%, local", "bytes an entry", 11, lambda x: x * 8
    )
    yield from figure(
        "bloom filters at 0.1%: bits a key",
        "bloom filters of strings, 0.1%, local",
        "bytes an entry",
        17.5,
        lambda x: x * 8,
    )
    yield from figure(
        "refresh of 1% new files: CPU over a rebuild's", "three keys by hash, refresh of 1% new files", "x scan", 0.03
    )
    yield from figure("100,000 keys at once: seconds", "100,000 keys looked up at once", "wall s", 0.25)
    for what in ("longs looked up at once, by hash", "unique longs looked up at once, by value"):
        yield from figure(f"100,000 {what}: seconds", f"100,000 {what}", "wall s", 0.25)


def _judged(what: str, found: float, wanted: float, least: bool) -> dict[str, object]:
    met = found >= wanted if least else found <= wanted
    return {
        "target": what,
        "wanted": f"at {'least' if least else 'most'} {wanted:g}",
        "found": round(found, 3),
        "met": "yes" if met else "no",
    }


def _number(figure: dict[str, object], head: str) -> float:
    value = figure[head]
    assert isinstance(value, int | float)
    return float(value)
