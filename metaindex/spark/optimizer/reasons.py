"""Why a scan of a Spark query is read as without metaindex: a closed list. The Java rule uses the same names."""

from __future__ import annotations

from enum import Enum


class Reason(Enum):
    """The code, and what it means."""

    # of a whole plan
    DISABLED = "spark.metaindex.enabled is false"
    COMMAND = (
        "the plan writes by what its scans give (UPDATE, DELETE, MERGE), to what it reads, or to an Iceberg table; or"
        " it runs its query by itself"
    )
    STREAM = "the plan reads a stream"
    SAMPLE = "a sample depends on which files are read"
    NOT_DETERMINISTIC = (
        "an expression's value depends on more than its row, as input_file_name() does, and rand() wherever it chooses"
        " rows"
    )
    TOO_LATE = "what metaindex does in Spark was not done within spark.metaindex.timeoutSeconds"
    # of a scan
    OTHER_SOURCE = (
        "no Delta or Iceberg table, nor one folder of files; or it is rewritten already, by metaindex or, as an"
        " aggregate of what Iceberg's metadata knows, by Iceberg"
    )
    FILE_METADATA = "the query asks from which file a row comes"
    NO_FILTER = "no filter stands right above it"
    NOT_UNDERSTOOD = "nothing that its filters say can be judged from an index"
    READER_OPTIONS = (
        "it is read with other options, or in another session, than those that an index of it was built with, or that"
        " may change what its columns mean"
    )
    OTHER_TYPES = "the session reads its columns as other types than the files were indexed with"
    NO_VERSION = "the table has no version yet, or Iceberg does not tell which one is read"
    OTHER_TABLE = "another table was made at the place of the one that Spark has read"
    NO_INDEX = "there is no index that can be used"
    NOT_ALLOWED = "the session's settings, or a hint, allow none of the table's indexes"
    NOTHING_PROVED = "every file may hold a row that matches"
    CHANGED = (
        "the files that it would leave out were written, touched or replaced since it was refreshed, so they are read;"
        " refresh it"
    )
    UNSUPPORTED = "the table has what metaindex does not read, which the log told once"
    FAILED = "metaindex failed, which the log and `counts` tell"
    TABLES_OWN = "the table's own statistics leave out every file that it would"
    # of the first rows of an order, of some rows, and of an aggregate
    PART_UNKNOWN = "its filters say something that no index judges, so it is not known of which files every row passes"
    NO_THRESHOLD = "of too few rows it is known where they stand at worst: by an index's statistics of whole files"
    NOTHING_BEHIND = "every file may hold a row that comes as early"
    NOTHING_ANSWERED = (
        "of no file, of which every row passes, all that is asked is known exactly (sums are, by an index of Sums;"
        " different values, by ColumnStats and an index that keeps each: ValueList, or Values(by='value'))"
    )
    TEXT_VALUES = (
        "different values of CSV and JSON are told apart by Spark, whatever an index keeps of them, but for files that"
        " have one value each"
    )
    LINES = "where no column of CSV and JSON is asked, Spark counts lines, which are not rows; count a column"
    TOO_MANY_GROUPS = "what is known makes too many groups, or different values, to be put into a plan"
    NOTHING_CERTAIN = "of no file, or of all, every row passes"
    # of one index
    NOT_USABLE = "it is deleted, disabled, damaged, or being made"
    OTHER_COLUMNS = "it knows none of the columns that the filters name"
    # of a covering index
    NOT_COVERED = "it lacks a column that the query needs"
    NOT_ASKED = (
        "no filter names its leading column, no join shuffles by its indexed columns (none does of which Spark"
        " broadcasts a side), no group holds them, and it is not for an aggregate over CSV or JSON"
    )
    MAY_FAIL = "a filter might fail of a row that the scan would not have read, or is added when the query runs"
    OTHER_FIELDS = (
        "the fields of a struct are others than its rows have by these names: one was dropped, added again or renamed"
        " since; cover the fields that are needed, each by its path, or refresh it in full"
    )
    NOTHING_SERVED = "it has no file of the version"
    NO_HYBRID_SCAN = "it is behind the table, or ahead of the version, and spark.metaindex.hybridScan.enabled is false"
    TOO_MUCH_APPENDED = "it lacks more of the table than spark.metaindex.hybridScan.maxAppendedRatio allows"
    TOO_MUCH_DELETED = "more of it is deleted than spark.metaindex.hybridScan.maxDeletedRatio allows"
    COSTS_MORE = "another index, or none, is expected to cost less"


class Unasked(Enum):
    """Why the keys of a join leave no files out. The code, and what it means."""

    UNKNOWN_SIDE = (
        "Spark does not know how large the other side is; make it by VALUES, from Spark 4 on by createDataFrame of an"
        " Arrow table, or cache() and count() it"
    )
    LARGE_SIDE = (
        "the other side is not small: no filter makes it smaller, or it is beyond spark.metaindex.joins.sideBytes"
    )
    MANY_KEYS = (
        "no filter makes the other side smaller, and to collect its keys, more than spark.metaindex.joins.keys, costs"
        " more than the scan may save"
    )
    NO_BROADCAST = (
        "Spark does not broadcast the other side; under spark.metaindex.joins.queries a query of its own brings keys"
    )
