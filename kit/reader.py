"""A reader of indexes, written from docs/storage.md and docs/reading.md alone: it imports nothing of metaindex, and no
more than pyarrow and xxhash of others.

It is slow and small on purpose. `keep` says which live files a question keeps; whatever is damaged, newer or not
understood proves nothing.
"""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import io
import json
import math
import re
import struct
from collections.abc import Callable, Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import xxhash

FORMAT = 3
SALTS = (0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31)
BITS = {"by", "hash_bits", "unit_bits", "group_bits", "groups", "key"}
LAYOUT = {"values": BITS, "value_keys": BITS, "value_lists": BITS, "bloom_filters": {"classes"}}
Groups = set[int] | None  # row groups that may hold a match; None: all


class Unknown(Exception):
    """Not understood, or not as it should be: nothing is concluded from it."""


DAMAGE = (Unknown, OSError, pa.ArrowException, ValueError, KeyError, TypeError, IndexError)


# What lies there ---------------------------------------------------------------------------------------------------


def latest(index: Path) -> dict[str, Any] | None:
    """The entry with the highest number, where it may be used."""
    log = index / "_log"
    stones = [int(p.stem[10:]) for p in log.glob("tombstone-*.json")]
    numbers = [int(p.stem) for p in log.iterdir() if re.fullmatch(r"\d{20}\.json", p.name)]
    numbers = [n for n in numbers if n >= max(stones, default=1)]
    if not numbers:
        return None
    first, second, rest = (log / f"{max(numbers):020d}.json").read_bytes().split(b"\n")
    if rest or hashlib.sha256(first).hexdigest() != json.loads(second)["sha256"]:
        return None
    entry: dict[str, Any] = json.loads(first)
    usable = entry["format_version"] == FORMAT and entry["stable_state"] == "ACTIVE" and entry["enabled"]
    return entry if usable else None


class Run:
    """The rows of one run."""

    def __init__(self, index: Path, said: dict[str, Any], column_sets: list[list[dict[str, Any]]]) -> None:
        self.index, self.said = index, said
        self.columns = {c["stable"]: c for c in column_sets[said["columns"]]}
        self.keys = [key for key in said.get("keys", []) if key["layout"].keys() <= LAYOUT.get(key["kind"], set())]
        if said.get("reader_needs"):
            raise Unknown("needs of the run")
        data = (index / "_manifests" / f"{said['run']}.json").read_bytes()
        if len(data) != said["manifest_bytes"] or hashlib.sha256(data).hexdigest() != said["manifest_digest"]:
            raise Unknown("manifest")
        manifest = json.loads(data)
        if manifest["layout"] != {"version": 1} or manifest["reader_needs"]:
            raise Unknown("layout of the run")
        self.parts = manifest["parts"]
        self.files = self.rows("files")
        self._held: dict[object, list[dict[str, Any]]] = {}

    def file(self, part: dict[str, Any]) -> pq.ParquetFile:
        data = (self.index / part["path"]).read_bytes()
        footer = data[len(data) - part["footer_bytes"] :]
        if len(data) != part["size_bytes"] or hashlib.sha256(footer).hexdigest() != part["footer_digest"]:
            raise Unknown("part")
        return pq.ParquetFile(io.BytesIO(data), page_checksum_verification=True)

    def rows(self, kind: str, folder: str = "") -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for part in self.parts:
            if part["kind"] == kind and (not folder or part["path"].startswith(f"{folder}/")):
                found += self.file(part).read().to_pylist()
        return found

    def of(self, kind: str, column: str, number: int, folder: str = "") -> list[dict[str, Any]]:
        """Rows of one column id or key id."""
        held = (kind, folder, number)
        if held not in self._held:
            self._held[held] = [row for row in self.rows(kind, folder) if row[column] == number]
        return self._held[held]


# Types and values --------------------------------------------------------------------------------------------------


def family(t: str) -> str:
    if t in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"):
        return "int"
    if t == "uint64":
        return "uint64"
    if t in ("halffloat", "float", "double"):
        return "double"
    if t.startswith("date"):
        return "date"
    if t.startswith(("timestamp", "time")):
        return "instant"
    if t.startswith("decimal"):
        return "decimal" if digits(t)[0] <= 18 else "wide"
    if t in ("string", "large_string", "string_view", "binary", "large_binary", "binary_view") or t.startswith("fixed"):
        return "bytes"
    raise Unknown(t)


