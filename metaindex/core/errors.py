"""The errors of this room, hung below the root of all rooms.

MetaIndexError (metaindex.core.expression_errors)
├── IndexNotFoundError (LookupError)      no index of that name, or none that a reader can see
├── IndexExistsError (FileExistsError)    the name is used
├── IndexStateError                       the verb needs another state; says which, who holds it, the cure
├── ConcurrentWriteError                  a lost race that could not be rebased: refresh and try again
├── DamagedIndexError                     a run, manifest or entry is off, missing, or newer than this version reads
│   └── ForeignIndexError                 an entry of a newer version, or under another seal: not for this program to
                                          mend
├── BuildError                            rows of an index could not be built; nothing became visible
│   └── WorkerError                       Spark's workers run a Python that cannot build
├── SettingError (ValueError)             a knob of Spark's rule has a value that it cannot have
├── StatementError                        an ArgumentError: a statement about indexes is not written as one; says where
└── ScanError                             a reader cannot return exactly the rows asked for, and returns none
"""

from typing import Self

from metaindex.core.cures import Cure
from metaindex.core.expression_errors import ArgumentError, MetaIndexError


class IndexNotFoundError(MetaIndexError, LookupError):
    """No index of that name at this table."""


class IndexExistsError(MetaIndexError, FileExistsError):
    """An index of that name exists."""


class IndexStateError(MetaIndexError):
    """The verb is not possible in the index's state."""


class ConcurrentWriteError(MetaIndexError):
    """Another writer was first and the change cannot be applied on top of it. Ordinary: refresh and try again."""


class DamagedIndexError(MetaIndexError):
    """Stored index data is missing, damaged, foreign, or of a newer format version. Readers skip the index; the table
    is read without it."""

    @classmethod
    def for_repair(cls, fact: str) -> Self:
        """Return the error whose cure is a repair."""
        return cls(fact, Cure("mend"))


class ForeignIndexError(DamagedIndexError):
    """Raised for stored data of a newer version of the program, or sealed with another key. What cannot be read is not
    repaired either."""


class BuildError(MetaIndexError):
    """An index could not be built. Nothing became visible."""


class WorkerError(BuildError):
    """Spark's workers run a Python that cannot build an index: another version, or without the packages that are
    needed. Nothing was begun."""


class SettingError(MetaIndexError, ValueError):
    """A knob of Spark's rule was given a value that it cannot have."""


class StatementError(ArgumentError):
    """A statement about indexes that is not written as it should be. `text[at:end]` is what is wrong."""

    def __init__(self, message: str, text: str = "", at: int = 0, end: int = 0) -> None:
        super().__init__(message)
        self.text, self.at, self.end = text, at, end

    @property
    def place(self) -> tuple[int, int]:
        """The line and the column, both from 1 on."""
        return self.text.count("\n", 0, self.at) + 1, self.at - (self.text.rfind("\n", 0, self.at) + 1) + 1

    def __str__(self) -> str:
        return "line {}, column {}: ".format(*self.place) + super().__str__()


class ScanError(MetaIndexError):
    """Raised by a reader that cannot return exactly the rows asked for (those that Spark returns); it returns none."""

    @classmethod
    def for_spark(cls, fact: str) -> Self:
        """Return the error of rows that Spark reads."""
        return cls(fact, Cure("spark"))
