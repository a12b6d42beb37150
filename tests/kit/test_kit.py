"""The kit that is published with the format is what the program writes; a reader that imports nothing of it answers all
of it; and one that misreads a sentence does not."""

import ast
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from metaindex.index.log.entry import FORMAT_VERSION

from .make import BROKEN, CASES, KIT, essence, make

READER = KIT.parent / "reader"
SOURCES = {name: (READER / f"{name}.py").read_text() for name in ("lies", "values", "statistics", "keys", "filters",
    "answer", "rows", "__init__")}  # fmt: skip
"""The reader's modules, each behind those that it imports."""


def loaded(name: str, sources: dict[str, str]) -> ModuleType:
    """The reader as a package of this name, whatever else of it is loaded."""
    package = ModuleType(name)
    package.__path__ = []
    held = {}
    for module, source in sources.items():
        place = package if module == "__init__" else ModuleType(f"{name}.{module}")
        place.__package__ = name
        held[place.__name__] = sys.modules[place.__name__] = place
        sys.modules.setdefault(name, package)
        exec(compile(source, str(READER / f"{module}.py"), "exec"), place.__dict__)
    for one in held:
        del sys.modules[one]
    return package


def check() -> ModuleType:
    spec = importlib.util.spec_from_file_location("kit_check", KIT.parent / "check.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_is_of_this_format_and_has_every_case() -> None:
    assert KIT.name == str(FORMAT_VERSION)
    assert {p.name for p in KIT.iterdir()} == {*CASES, "broken", "vectors.json"}
    assert {p.name for p in (KIT / "broken").iterdir() if p.is_dir()} == set(BROKEN)


@pytest.mark.exhaustive
@pytest.mark.slow
def test_it_is_what_the_program_writes(tmp_path: Path) -> None:
    make(tmp_path / "kit")
    made, kept = essence(tmp_path / "kit"), essence(KIT)
    assert made.keys() == kept.keys()
    for name, what in made.items():
        assert what == kept[name], f"{name}: python -m tests.kit makes the kit anew"


def test_all_of_its_reader_is_here() -> None:
    assert {path.stem for path in READER.glob("*.py")} == set(SOURCES)


@pytest.mark.parametrize("name", ["check", *SOURCES])
def test_its_reader_imports_nothing_of_the_program(name: str) -> None:
    tree = ast.parse(SOURCES.get(name) or (KIT.parent / f"{name}.py").read_text())
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and not node.level}
    assert all(node.level < 2 for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    rooms = {one.partition(".")[0] for one in imported} - sys.stdlib_module_names
    assert rooms <= {"pyarrow", "xxhash", "reader"}


@pytest.mark.slow
def test_its_reader_answers_everything() -> None:
    assert list(check().wrong(loaded("kit_reader", SOURCES), KIT)) == []


MUTANTS: dict[str, tuple[str, str]] = {
    "NaN forgotten in >": ("return bool(hi <= at[0] and no_nan)", "return bool(hi <= at[0])"),
    "NaN forgotten in <>": ("return bool(lo == hi == at[0] and no_nan)", "return bool(lo == hi == at[0])"),
    "unkeyed files forgotten": ('may[row["ordinal"]] = None', "pass"),
    "hash shifted with its sign": (
        'hashed(v, types) >> (64 - layout["hash_bits"])',
        '(hashed(v, types) - (hashed(v, types) >> 63 << 64)) >> (64 - layout["hash_bits"])',
    ),
    "dates hashed as days": (
        'return struct.pack("<q", micros(value))',
        'return struct.pack("<q", micros(value) // (1 if isinstance(value, dt.datetime) else 86_400_000_000))',
    ),
    "scale of decimals ignored": ("Decimal(value).scaleb(digits(t)[1])", "Decimal(value)"),
    "another scale is the same number": ("number *= 10 ** (behind - scale)", "pass"),
    "partition columns looked for in column_stats": ('if column["partition"]:', "if False:"),
    "a missing row proves that nothing is there": (
        'if column["partition"]:',
        'if column["partition"]:\n        return {file["ordinal"] for file in run.files}\n    if column["partition"]:',
    ),
    "wide numbers without their offset": (
        "return (number + 2**127).to_bytes(16",
        "return (number % 2**128).to_bytes(16",
    ),
    "uint64 in eight bytes": ("return wide(whole(value))", 'return whole(value).to_bytes(8, "big")'),
    "files of no run dropped": (
        'kept: dict[str, Groups] = {file["path"]: None for file in live}\n    entry = latest(index)',
        "entry = latest(index)\n    named = {f['path'] for s in (entry['content']['runs'] if entry else [])"
        " for f in Run(index, s, entry['content']['columns']).files}\n"
        '    kept: dict[str, Groups] = {file["path"]: None for file in live if not entry or file["path"] in named}',
    ),
    "whole floats hashed as doubles": ("value != int(value) or not", "True or not"),
    "long keys not cut": (
        "return data if len(data) <= 255 else data[:248] + xxhash.xxh64_digest(data)",
        "return data",
    ),
    "keys cut at 256 bytes and not at 255": (
        "return data if len(data) <= 255 else",
        "return data if len(data) <= 256 else",
    ),
    "zero or empty for a NULL key": ("if row[column] is None}", 'if row[column] in (0, b"")}'),
    "digest of an entry not looked at": ("if rest or hashlib.sha256(first).hexdigest() !=", "if rest and None !="),
    "digest of a manifest not looked at": (
        'if len(data) != said["manifest_bytes"] or hashlib.sha256(data).hexdigest() != said["manifest_digest"]:',
        "if False:",
    ),
    "digest of a footer not looked at": (
        'if len(data) != part["size_bytes"] or hashlib.sha256(footer).hexdigest() != part["footer_digest"]:',
        "if not footer:",
    ),
    "check of a frame not looked at": ('if struct.unpack("<Q", row["bits"][:8])[0] !=', "if seed is None and 0 !="),
    "files of a class by its column alone": (
        "if listed != files or len(files) != count:",
        "files = listed\n        if len(files) != count:",
    ),
    "row groups that share a number taken for themselves": ("(g if n <= most else g * most // n) in some", "g in some"),
    "etag forgotten": (
        'return file["path"], file["size_bytes"], file["modified_ms"], file["etag"]',
        'return file["path"], file["size_bytes"], file["modified_ms"]',
    ),
    "bloom bits in the wrong order": ("[32 * word + (((hash_", "[32 * (7 - word) + (((hash_"),
    "bloom slices begin at bytes everywhere": (
        "vector = count if count < 256 else -(-count // 8) * 8",
        "vector = -(-count // 8) * 8",
    ),
    "bloom slices never begin at bytes": ("vector = count if count < 256 else -(-count // 8) * 8", "vector = count"),
    "null_count null taken for 0": (
        'return bool(row["null_count"] == 0 or',
        'return bool((row["null_count"] or 0) == 0 or',
    ),
    "nan_count null taken for 0": (
        'no_nan = row["state"], row["nan_count"] == 0',
        'no_nan = row["state"], not row["nan_count"]',
    ),
    "a cut upper bound taken for the greatest value": (
        "return all(v < lo or v > hi for v in at)",
        "return all(v < lo or v > hi or (isinstance(v, bytes) and len(hi) == 64 and v[:64] != hi) for v in at)",
    ),
    "bounds of texts compared as texts": (
        'if op == "prefix":\n        prefix = values[0].encode()\n        return bool(hi < prefix',
        'if isinstance(hi, bytes) and family(new) == "bytes":\n        hi = hi.decode("utf-8", "ignore").encode()\n'
        '    if op == "prefix":\n        prefix = values[0].encode()\n        return bool(hi < prefix',
    ),
    "bytes compared with their sign": (
        "at = [placed(v, new) for v in values]\n",
        "at = [placed(v, new) for v in values]\n"
        "    if isinstance(lo, bytes):\n        lo, hi, *at = ([b - 256 if b > 127 else b for b in one] for one in"
        " (lo, hi, *at))\n",
    ),
    "quick runs believed": (
        "out = by_statistics(run, op, values, stable[0], types[0])",
        'out = by_statistics(run, op, values, stable[0], types[0]) if run.said["builder"] else set(here.values())',
    ),
    "unknown states dropped": ("if state == 0:\n        return False", "if state == 0:\n        return True"),
    "ALL_NULL dropped for IS NULL's opposite and kept for =": (
        "if state == 1:\n        return True",
        "if state == 1:\n        return False",
    ),
    "IS NULL asked of the state": (
        'return bool(row["null_count"] == 0 or row["value_count"] == 0)',
        "return state != 1",
    ),
    "a file is its path": (
        'return file["path"], file["size_bytes"], file["modified_ms"], file["etag"]',
        'return (file["path"],)',
    ),
    "columns found by name": (
        '[columns[n]["stable"] for n in names]',
        "[next((c['stable'] for c in run.columns.values() if c['name'] == n), n) for n in names]",
    ),
    "int64 keys asked for doubles": ('return not (new == "double" and old == "int64")', "return True"),
    "unit taken for the ordinal": ("may.setdefault(unit >> bits,", "may.setdefault(unit,"),
    "groups of a unit shifted": ("groups.add(unit & ((1 << bits) - 1))", "groups.add(unit >> 1 & ((1 << bits) - 1))"),
    "integer keys looked for among bytes": ('f"{kind}_int" if integers else kind)', "kind)"),
    "an unknown layout believed": (
        'if "key" in layout and not integers:\n        return None',
        "integers = 'key' in layout",
    ),
    "an unknown name in a layout passed over": (
        'if key["layout"].keys() <= LAYOUT.get(key["kind"], set())',
        'if key["layout"].keys()',
    ),
    "what a run needs not looked at": ('if said.get("reader_needs"):', "if not said:"),
    "what a manifest needs not looked at": (
        'if manifest["layout"] != {"version": 1} or manifest["reader_needs"]:',
        "if not manifest:",
    ),
    "a disabled index used": ('and entry["enabled"]', "and True"),
    "a deleted index used": ('entry["stable_state"] == "ACTIVE"', "True"),
    "an index under way not used": ('and entry["enabled"]', 'and entry["enabled"] and entry["state"] == "ACTIVE"'),
    "a newer format read": ('entry["format_version"] == FORMAT', 'entry["format_version"] >= FORMAT'),
    "entries below a tombstone count": ("if n >= max(stones, default=1)", "if n"),
    "the oldest entry read": ("{max(numbers):020d}", "{min(numbers):020d}"),
    "integers in bytes without their offset": (
        'return (at + 2**63).to_bytes(8, "big")',
        'return at.to_bytes(8, "big", signed=True)',
    ),
    "times taken for days": (
        'if t.startswith("date"):',
        'if t.startswith(("date", "time64")):',
    ),
    "deleted rows given": ('file is None or row["_mi_row"] in file["deleted"]', "file is None"),
    "deleted rows by their place among those stored": (
        'for row in stored:\n            file = served.get(row["_mi_ordinal"])\n            if file is None or'
        ' row["_mi_row"]',
        'for at, row in enumerate(stored):\n            file = served.get(row["_mi_ordinal"])\n            if file is'
        " None or at",
    ),
    "rows of files that are no more": (
        "served[ordinal] = file\n",
        "served |= dict.fromkeys(known.values(), file)\n",
    ),
    "rows of a covering key by their names now": (
        'row[said["stable"]] for name, said in columns.items() if said["stable"] in row',
        "row[next((c['stable'] for c in key['columns'] if c['name'] == name), said['stable'])] for name, said in"
        " columns.items() if said['stable'] in row",
    ),
    "rows of every key of the folder": ('not int(part["first_key"]) <= key_id <= int(part["last_key"])', "not part"),
    "-0.0 a key of its own": ('struct.pack(">d", at + 0.0)', 'struct.pack(">d", at)'),
    "keys of several columns without their lengths": (
        'cut(b"".join(struct.pack(">H", len(part)) + part for part in one))',
        'cut(b"".join(one))',
    ),
}
"""A reading that is wrong, for each sentence of the documents that can be misread: some text of the reader, and what
stands there then."""


@pytest.mark.exhaustive(but="unkeyed files forgotten")
@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_a_reader_that_misreads_a_sentence_fails(name: str) -> None:
    before, after = MUTANTS[name]
    assert sum(source.count(before) for source in SOURCES.values()) == 1, "the reader has this once"
    mutant = loaded("kit_mutant", {module: source.replace(before, after) for module, source in SOURCES.items()})
    assert next(check().wrong(mutant, KIT), None) is not None
