"""Reader options: what makes rows of the files of a CSV or JSON table, beside their bytes.

A table that is opened without options is read with those of its indexes. Opened with options, they mean what the
index's do, or that index is not used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import ClassVar, Final, TypeAlias

from metaindex.core import Cure
from metaindex.expressions import text_sql, value_sql

READER: Final = (
    *("schema", "header", "encoding", "multiLine", "glob", "sep", "delimiter", "quote", "escape", "basePath"),
    *("maxColumns", "lineSep", "recursiveFileLookup", "mergeSchema", "comment", "nullValue", "emptyValue", "nanValue"),
    *("dateFormat", "timestampFormat", "timestampNTZFormat", "timeZone", "ignoreLeadingWhiteSpace"),
    *("ignoreTrailingWhiteSpace", "inferSchema"),
)
"""Those that messages name."""
FLAGS: Final = frozenset({"header", "inferSchema", "multiLine", "mergeSchema", "recursiveFileLookup"})
"""Those that are true or false."""
KNOWN: Final = (
    *READER,
    *("format", "file_format", "path", "paths", "pathGlobFilter", "modifiedBefore", "modifiedAfter", "compression"),
    *("codec", "ignoreCorruptFiles", "ignoreMissingFiles", "datetimeRebaseMode", "int96RebaseMode"),
    *("serialization.format", "mode", "charset", "wholeFile", "charToEscapeQuoteEscaping"),
    *("prefersDate", "preferDate", "enforceSchema", "positiveInf", "negativeInf", "timeFormat", "maxCharsPerColumn"),
    *("columnNameOfCorruptRecord", "quoteAll", "escapeQuotes", "locale", "unescapedQuoteHandling", "samplingRatio"),
    *("columnPruning", "inputBufferSize", "inferTimestampNTZ", "primitivesAsString", "prefersDecimal"),
    *("allowComments", "allowUnquotedFieldNames", "allowSingleQuotes", "allowNumericLeadingZeros"),
    *("allowBackslashEscapingAnyCharacter", "allowUnquotedControlChars", "allowNonNumericNumbers"),
    *("dropFieldIfAllNull", "enableDateTimeParsingFallback", "singleVariantColumn", "parseMode", "inferTimestamp"),
    *("maxNestingDepth", "maxNumLen", "maxStringLen", "ignoreInvalidPartitionPaths", "wholetext", "pretty"),
    *("ignoreNullFields", "extension", "useUnsafeRow", "writeNonAsciiCharacterAsCodePoint"),
)
"""Options that Spark's readers of Parquet, CSV and JSON have (and its writers, which say them side by side), and
ours."""
_SPELLED: Final = {name.lower(): name for name in KNOWN}


def spelled(name: str) -> str:
    """Return the proper spelling of an option's name; an unknown one stays as it is."""
    return _SPELLED.get(name.lower(), name)


def is_known(name: str) -> bool:
    return name.lower() in _SPELLED


def meant(name: str) -> str | None:
    """The option that a name is nearly the one of; None where it is one, or near to none."""
    near = [] if is_known(name) else get_close_matches(name.lower(), _SPELLED, n=1, cutoff=0.8)
    return _SPELLED[near[0]] if near else None