def digits(t: str) -> tuple[int, int]:
    precision, scale = re.findall(r"\((\d+), (-?\d+)\)", t)[0]
    return int(precision), int(scale)


def domain(t: str) -> str:
    return {"double": "double", "bytes": "bytes", "wide": "bytes", "uint64": "bytes"}.get(family(t), "int")


def wide(number: int) -> bytes:
    return (number + 2**127).to_bytes(16, "big")


def micros(value: dt.datetime | dt.date | dt.time) -> int:
    if isinstance(value, dt.time):
        value = dt.datetime.combine(dt.date(1970, 1, 1), value)
    if not isinstance(value, dt.datetime):
        value = dt.datetime.combine(value, dt.time())
    start = dt.datetime(1970, 1, 1, tzinfo=value.tzinfo and dt.UTC)
    return (value - start) // dt.timedelta(microseconds=1)


def whole(value: Any) -> int:
    """A literal that has no exact place among the column's values is not asked here."""
    if value != int(value):
        raise Unknown("between two values")
    return int(value)


def unscaled(value: Any, t: str) -> int:
    return whole(Decimal(value).scaleb(digits(t)[1]))


def placed(value: Any, t: str) -> Any:
    """A literal in the domain of a type."""
    match family(t):
        case "int":
            return whole(value)
        case "uint64":
            return wide(whole(value))
        case "double":
            return float(value)
        case "date":
            return whole(Decimal(micros(value)) / 86_400_000_000)
        case "instant":
            return micros(value)
        case "decimal":
            return unscaled(value, t)
        case "wide":
            return wide(unscaled(value, t))
        case _:
            return value.encode() if isinstance(value, str) else value


def typed(said: list[str]) -> Any:
    """A literal of the kit: its kind and its text."""
    kind, text = said
    make: dict[str, Callable[[str], Any]] = {
        "null": lambda _: None,
        "bool": lambda s: s == "true",
        "int": int,
        "float": float,
        "decimal": Decimal,
        "text": str,
        "bytes": bytes.fromhex,
        "date": dt.date.fromisoformat,
        "time": dt.time.fromisoformat,
        "timestamp": dt.datetime.fromisoformat,
    }
    return make[kind](text)


# Statistics --------------------------------------------------------------------------------------------------------


def room(t: str) -> int:
    return {"int8": 8, "int16": 16, "int32": 32, "int64": 64, "uint8": 9, "uint16": 17, "uint32": 33}[t]


def carried(bound: Any, old: str, new: str, *, upper: bool = False) -> Any:
    """A bound that was written under one type, under another. Unknown where it may not answer."""
    if old == new or bound is None:
        return bound
    before, after = family(old), family(new)
    if before == after == "int" and "bool" not in (old, new) and not new.startswith("u") and room(old) <= room(new):
        return bound
    if before == "int" and old != "bool" and new == "double":
        return float(bound) if abs(bound) <= 2**53 else math.nextafter(float(bound), math.inf if upper else -math.inf)
    if before in ("int", "decimal", "wide") and after in ("decimal", "wide"):
        if before == "int":
            precision, scale = {8: 3, 9: 3, 16: 5, 17: 5, 32: 10, 33: 10, 64: 19}[room(old)], 0
        else:
            precision, scale = digits(old)
        whole, behind = digits(new)[0] - digits(new)[1], digits(new)[1]
        if behind >= scale and whole >= precision - scale:
            number = int.from_bytes(bound, "big") - 2**127 if isinstance(bound, bytes) else bound
            number *= 10 ** (behind - scale)
            return wide(number) if after == "wide" else number
    if before == after == "double" and ("halffloat", "float", "double").index(old) <= (
        "halffloat",
        "float",
        "double",
    ).index(new):
        return bound
    if before == "date" and new.startswith("timestamp") and "tz=" not in new:
        return bound * 86_400_000_000
    if before == after == "bytes":
        return bound
    raise Unknown(f"{old} for {new}")


