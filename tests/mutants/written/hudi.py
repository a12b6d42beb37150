"""Files of Hudi's tables: which are live, and which tables are read at all."""

from __future__ import annotations

from .mutant import Mutant

_FILES = ("tests/formats/hudi/test_table.py", "tests/formats/hudi/test_refused.py")

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "an instant is missing between two",
        "metaindex/formats/hudi/live_files.py",
        'if write.before != ("" if before is None else before.instant):',
        "if False:",
        _FILES,
        "files of a lost instant are live or not by chance",
    ),
    Mutant(
        "a replaced file group stays",
        "metaindex/formats/hudi/live_files.py",
        "if self.live.pop(key, None) is None and key not in self.dead:",
        "if self.live.get(key) is None and key not in self.dead:",
        _FILES,
        "overwritten rows come back",
    ),
    Mutant(
        "a replaced file group is forgotten",
        "metaindex/formats/hudi/live_files.py",
        "self.dead.add(key)",
        "pass",
        _FILES,
        "a file is live of which readers disagree",
    ),
    Mutant(
        "pending instants unknown",
        "metaindex/formats/hudi/live_files.py",
        "if later or instant in timeline.pending or instant > newest:",
        "if later or instant > newest:",
        _FILES,
        "no table is read while somebody writes",
    ),
    Mutant(
        "sizes not compared",
        "metaindex/formats/hudi/live_files.py",
        "if size is None or (write.size_bytes is not None and size != write.size_bytes):",
        "if size is None:",
        _FILES,
        "another file is read in the place of the one that was written",
    ),
    Mutant(
        "a fingerprint of the newest instant alone",
        "metaindex/formats/hudi/timeline.py",
        '"\\n".join(said).encode() + b"\\0" + head',
        "head",
        _FILES,
        "an index misses the files of an instant that was completed late",
    ),
    Mutant(
        "instants in the order of their beginning",
        "metaindex/formats/hudi/timeline.py",
        "return (self.done or self.begun, self.begun)",
        "return (self.begun, self.begun)",
        _FILES,
        "a table with two writers is refused",
    ),
    Mutant(
        "archived plans taken for commits",
        "metaindex/formats/hudi/archive.py",
        'if action in WRITES and record["actionState"] == "COMPLETED":',
        "if action in WRITES:",
        _FILES,
        "a table with archived instants is refused",
    ),
    Mutant(
        "a float read as a double",
        "metaindex/formats/hudi/schema.py",
        "if old == new or new in _WIDER.get(old, ()):",
        "if old == new or is_.is_floating(new):",
        _FILES,
        "0.1 is another number than in Spark",
    ),
    Mutant(
        "a damaged table taken for plain files",
        "metaindex/formats/hudi/table.py",
        "return any(True for _ in ref.storage.list(FOLDER))",
        "return any(True for _ in ref.storage.list(FOLDER, recursive=False))",
        _FILES,
        "files of older versions are read, too",
    ),
)
