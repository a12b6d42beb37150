"""The result of a verification: nothing, or precisely what is wrong and where."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from metaindex.core import Cure, Plain, Shown, StoragePermissionError, StorageUnavailableError, counted
from metaindex.index.log.sealed import one_line


@dataclass(frozen=True, slots=True)
class Finding(Plain):
    """Something that is wrong.

    * `log`        an entry of the operation log cannot be read
    * `version`    a recorded version cannot be resolved, or names other files than the table has at it
    * `run`        a part of a run is missing, damaged, or does not fit the others
    * `statistics` what the index says of a data file is not true of the rows in it
    * `keys`       the values that the index names of a data file are not those of the rows in it
    * `covering`   the stored rows of a data file are not those in it (the name of their metadata partition)
    * `dropped`    a file that was proved out holds a row that matches
    * `claim`      the table's log says of a data file what is not so: of `Verification.claims`, no fault of the index

    `run` is the run that has to be rebuilt, `version` the recorded version that has to go; `file` is the data file.
    """

    kind: str
    message: str
    where: str = ""
    run: str = ""
    version: str = ""
    file: str = ""

    def __str__(self) -> str:
        place = self.file or self.where or (f"run {self.run}" if self.run else "")
        return f"{self.kind}: {place + ': ' if place else ''}{self.message}"


def judged(error: BaseException) -> None:
    """Raise the cause of an error if the storage did not answer or denied access, or this process lacks memory or open
    files: that says nothing of what is there, and a repair would rebuild what is right."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, StoragePermissionError | StorageUnavailableError):
            raise cause
        if isinstance(cause, MemoryError) or (isinstance(cause, OSError) and cause.errno in _SHORT):
            raise StorageUnavailableError(
                f"an index is judged by what was read of it; this process could not read ({one_line(cause)}); give it"
                " more memory or open files"
            ) from error
        cause = cause.__cause__


_TOLD = 20
"""Reasons why something was not compared, to a person."""
_NAMED = 3
"""Of data files with a like reason."""
_SHORT = (errno.ENOMEM, errno.EMFILE, errno.ENFILE)