_Plain: TypeAlias = str | int | float | bool
_TEXTS: Final = frozenset({"csv", "json"})
_FOLDERS: Final = frozenset({"recursivefilelookup", "basepath"})
"""Of Parquet files those count that say which columns folders have: a file may hold another value of such a column."""
_CHOOSING: Final = frozenset({"glob", "pathglobfilter", "modifiedbefore", "modifiedafter"})
_PLACES: Final = frozenset({"path", "format", "file_format", "storage_options"})
_OTHER_NAMES: Final = {"delimiter": "sep", "charset": "encoding", "wholefile": "multiline", "preferdate": "prefersdate"}
_ANY_CASE: Final = frozenset(
    {
        *("recursivefilelookup", "header", "ignoreleadingwhitespace", "ignoretrailingwhitespace", "enforceschema"),
        *("multiline", "mode", "encoding", "prefersdate", "primitivesasstring"),
    }
)
_OF_OTHERS: Final = frozenset(
    {
        *("path", "paths", "basepath", "serialization.format", "recursivefilelookup", "pathglobfilter", "glob"),
        *("modifiedbefore", "modifiedafter", "mergeschema", "schema", "inferschema", "samplingratio"),
        *("infertimestampntz", "prefersdecimal", "dropfieldifallnull", "compression", "columnpruning", "timezone"),
        *("ignorecorruptfiles", "ignoremissingfiles"),
    }
)  # fmt: skip
"""Options that choose files, or columns and types, which are compared as such; `zone` is asked for where it matters."""
_DEFAULTS: Final[Mapping[str, Mapping[str, str]]] = {
    "csv": {
        "header": "false", "sep": ",", "quote": '"', "escape": "\\", "comment": "", "nullvalue": "", "emptyvalue": "",
        "ignoreleadingwhitespace": "false", "ignoretrailingwhitespace": "false",
        "nanvalue": "NaN", "positiveinf": "Inf", "negativeinf": "-Inf",
        "enforceschema": "true", "multiline": "false", "mode": "permissive", "encoding": "utf-8", "prefersdate": "true",
    },
    "json": {
        "multiline": "false", "mode": "permissive", "encoding": "utf-8", "prefersdate": "true",
        "primitivesasstring": "false",
    },
}  # fmt: skip
"""Spark's."""
_ZULU: Final = frozenset({"utc", "z", "gmt", "etc/utc", "+00:00"})
_MOST_SCHEMA: Final = 100


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """`file_format`: empty where nobody said it. `said`: Spark's options as they were said, as plain data; a schema is
    its text, where a text says all of it, else one that fits itself alone."""

    NAMES: ClassVar[Sequence[str]] = READER
    """Options that messages name, as they are spelled."""
    spelled: ClassVar = staticmethod(spelled)
    known: ClassVar = staticmethod(is_known)
    nearest: ClassVar = staticmethod(meant)

    file_format: str
    said: Mapping[str, _Plain]

    @classmethod
    def of(cls, options: Mapping[str, object]) -> ReadOptions:
        """Take them from what was said beside a path, or from what an index keeps."""
        said: dict[str, _Plain] = {
            name: value
            for name, value in options.items()
            if isinstance(value, str | int | float | bool) and name not in _PLACES
        }
        if (schema := options.get("schema")) is not None:
            said["schema"] = _schema(schema)
        return cls(str(options.get("file_format") or options.get("format") or ""), said)

    @classmethod
    def of_spark(cls, file_format: str, options: Mapping[str, object]) -> ReadOptions:
        """Take them from a scan of Spark's, which reads no header unless an option says that there is one."""
        header = {"header": "false"} if file_format == "csv" else {}
        return cls.of({**header, **options, "file_format": file_format})

    @property
    def rows(self) -> Mapping[str, str]:
        """Return those that have a say in the rows of CSV and JSON files, without Spark's defaults: readers of the same
        ones, with the same columns and time zone, show the same rows."""
        defaults = _DEFAULTS.get(self.file_format, {})
        rows = {"header": "true"} if self.file_format == "csv" else {}
        rows |= {key: text for key, text in map(_as_read, self.said.items()) if key not in _OF_OTHERS}
        return {key: text for key, text in rows.items() if defaults.get(key) != text}

    @property
    def telling(self) -> frozenset[str]:
        """Return the names of those that are not Spark's defaults, or have another default here."""
        defaults = dict(_DEFAULTS.get(self.file_format, {}), header=None, sep=None)
        read = {name: _as_read((name, value)) for name, value in self.said.items()}
        return frozenset(name for name, (key, text) in read.items() if defaults.get(key) != text)

    def zone(self, default: str) -> str:
        """Return the time zone in which texts without one are read."""
        named = [str(value) for name, value in self.said.items() if name.lower() == "timezone"]
        zone = named[-1] if named else default
        return "UTC" if zone.lower() in _ZULU else zone

    @property
    def fingerprint(self) -> str:
        """Return a text that is equal for options that mean the same."""
        return "\0".join([self.file_format, *(f"{name}={text}" for name, text in sorted(self.meant.items()))])

    @property
    def is_text(self) -> bool:
        """Return whether rows are what the options make of texts."""
        return self.file_format in _TEXTS

    @property
    def reads_texts_whole(self) -> bool:
        """Return whether they are of text files, and choose none among these."""
        return self.is_text and not _CHOOSING & self.meant.keys()

    @property
    def in_text(self) -> Mapping[str, _Plain]:
        """Return those that are text: not a schema that no text says."""
        return {name: value for name, value in self.said.items() if name != "schema" or not str(value).startswith("?")}

    @staticmethod
    def in_sql(name: str, options: Sequence[tuple[str, object]]) -> str:
        """Write a table, as it is named, with its reader options."""
        said = ", ".join(f"{text_sql(key)} = {value_sql(value)}" for key, value in options)
        return f"{name} WITH ({said})" if options else name

    @property
    def meant(self) -> Mapping[str, str]:
        """Return them by lower-case name, each as one text, without those that change nothing."""
        meant: dict[str, str] = {}
        for name, value in self.said.items():
            key, text = _name(name), str(value)
            if key in _ANY_CASE or isinstance(value, bool):
                text = text.lower()
            if (key, text) != ("recursivefilelookup", "false"):
                meant[key] = _schema(value) if key == "schema" else text
        return {name: text for name, text in meant.items() if name != "inferschema" or "schema" not in meant}

    def or_of(self, built: ReadOptions) -> ReadOptions:
        """Return those of an index if none were given here, nor another format."""
        return self if self.said or built._is_other_format(self) else built

    def lends_schema(self, asked: ReadOptions) -> bool:
        """Return whether an index of Parquet files has a schema as text, and none is asked for. It makes no other
        index, but maybe none of the files tells its columns."""
        return self.file_format == "parquet" and "schema" in self.in_text and "schema" not in asked.meant

    def differing(self, asked: ReadOptions) -> tuple[str, ...]:
        """Return the names of options that make an index built with these one of other values than are asked for."""
        built, now = dict(self.meant), dict(asked.meant)
        if not self.is_text:
            built, now = ({name: said[name] for name in _FOLDERS & said.keys()} for said in (built, now))
        elif now.get("header") == "true" and "header" not in built:
            del now["header"]  # an index keeps none where one goes without saying
        names = {name for name in built.keys() | now.keys() if built.get(name) != now.get(name)}
        names -= {"inferschema"} if "schema" in names else set()
        return (*map(spelled, sorted(names)), *(["format"] if self._is_other_format(asked) else []))

    def why_not(self, asked: ReadOptions) -> str:
        """Return why an index built with these is not used for what is asked; empty if it may be."""
        differing = self.differing(asked)
        return f"it was built with other reader options ({', '.join(differing)})" if differing else ""

    def cure(self, asked: ReadOptions, *, otherwise: str = "") -> str:
        """Return the cure for an index built with these where others are asked for. `otherwise`: an alternative."""
        return f"open the table {self.in_words(*self.apart(asked))}, {otherwise}or create another index"

    def apart(self, asked: ReadOptions) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the differing options that an index was built with, as Python says them, and the names of those
        without. If one schema was inferred that is named too, in place of a schema that is to go."""
        built = {_name(name): value for name, value in {**self.said, "format": self.file_format}.items()}
        inferred = ("inferschema" in built) != any(name.lower() == "inferschema" for name in asked.said)
        with_, without = [], []
        for differing in self.differing(asked):
            for name in ("inferSchema", "schema") if differing == "schema" and inferred else (differing,):
                if name.lower() in built:
                    with_.append(_SaidOption.of(name, built[name.lower()]))
                elif name != "schema" or "inferSchema" not in without:
                    without.append(name)
        return tuple(with_), tuple(without)

    @staticmethod
    def in_words(with_: Sequence[str], without: Sequence[str]) -> str:
        """Word options, as in "with sep=';' and without escape". A schema, and that it was inferred, say the same."""
        parts = {"with": ReadOptions.said_once(with_), "without": ", ".join(without)}
        return " and ".join(f"{word} {names}" for word, names in parts.items() if names)

    @staticmethod
    def said_once(with_: Sequence[str]) -> str:
        """Word options, without `inferSchema` if a schema is among them: either says the same."""
        valued = {said.name: said.value for said in with_ if isinstance(said, _SaidOption) and said.value is not None}
        rest = [str(said) for said in with_ if not (isinstance(said, _SaidOption) and said.name in valued)]
        if "schema" in valued:
            valued.pop("inferSchema", None)
        return ", ".join([*([str(Cure("readers", *valued.items()))] if valued else []), *rest])

    @staticmethod
    def as_spark_says(with_: Sequence[str], without: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return options that differ as Spark is told them: `inferSchema` excludes `schema`, and `header` defaults to
        false."""
        options = [said for said in with_ if isinstance(said, _SaidOption)]
        if any(said.name == "inferSchema" and said.value is True for said in options):
            options = [said for said in options if said.name != "schema"]
        if "header" in without:
            options = [_SaidOption.of("header", True), *options]
        return tuple(options), tuple(name for name in without if name != "header")

    def _is_other_format(self, asked: ReadOptions) -> bool:
        return bool(self.file_format and asked.file_format) and self.file_format != asked.file_format


class _SaidOption(str):
    """An option as Python says it, or words for a schema that is not said: then `value` is None."""

    name: str
    value: str | bool | None

    @classmethod
    def of(cls, name: str, value: object) -> _SaidOption:
        """Write an option. A schema that is long or not text is left out."""
        text, said = str(value), None
        if not (name == "schema" and (text.startswith("?") or len(text) > _MOST_SCHEMA)):
            flag = isinstance(value, bool) or (name in FLAGS and text.lower() in ("true", "false"))
            said = text.lower() == "true" if flag else text
        made = cls("the schema of the index" if said is None else f"{name}={said!r}")
        made.name, made.value = name, said
        return made


def _as_read(option: tuple[str, _Plain]) -> tuple[str, str]:
    name, value = option
    key = _OTHER_NAMES.get(name.lower(), name.lower())
    return key, str(value).lower() if key in _ANY_CASE or isinstance(value, bool) else str(value)


def _name(option: str) -> str:
    return "sep" if option.lower() == "delimiter" else option.lower()


def _schema(schema: object) -> str:
    from .schema_text import schema_said  # few tables are of texts

    return schema_said(schema)