def excluded(op: str, values: list[Any], row: dict[str, Any], old: str, new: str) -> bool:
    """Does the statistic prove that no row matches? The table of reading.md."""
    state, no_nan = row["state"], row["nan_count"] == 0
    if op == "is null":
        return bool(row["null_count"] == 0 or row["value_count"] == 0)
    if state == 1:
        return True
    if op == "is not null":
        return False
    nans = [v for v in values if isinstance(v, float) and math.isnan(v)]
    if nans and not (no_nan and op in ("=", "in", ">=")):
        return False
    values = [v for v in values if not (isinstance(v, float) and math.isnan(v))]
    if nans and not values:
        return True
    if state == 0:
        return False
    lo, hi = (carried(row[f"{end}_{domain(old)}"], old, new, upper=end == "upper") for end in ("lower", "upper"))
    if lo is None:
        return op in ("=", "in", "<", "<=", "prefix")  # nothing but NaN and NULL
    if op == "prefix":
        prefix = values[0].encode()
        return bool(hi < prefix or lo[: len(prefix)] > prefix)
    at = [placed(v, new) for v in values]
    match op:
        case "=" | "in":
            return all(v < lo or v > hi for v in at)
        case "<":
            return bool(lo >= at[0])
        case "<=":
            return bool(lo > at[0])
        case ">":
            return bool(hi <= at[0] and no_nan)
        case ">=":
            return bool(hi < at[0] and no_nan)
        case "<>":
            return bool(lo == hi == at[0] and no_nan)
    raise Unknown(op)


def by_statistics(run: Run, op: str, values: list[Any], stable: str, now: str) -> set[int]:
    """Ordinals that are proved out."""
    column = run.columns.get(stable)
    if column is None:
        return set()
    number, old = int(column["column_id"]), column["type"]
    if column["partition"]:
        rows = {row["partition_ord"]: row for row in run.of("partition_stats", "column_id", number)}
        out = {n for n, row in rows.items() if excluded(op, values, row, old, now)}
        return {file["ordinal"] for file in run.files if file["partition_ord"] in out}
    rows = {row["ordinal"]: row for row in run.of("column_stats", "column_id", number)}
    return {n for n, row in rows.items() if excluded(op, values, row, old, now)}


# Keys --------------------------------------------------------------------------------------------------------------


def form(value: Any, t: str) -> bytes:
    """The canonical form."""
    if isinstance(value, float) and family(t) == "double":
        if math.isnan(value):
            return struct.pack("<Q", 0x7FF8000000000000)
        if not math.isfinite(value) or value != int(value) or not -(2**63) <= value < 2**63:
            return struct.pack("<d", value)
        value = int(value)
    if isinstance(value, bool | int | float | Decimal):
        number = Decimal(value)
        if number == int(number):
            whole = int(number)
            return whole.to_bytes(8 if -(2**63) <= whole < 2**63 else 16, "little", signed=True)
        sign, figures, exponent = number.normalize().as_tuple()
        magnitude = int("".join(map(str, figures))) * (-1 if sign else 1)
        return magnitude.to_bytes(16, "little", signed=True) + bytes([-int(exponent)])
    if isinstance(value, dt.date | dt.time):
        return struct.pack("<q", micros(value))
    return value.encode() if isinstance(value, str) else bytes(value)


def hashed(values: Iterable[Any], types: list[str]) -> int:
    each = [xxhash.xxh64_intdigest(form(v, t)) for v, t in zip(values, types, strict=True)]
    return each[0] if len(each) == 1 else xxhash.xxh64_intdigest(struct.pack(f"<{len(each)}Q", *each))


def cut(data: bytes) -> bytes:
    return data if len(data) <= 255 else data[:248] + xxhash.xxh64_digest(data)


def key_bytes(value: Any, t: str) -> bytes:
    """A value as a key in bytes."""
    at = placed(value, t)
    if isinstance(at, float):
        if math.isnan(at):
            return b"\xff" * 8
        bits = int.from_bytes(struct.pack(">d", at + 0.0), "big")
        return (bits ^ (2**64 - 1 if bits >> 63 else 1 << 63)).to_bytes(8, "big")
    if isinstance(at, int):
        return (at + 2**63).to_bytes(8, "big")
    return cut(at) if family(t) == "bytes" else bytes(at)


def same_value(old: str, new: str) -> bool:
    """May keys of one type answer for another?"""
    if old == new:
        return True
    try:
        carried(0 if domain(old) != "bytes" else wide(0), old, new)
    except Unknown:
        return False
    return not (new == "double" and old == "int64")


