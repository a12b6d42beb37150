"""Indexes that are not as they were, and what a reader makes of each."""

import hashlib
import io
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from metaindex.index.kinds.bloom.layout import DIRECTORY, ROWS
from metaindex.index.log.entry import FORMAT_VERSION
from metaindex.index.log.operation_log import entry_path, tombstone_path
from tests.hostile.changes import turn

from .case import Case, lines


@dataclass
class Folders:
    """An index to break: its latest entry, manifests and parts, and how to seal them again."""

    index: Path

    @property
    def entry(self) -> Path:
        return max((self.index / "_log").glob("0*.json"))

    def said(self) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(self.entry.read_bytes().split(b"\n")[0])
        return value

    def seal(self, entry: dict[str, Any]) -> None:
        line = json.dumps(entry, ensure_ascii=False).encode()
        self.entry.write_bytes(line + b'\n{"sha256": "' + hashlib.sha256(line).hexdigest().encode() + b'"}\n')

    def parts(self, kind: str) -> list[Path]:
        return sorted((self.index / kind).rglob("*.mix"))

    def turn(self, path: Path, at: int) -> None:
        turn(path, at)

    def replace(self, part: Path, data: bytes) -> None:
        """Other bytes in a part's place, and every digest above made anew: what only the part's own checks can find."""
        entry, path = self.said(), str(part.relative_to(self.index))
        part.write_bytes(data)
        for run in entry["content"]["runs"]:
            value = self.manifest(run)
            for one in value["parts"]:
                if one["path"] == path:
                    footer = int.from_bytes(data[-8:-4], "little") + 8
                    run["size_bytes"] += len(data) - one["size_bytes"]
                    one |= {
                        "size_bytes": len(data),
                        "footer_bytes": footer,
                        "footer_digest": hashlib.sha256(data[-footer:]).hexdigest(),
                    }
            before = run["manifest_bytes"]
            self.seal_manifest(run, value)
            run["size_bytes"] += run["manifest_bytes"] - before
        self.seal(entry)

    def manifest(self, run: dict[str, Any]) -> dict[str, Any]:
        value: dict[str, Any] = json.loads((self.index / "_manifests" / f"{run['run']}.json").read_bytes())
        return value

    def seal_manifest(self, run: dict[str, Any], value: dict[str, Any]) -> None:
        sealed = json.dumps(value).encode()
        (self.index / "_manifests" / f"{run['run']}.json").write_bytes(sealed)
        run |= {"manifest_bytes": len(sealed), "manifest_digest": hashlib.sha256(sealed).hexdigest()}


def _changed(**fields: Any) -> Callable[[Folders], None]:
    return lambda one: one.seal(one.said() | fields)


def _turned_in_digit(one: Folders) -> None:
    """A digit of the entry, so that it is still JSON: the first column's id."""
    data = one.entry.read_bytes()
    at = data.index(b'"column_id": "') + len(b'"column_id": "') + 1
    one.entry.write_bytes(data[:at] + (b"1" if data[at : at + 1] != b"1" else b"2") + data[at + 1 :])


def _manifest_turned(one: Folders) -> None:
    """A part of statistics is said to lie where those of another run are: the same JSON, other rows."""
    first, second = sorted((one.index / "_manifests").glob("*.json"))
    for manifest, other in ((first, second), (second, first)):
        data = manifest.read_bytes()
        held = f"column_stats/run={manifest.stem}".encode()
        manifest.write_bytes(data.replace(held, f"column_stats/run={other.stem}".encode()))


def _parts_exchanged(one: Folders) -> None:
    """Each run has the other's statistics."""
    first, second = one.parts("column_stats")
    data = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(data)


def _unknown_layout(one: Folders) -> None:
    entry = one.said()
    for run in entry["content"]["runs"]:
        for key in run["keys"]:
            if key["kind"] == "value_keys":
                key["layout"] |= {"key": "int64 upside down", "group_bits": key["layout"]["group_bits"] + 4}
    one.seal(entry)


