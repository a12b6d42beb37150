"""The errors of all rooms, one tree.

    MetaIndexError
    ├── ExpressionError (ValueError)          a predicate that cannot be built, parsed or bound
    │   ├── UnknownColumnError (KeyError)     a column the table does not have; says the near names
    │   ├── AmbiguousColumnError              a name that fits two columns when case is ignored
    │   └── LiteralTypeError (TypeError)      a literal that the column's type cannot hold without loss
    ├── FormatError                           what is on storage is not what the format's specification says
    │   ├── NotATableError (FileNotFoundError)
    │   │   └── EmptyFilesError               files that are named as data, none of which has a byte
    │   ├── UnsupportedFeatureError           a feature by name, refused whole rather than half read
    │   ├── CorruptTableError                 a log, manifest or deletion vector that is damaged; names table, version,
    │   │                                     file
    │   └── VersionNotFoundError (LookupError)
    ├── StorageError (OSError)
    │   ├── ObjectNotFoundError (FileNotFoundError)
    │   ├── ObjectExistsError (FileExistsError)   put_if_absent lost: an ordinary answer
    │   ├── StoragePermissionError (PermissionError)
    │   ├── OutsideTableError (PermissionError)   a file that a confined table may not have
    │   └── StorageUnavailableError (ConnectionError)  no answer after all tries: nothing is known of the object
    ├── MissingDependencyError (ImportError)  an optional engine that is not installed; says the extra
    ├── ArgumentError (ValueError, TypeError)  a verb was called with what it cannot take
    └── those of indexes: drawn in metaindex/core/errors.py

Every message is one line: the rule, the fact, the cure.
"""

from typing import ClassVar, NamedTuple, Self

from .texts import one_line


class MissingOption(NamedTuple):
    """A reader option with which files may be read that cannot be without it."""

    name: str
    value: str | bool


class MetaIndexError(Exception):
    """Root of every error that this project raises on purpose. Its message is one line: a name of a file or column in
    it that holds a line break, or would steer the terminal on which a traceback is shown, is written with escapes."""

    missing: MissingOption | None = None
    named: str = ""
    """The name, of a column or an index, that is at fault."""

    def without(self, option: str, value: str | bool) -> Self:
        """Return the error itself, marked as one of files that lack a reader option."""
        self.missing = MissingOption(option, value)
        return self

    def of(self, name: str) -> Self:
        """Return the error itself, marked as one of this name."""
        self.named = name
        return self

    def __str__(self) -> str:
        return one_line("; ".join(map(str, self.args)))  # a `Cure` behind the message is said as whoever asks says it


class ExpressionError(MetaIndexError, ValueError):
    """A predicate that cannot be built, parsed or bound to a schema."""


class UnknownColumnError(ExpressionError, KeyError):
    """A predicate names a column that the table does not have."""


class AmbiguousColumnError(ExpressionError):
    """A name fits more than one column when case is ignored."""


class LiteralTypeError(ExpressionError, TypeError):
    """A literal that a column's type cannot hold without loss."""


class FormatError(MetaIndexError):
    """Raised if stored data does not follow the table format's specification."""


class NotATableError(FormatError, FileNotFoundError):
    """The path holds no table of any known format."""


class EmptyFilesError(NotATableError):
    """The path holds files that are named as a table's are, and none of them has a byte."""


class UnsupportedFeatureError(FormatError):
    """The table uses a feature, named in the message, that is refused rather than half read."""


class CorruptTableError(FormatError):
    """A log, manifest, footer or deletion vector is damaged."""


class VersionNotFoundError(FormatError, LookupError):
    """The table has no such version, or no longer."""


class StorageError(MetaIndexError, OSError):
    """A storage call failed."""


class ObjectNotFoundError(StorageError, FileNotFoundError):
    """The object does not exist."""


class ObjectExistsError(StorageError, FileExistsError):
    """Raised if put_if_absent finds an object: another writer won."""


class StoragePermissionError(StorageError, PermissionError):
    """The storage does not let us read or write here."""


class OutsideTableError(StorageError, PermissionError):
    """Raised for a file outside of the root of a confined table, and of the configured prefixes."""


class StorageUnavailableError(StorageError, ConnectionError):
    """The store gave no answer after all tries. Nothing is known of the object: try again later."""


class MissingDependencyError(MetaIndexError, ImportError):
    """An optional engine is not installed."""

    DISTRIBUTION: ClassVar[str] = "metaindex-lake"
    """What is installed; what is imported has another name, which on the package index is another project's."""

    @classmethod
    def lacking(cls, use: str, *packages: str) -> Self:
        """Return the error of a use that needs packages which extras bring."""
        extras = ",".join(map(cls._extra, packages))
        return cls(f"{use} needs {', '.join(packages)}; not installed: pip install '{cls.DISTRIBUTION}[{extras}]'")

    @classmethod
    def _extra(cls, package: str) -> str:
        """Return the declared extra that brings a package: that of its own name, else the first."""
        from importlib import metadata

        from packaging.requirements import Requirement

        try:
            about = metadata.metadata(cls.DISTRIBUTION)
        except metadata.PackageNotFoundError:  # imported from a folder
            return package
        needs = [need for need in map(Requirement, about.get_all("Requires-Dist", ())) if need.name == package]
        extras = [
            extra
            for extra in about.get_all("Provides-Extra", ())
            if any(need.marker is not None and need.marker.evaluate({"extra": extra}) for need in needs)
        ]
        return package if package in extras else (*extras, package)[0]


class ArgumentError(MetaIndexError, ValueError, TypeError):
    """A verb was called with an argument that it cannot take: of a wrong type, or a value that it does not have.
    Nothing was done."""


_DIGITS = "Exceeds the limit ("


def first_line(error: BaseException, *, named: bool = False) -> str:
    """Return a foreign error as one line: its first line, or its class name if it has no text or cannot be printed.
    Never raises, since it runs while another error is being handled. For Python's own limits it names the limit that
    was reached, not how to raise it; for an error of py4j, which says only that a call failed, it is Spark's message.
    `named`: after the error's class name, where 'schema' (a KeyError) alone says nothing."""
    limit, said, name = _limit_met(error), _first_line(error), type(error).__name__
    return limit or (f"{name}: {said[:200]}" if named and said != name else said)


def _limit_met(error: BaseException) -> str | None:
    if isinstance(error, RecursionError):
        return _TOO_DEEP
    said = _first_line(error)
    if isinstance(error, ValueError) and _DIGITS in said:
        return "it has a number of too many digits"
    return said if said == _TOO_DEEP else None


_TOO_DEEP = "it is nested too deep"


def _first_line(error: BaseException) -> str:
    try:
        said = _said_by_spark(error) or str(error)
    except Exception:  # noqa: BLE001 - a stranger's error, whatever is wrong with it
        said = ""
    return next((line for line in said.splitlines() if line.strip()), type(error).__name__)


def _said_by_spark(error: BaseException) -> str:
    """The message of an error that PySpark has no class for: Java's, perhaps of its cause."""
    try:
        outer = thrown = getattr(error, "java_exception", None)
        while thrown is not None and not str(thrown.getClass().getName()).startswith("org.apache.spark."):
            thrown = thrown.getCause()
        said = outer if thrown is None else thrown
        return "" if said is None else str(said.toString())
    except Exception:  # noqa: BLE001 - the JVM may be gone, and the error that is told of is the one that matters
        return ""