def units_of(run: Run, key: dict[str, Any], op: str, values: list[Any]) -> set[int] | None:
    """Units that may hold a match; None: this key does not answer."""
    kind, layout, number = key["kind"], key["layout"], int(key["key_id"])
    types = [c["type"] for c in key["columns"]]
    tuples = [v if isinstance(v, tuple) else (v,) for v in values]
    if kind == "values":
        if op not in ("=", "in") or layout["by"] != "hash":
            return None
        bits = layout["unit_bits"]
        heads = {hashed(v, types) >> (64 - layout["hash_bits"]) for v in tuples}
        found = [row["entry"] for row in run.of("values", "key_id", number)]
        return {entry & ((1 << bits) - 1) for entry in found if entry >> bits in heads}
    if kind not in ("value_keys", "value_lists") or layout["by"] != "value":
        return None
    integers = layout.get("key") == "int64"
    if "key" in layout and not integers:
        return None
    column = "key_int" if integers else "key"
    rows = run.of(kind, "key_id", number, f"{kind}_int" if integers else kind)
    encode: Callable[[Any], Any] = lambda v: placed(v, types[0]) if integers else key_bytes(v, types[0])  # noqa: E731
    if len(types) > 1:
        if op not in ("=", "in"):
            return None
        parts = [[key_bytes(v, t) for v, t in zip(one, types, strict=True)] for one in tuples]
        wanted = {cut(b"".join(struct.pack(">H", len(part)) + part for part in one)) for one in parts}
        return {row["unit"] for row in rows if row[column] in wanted}
    if op == "is null":
        return {row["unit"] for row in rows if row[column] is None}
    rows = [row for row in rows if row[column] is not None]
    if op == "is not null":
        return {row["unit"] for row in rows}
    if op in ("=", "in"):
        wanted = {encode(v) for v in values}
        return {row["unit"] for row in rows if row[column] in wanted}

    def uncut(stored: Any) -> bool:
        return integers or family(types[0]) != "bytes" or len(stored) < 256

    if op == "prefix":
        prefix = values[0].encode()[:248]
        return {row["unit"] for row in rows if row[column].startswith(prefix)}
    end = encode(values[0])
    nan = b"\xff" * 8
    tests: dict[str, Callable[[Any], bool]] = {
        "<": lambda k: bool(k < end),
        "<=": lambda k: bool(k <= end),
        ">": lambda k: bool(k > end),
        ">=": lambda k: bool(k >= end),
        "<>": lambda k: bool(k != end),
    }
    if not uncut(end) or (family(types[0]) == "double" and end == nan):
        return None
    return {row["unit"] for row in rows if not uncut(row[column]) or tests[op](row[column])}


def block_of(hash_: int, blocks: int) -> int:
    return (hash_ >> 32) * blocks >> 32


def bits_of(hash_: int) -> list[int]:
    """The eight bits of a hash in its block."""
    return [32 * word + (((hash_ & 0xFFFFFFFF) * salt & 0xFFFFFFFF) >> 27) for word, salt in enumerate(SALTS)]