def _needs_more(one: Folders) -> None:
    """Of a newer writer: each run has the other's statistics, by its own lights, and says what one must know to read
    it."""
    first, second = one.parts("column_stats")
    data = first.read_bytes()
    one.replace(first, second.read_bytes())
    one.replace(second, data)
    entry = one.said()
    for run in entry["content"]["runs"]:
        run["reader_needs"] = ["statistics of the other run"]
    one.seal(entry)


def _manifest_needs_more(one: Folders) -> None:
    """The same, said in the manifests alone."""
    _needs_more(one)
    entry = one.said()
    for run in entry["content"]["runs"]:
        more = {"layout": {"version": 2}, "reader_needs": run.pop("reader_needs")}
        one.seal_manifest(run, one.manifest(run) | more)
    one.seal(entry)


def _unknown_name_in_layout(one: Folders) -> None:
    """Of a newer writer, whose hashes are of other bits."""
    entry = one.said()
    for run in entry["content"]["runs"]:
        for key in run["keys"]:
            if key["kind"] == "values":
                key["layout"] |= {"first_bit": 4, "hash_bits": key["layout"]["hash_bits"] - 4}
    one.seal(entry)


def _integers_in_bytes(one: Folders) -> None:
    """As runs were written before keys could be integers: 8 bytes of each, in the folder of all other keys, and a
    layout that says nothing of it."""
    entry = one.said()
    for run in entry["content"]["runs"]:
        for key in run["keys"]:
            if key["kind"] == "value_keys":
                del key["layout"]["key"]
        value = one.manifest(run)
        for part in value["parts"]:
            if part["path"].startswith("value_keys_int/"):
                part |= _as_bytes(one.index, part)
        one.seal_manifest(run, value)
    one.seal(entry)


def _as_bytes(index: Path, part: dict[str, Any]) -> dict[str, Any]:
    """A part of integer keys, written again with bytes for keys; what the manifest says of it."""
    old, path = index / part["path"], part["path"].replace("value_keys_int/", "value_keys/")
    rows = pq.read_table(io.BytesIO(old.read_bytes()))
    made = [None if k is None else (k + 2**63).to_bytes(8, "big") for k in rows["key_int"].to_pylist()]
    table = pa.table({"key_id": rows["key_id"], "key": pa.array(made, pa.binary()), "unit": rows["unit"]})
    out = io.BytesIO()
    pq.write_table(table, out, write_page_checksum=True, store_schema=False)
    data = out.getvalue()
    (index / path).parent.mkdir(parents=True, exist_ok=True)
    (index / path).write_bytes(data)
    old.unlink()
    footer = int.from_bytes(data[-8:-4], "little") + 8
    return {
        "path": path,
        "size_bytes": len(data),
        "footer_bytes": footer,
        "footer_digest": hashlib.sha256(data[-footer:]).hexdigest(),
        "least": made[0].hex() if made[0] is not None else "",
        "greatest": made[-1].hex() if made[-1] is not None else "",
    }


def filters_changed(one: Folders, change: Callable[[pa.Table], pa.Table]) -> None:
    """Other rows of bloom filters, in parts as the program writes them."""
    for part in one.parts("bloom_filters"):
        data = io.BytesIO(part.read_bytes())
        made, held = change(pq.read_table(data)), pq.ParquetFile(data)
        out = io.BytesIO()
        names = [held.metadata.schema.column(at).path for at in range(held.metadata.num_columns)]
        codecs = {name: "none" if name == "bits" else "zstd" for name in names}
        with pq.ParquetWriter(
            out, ROWS, use_dictionary=False, store_schema=False, compression=codecs, data_page_size=1 << 30,
            column_encoding={names[-1]: "DELTA_BINARY_PACKED"}, write_statistics=names[:3], write_page_checksum=True,
        ) as writer:  # fmt: skip
            writer.add_key_value_metadata({DIRECTORY: held.metadata.metadata[DIRECTORY]})
            first = 0
            for group in range(held.num_row_groups):
                rows = held.metadata.row_group(group).num_rows
                writer.write_table(made.slice(first, rows).cast(ROWS), row_group_size=rows)
                first += rows
        one.replace(part, out.getvalue())