@dataclass(slots=True, repr=False)
class Verification(Shown, Plain):
    """The result of a verification: what was checked, and what was wrong. `unchecked`: why not, and how often.
    `claims`: what the table's log says of files, and a sound index knows better.

    `sound`: nothing was found wrong, and the index was compared with some of the data files that were to be read;
    `unproven`: there were some, and nothing of them could be compared. Where some could and others not it is right as
    far as it was looked at."""

    index: str
    findings: list[Finding] = field(default_factory=list)
    entries: int = 0
    runs: int = 0
    parts: int = 0
    rows: int = 0  # of the index
    bytes_read: int = 0  # of the index
    versions: int = 0
    versions_compared: int = 0  # with the table
    files: int = 0  # whose data was read
    statistics: int = 0  # compared with rows
    keyed_files: int = 0  # whose values were keyed again
    keys: int = 0  # compared: of so many files and keys together
    rows_compared: int = 0  # of covering indexes, with the rows of data files
    gone_files: set[str] = field(default_factory=set)  # sampled files that are not on storage any more
    unread: set[str] = field(default_factory=set)  # sampled files of which something cannot be read
    replaced: int = 0  # indexed files in whose place the table has others now
    claims: list[Finding] = field(default_factory=list)
    unchecked: dict[str, int] = field(default_factory=dict)
    compared: set[str] = field(default_factory=set)  # data files of whose rows anything was compared
    unread_why: dict[str, str] = field(default_factory=dict)  # by data file, as `unchecked` has it

    @property
    def gone(self) -> int:
        """Return how many sampled files are not on storage any more."""
        return len(self.gone_files)

    @property
    def sound(self) -> bool:
        return not self.findings and not self.unproven

    @property
    def unproven(self) -> bool:
        return not self.compared and bool(self.unread or self.gone_files)

    @property
    def damaged_runs(self) -> frozenset[str]:
        """Runs to rebuild."""
        return frozenset(finding.run for finding in self.findings if finding.run)

    def found(self, findings: Iterable[Finding]) -> None:
        self.findings.extend(findings)

    def matched(self, path: str, predicate: object, rows: int) -> None:
        """Note a data file that is proved out for a predicate although rows of it match."""
        said = f"it is proved out for {predicate}, and {rows:,} of its rows match"
        self.findings.append(Finding("dropped", said, file=path))

    def skipped(self, why: str, count: int = 1) -> None:
        self.unchecked[why] = self.unchecked.get(why, 0) + count

    def unreadable(self, path: str, why: str) -> None:
        """Note an unreadable data file, once however many kinds of the index need its rows."""
        if path not in self.unread:
            self.unread.add(path)
            self.unread_why[path] = why
            self.skipped(why)

    def to_json(self) -> dict[str, object]:
        """Plain data for machines."""
        data = self._plain("* gone sound unproven")
        del data["unread_why"]
        sets = {"gone_files": sorted(self.gone_files), "unread": sorted(self.unread)}
        return {**data, **sets, "compared": len(self.compared)}

    def _printed(self) -> str:
        looked = (
            f"{counted(self.entries, 'log entry')}, "
            f"{counted(self.versions, 'recorded version')} ({self.versions_compared:,} compared"
            " with the table), "
            f"{counted(self.runs, 'run')} in {counted(self.parts, 'part')} with {counted(self.rows, 'row')},"
            f" {self.statistics:,} statistics against the rows of {counted(self.files, 'data file')}"
        )
        if self.keys:
            looked += f", the keys of {counted(self.keyed_files, 'data file')} against their rows"
        if self.rows_compared:
            looked += f", {counted(self.rows_compared, 'stored row')} against those of data files"
        lines = [self._verdict(), f"  looked at: {looked}"]
        if self.gone:
            lines.append(
                f"  {self.gone:,} sampled data files are not on storage any more, so their statistics were not compared"
            )
        if self.replaced:
            lines.append(
                f"  stale: {self.replaced:,} indexed data files were replaced by others of the same path, which queries"
                " read until a refresh"
            )
        reasons = list(self._reasons())
        lines += [f"  not compared: {reason}" for reason in reasons[:_TOLD]]
        if len(reasons) > _TOLD:
            lines.append(f"  not compared: {len(reasons) - _TOLD:,} more, which {Cure('unchecked')} has")
        lines.extend(f"  {finding}" for finding in self.findings)
        if self.findings:
            lines.append(f"  {Cure('repair', self.index)} builds anew what is wrong")
        if any(finding.kind == "statistics" for finding in self.findings):
            lines.append("  what is wrong again then is wrong in the footer of the file: write the file anew")
        lines.extend(f"  {claim}" for claim in self.claims[:_TOLD])
        if len(self.claims) > _TOLD:
            lines.append(f"  claim: {len(self.claims) - _TOLD:,} more, which `claims` has")
        return "\n".join(lines)

    def _verdict(self) -> str:
        """Return the verdict; an index of which nothing was compared with the table is never called right."""
        name = f"index {self.index!r}"
        if self.findings:
            return f"{name} is NOT right: {counted(len(self.findings), 'finding')}"
        lacking = len((self.unread | self.gone_files) - self.compared)
        files = f"{lacking:,} of {counted(lacking + len(self.compared), 'data file')} could not be read"
        if self.unproven:
            return f"{name} could not be compared with the table: {files}; nothing else is found wrong"
        if not self.compared:  # none was to be, or there is none
            return f"{name} is right in itself; no data file was compared with it"
        return f"{name} is right" + (f" as far as it was compared: {files}" if lacking else "")

    def _reasons(self) -> Iterator[str]:
        """Why something was not compared: of data files with a like reason the first one's, with its cure."""
        alike: dict[str, list[str]] = {}
        for path, why in self.unread_why.items():
            alike.setdefault(_without_its_file(path, why), []).append(path)
        of_files = set(self.unread_why.values())
        for paths in alike.values():
            why = self.unread_why[paths[0]]
            if len(paths) > 1:
                more = f" and {len(paths) - _NAMED:,} more" if len(paths) > _NAMED else ""
                why = f"{counted(len(paths), 'data file')} ({', '.join(paths[:_NAMED])}{more}), the first: {why}"
            yield why
        for why, count in self.unchecked.items():
            if why not in of_files:
                yield why + (f" ({count:,} times)" if count > 1 else "")


def _without_its_file(path: str, why: str) -> str:
    """The rule and the cure of a reason, without the fact between them, the path, and any number."""
    rule, *_, cure = ["", *why.split("; ")] if "; " not in why else why.split("; ")
    said = f"{rule}; {cure}".replace(path, "").replace(path.rpartition("/")[2], "")
    return re.sub(r"\d+", "", said)