def by_filters(run: Run, key: dict[str, Any], hashes: list[int]) -> set[int]:
    """Ordinals in whose filter one of the hashes may be."""
    number = int(key["key_id"])
    parts = [p for p in run.parts if p["kind"] == "bloom_filters" and p["first_key"] == number]
    said = json.loads(run.file(parts[0]).metadata.metadata[b"metaindex.bloom_filters"])
    if said["version"] != 1:
        raise Unknown("directory")
    member = None
    if said["members"]:
        raw = pa.decompress(base64.b64decode(said["member"]), 2 * said["members"], codec="zstd", asbytes=True)
        member = struct.unpack(f"<{said['members']}H", raw)
    rows = run.of("bloom_filters", "key_id", number)
    found: set[int] = set()
    for place, (blocks, count) in enumerate(said["classes"]):
        files = list(range(count)) if member is None else [n for n, m in enumerate(member) if m == place + 1]
        vector = count if count < 256 else -(-count // 8) * 8  # bits
        block_bytes = 32 * vector
        if block_bytes > 512 << 10:
            raise Unknown("a frame a vector")
        for hash_ in hashes:
            block = block_of(hash_, blocks)
            row = max((r for r in rows if r["blocks"] == blocks and r["block"] <= block), key=lambda r: r["block"])
            payload = row["bits"][8:]
            seed = xxhash.xxh3_64_intdigest(struct.pack("<qiiii", number, blocks, count, row["block"], -1))
            if struct.unpack("<Q", row["bits"][:8])[0] != xxhash.xxh3_64_intdigest(payload, seed):
                raise Unknown("frame")
            start = (block - row["block"]) * block_bytes
            bits = int.from_bytes(payload[start : start + block_bytes], "little")
            all_set = (1 << count) - 1
            for bit in bits_of(hash_):
                all_set &= bits >> (bit * vector)
            found |= {ordinal for n, ordinal in enumerate(files) if all_set >> n & 1}
    return found


def by_key(run: Run, key: dict[str, Any], op: str, values: list[Any]) -> dict[int, Groups] | None:
    """Ordinals that may hold a match, with their groups of row groups; None: the key does not answer."""
    if key["kind"] == "bloom_filters":
        if op not in ("=", "in"):
            return None
        types = [c["type"] for c in key["columns"]]
        tuples = [v if isinstance(v, tuple) else (v,) for v in values]
        may: dict[int, Groups] = dict.fromkeys(by_filters(run, key, [hashed(v, types) for v in tuples]))
    else:
        units = units_of(run, key, op, values)
        if units is None:
            return None
        may = {}
        bits = key["layout"]["group_bits"]
        for unit in units:
            groups = may.setdefault(unit >> bits, set() if bits else None)
            if groups is not None:
                groups.add(unit & ((1 << bits) - 1))
    for row in run.of("unkeyed", "key_id", int(key["key_id"])):
        may[row["ordinal"]] = None
    return may


# A question --------------------------------------------------------------------------------------------------------


def keep(index: Path, version: dict[str, Any], leaves: list[list[Any]]) -> dict[str, Groups]:
    """The live files that may hold a row for which all leaves are TRUE, each with the row groups that may. `version`:
    the table's own id, its live files, and stable name and type of each column."""
    live, columns = version["live"], version["columns"]
    kept: dict[str, Groups] = {file["path"]: None for file in live}
    entry = latest(index)
    for said in entry["content"]["runs"] if entry else []:
        if said["table_uuid"] != version["table_uuid"]:
            continue
        try:
            run = opened(index, said, entry["content"]["columns"])  # type: ignore[index]
            known = {identity(row): row["ordinal"] for row in run.files}
        except DAMAGE:
            continue
        here = {file["path"]: known[identity(file)] for file in live if identity(file) in known}
        groups = {file["path"]: file["row_groups"] for file in live}
        for op, names, literals in leaves:
            for path, may in proved(run, op, names, literals, columns, here, groups).items():
                before = kept.get(path, set())
                kept[path] = may if before is None else before if may is None else before & may
                if kept[path] is not None and not kept[path]:
                    kept.pop(path, None)
    return kept


_RUNS: dict[tuple[Path, str], Run] = {}


def opened(index: Path, said: dict[str, Any], column_sets: list[list[dict[str, Any]]]) -> Run:
    """A run is never changed, so it is opened once."""
    at = (index, json.dumps(said))
    if at not in _RUNS:
        _RUNS[at] = Run(index, said, column_sets)
    return _RUNS[at]


def identity(file: dict[str, Any]) -> tuple[Any, ...]:
    return file["path"], file["size_bytes"], file["modified_ms"], file["etag"]


def proved(
    run: Run,
    op: str,
    names: list[str],
    literals: list[Any],
    columns: dict[str, dict[str, str]],
    here: dict[str, int],
    groups: dict[str, int],
) -> dict[str, set[int]]:
    """Of files that the run knows and says something of: the row groups that may hold a row of the leaf."""
    values = [tuple(map(typed, one)) if len(names) > 1 else typed(one) for one in literals]
    stable, types = [columns[n]["stable"] for n in names], [columns[n]["type"] for n in names]
    found: dict[str, set[int]] = {path: set(range(groups[path])) for path in here}
    if len(names) == 1:
        try:
            out = by_statistics(run, op, values, stable[0], types[0])
            found |= {path: set() for path, ordinal in here.items() if ordinal in out}
        except DAMAGE:
            pass
    for key in run.keys:
        stored = [c["type"] for c in key["columns"]]
        if [c["stable"] for c in key["columns"]] != stable or not all(map(same_value, stored, types)):
            continue
        try:
            may = by_key(run, key, op, values)
        except DAMAGE:
            continue
        for path, ordinal in here.items() if may is not None else ():
            if ordinal not in may:  # type: ignore[operator]
                found[path] = set()
            elif (some := may[ordinal]) is not None:  # type: ignore[index]
                most, n = 1 << key["layout"]["group_bits"], groups[path]
                found[path] &= {g for g in range(n) if (g if n <= most else g * most // n) in some}
    return found