def _frames_turned(one: Folders) -> None:
    def emptied(table: pa.Table) -> pa.Table:
        bits = [bits[:8] + bytes(len(bits) - 8) for bits in table["bits"].to_pylist()]
        return table.set_column(3, "bits", pa.array(bits, pa.large_binary()))

    filters_changed(one, emptied)


def listed_backwards(table: pa.Table) -> pa.Table:
    """The files of each class in another order."""
    said = [None if files is None else files[::-1] for files in table["ordinals"].to_pylist()]
    return table.set_column(4, ROWS.field("ordinals"), pa.array(said, ROWS.field("ordinals").type))


def _buried(one: Folders) -> None:
    """A tombstone, and an older entry that is left below it: of another index, which knows nothing of this one's
    files."""
    latest = one.said()
    stone = {"format_version": 1, "lowest": latest["id"], "outdated": {}}
    (one.index / tombstone_path(latest["id"])).write_text(json.dumps(stone))


def _all_buried(one: Folders) -> None:
    stone = {"format_version": 1, "lowest": 50, "outdated": {}}
    (one.index / tombstone_path(50)).write_text(json.dumps(stone))


def _under_way(one: Folders) -> None:
    began = {"operation": "refresh", "began": 4, "nonce": "n", "who": "somebody", "since_ms": 1, "runs": ["r0"]}
    one.seal(one.said() | {"state": "REFRESHING", "under_way": [began]})


def _older_is_damaged(one: Folders) -> None:
    one.turn(one.index / entry_path(1), 20)


BROKEN: dict[str, tuple[str, Callable[[Folders], None]]] = {
    "sound": ("use", lambda one: None),
    "refreshing": ("use", _under_way),
    "integer keys in bytes": ("use", _integers_in_bytes),
    "older entry damaged": ("use", _older_is_damaged),
    "older entry below a tombstone": ("use", _buried),
    "everything below a tombstone": ("nothing", _all_buried),
    "newer format": ("nothing", _changed(format_version=FORMAT_VERSION + 1)),
    "disabled": ("nothing", _changed(enabled=False)),
    "deleted": ("nothing", _changed(state="DELETED", stable_state="DELETED")),
    "a digit of the entry turned": ("nothing", _turned_in_digit),
    "manifests name each other's part": ("nothing", _manifest_turned),
    "manifests cut": (
        "nothing",
        lambda one: [p.write_bytes(p.read_bytes()[:-20]) for p in (one.index / "_manifests").iterdir()] and None,
    ),
    "footer turned": ("sound", lambda one: [one.turn(p, -30) for p in one.parts("column_stats")] and None),
    "parts exchanged": ("sound", _parts_exchanged),
    "part cut": ("sound", lambda one: [p.write_bytes(p.read_bytes()[:-9]) for p in one.parts("values")] and None),
    "part gone": ("sound", lambda one: [p.unlink() for p in one.parts("value_keys_int")] and None),
    "unknown layout": ("sound", _unknown_layout),
    "unknown name in a layout": ("sound", _unknown_name_in_layout),
    "runs that need more": ("nothing", _needs_more),
    "manifests that need more": ("nothing", _manifest_needs_more),
    "bloom filters emptied": ("sound", _frames_turned),
    "files of filters listed backwards": ("sound", lambda one: filters_changed(one, listed_backwards)),
}
"""What a reader makes of it. use: as if nothing had been; nothing: no file is left out; sound: no file with a match
is."""


def write_broken(case: Case, target: Path) -> None:
    case.write(target)
    sound = target / "index"
    said = {}
    for name, (expected, breaks) in BROKEN.items():
        said[name] = expected
        shutil.copytree(sound, target / name)
        breaks(Folders(target / name))
    shutil.rmtree(sound)
    (target / "broken.json").write_text(lines(said))
