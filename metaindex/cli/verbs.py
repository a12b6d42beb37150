"""The commands that change an index, and verify."""

from __future__ import annotations

import argparse
from typing import Any

from metaindex.cli.output import Output
from metaindex.core import one_line
from metaindex.statements import VERBS

from . import arguments as arg
from .opening import open_from, open_to_build, report
from .output import Progress


def _verb(
    name: str,
    about: str,
    examples: tuple[str, ...],
    *parts: arg.Part,
    run: arg.Run | None = None,
    also: tuple[str, ...] = (),
) -> arg.Command:
    """Return the command of a verb that takes an index."""
    return arg.Command(
        name, VERBS[name].line, about, examples, (arg.TABLE, arg.INDEX, *parts), run or _runs(name), also
    )


def _mode(name: str, text: str) -> arg.Part:
    modes = VERBS[name].modes
    return arg.option("--mode", None, text, choices=modes, default=modes[0])


def _runs(name: str, *more: str) -> arg.Run:
    """Return what runs a verb. `more`: arguments of the method that are options of these names."""
    verb = VERBS[name]

    def run(args: argparse.Namespace, out: Output) -> int:
        asked = arg.kinds_of(args, usual=True) if name == "create" else ()
        how: dict[str, Any] = {name: getattr(args, name) for name in more}
        if not verb.options:
            return report(getattr(open_from(args), verb.method)(args.name, **how), out)
        table, how["builder"] = open_to_build(args, out)
        with Progress() as progress:
            return report(getattr(table, verb.method)(args.name, *asked, progress=progress, **how), out)

    return run


CREATE = arg.Command(
    "create",
    VERBS["create"].line,
    """Builds an index: reads every file of the table once and writes, beside the table, what is known of each.

Without further options the index holds column statistics: the least and greatest value and the counts of values, NULLs
and NaNs of every column in every file and every partition. They come from Parquet footers where those can be trusted,
else from a scan. They drop files for ranges, and for values that lie together; a value that may be anywhere (an id, a
name) is found by --values, exactly and down to the row group, or by --bloom, smaller. Kinds can be combined: all are
built from one reading of the files and answer together. Two columns as one key (--values a,b) find rows that have both.
A covering index (--covering) is not asked which files to read: Spark reads it in the place of the table, where a query
needs no other columns, and Spark builds it.
The table itself is not changed. When the build fails, nothing of it is visible.""",
    (
        "metaindex create lake/flights stats",
        "metaindex create lake/flights find --values tailnum                    which files hold a tail number?",
        "metaindex create lake/flights main --stats --values tailnum --value-list carrier",
        "metaindex create lake/flights by_day --covering indexed=day included=tailnum,dest buckets=64",
        "metaindex create lake/flights pair --values carrier,flight             rows that have both",
        "metaindex create lake/events find --values user_id --bloom url --fpp 0.001 --builder local",
        "metaindex create lake/flights stats --column dep_delay --column tailnum",
        "metaindex create lake/flights stats --history                          time travel is pruned, too",
        "metaindex create lake/flights_csv stats --format csv --option header=true --builder local",
        "metaindex create s3://lake/flights stats --storage-option region=eu-west-1",
    ),
    (
        arg.TABLE,
        arg.word("NAME", "the new index's name: letters, digits, _ . - (it becomes a folder)"),
        arg.kind_options,
        arg.BUILDER,
        arg.VERSION,
        arg.flag(
            "--history",
            "index the files that only older versions have, too, as far as they can still be read: time travel is then"
            " pruned as well",
        ),
        arg.flag(
            "--if-not-exists",
            "do nothing where there is an index of this name with the same kinds; one of other kinds is an error",
        ),
    ),
    _runs("create", "version", "timestamp", "history", "if_not_exists"),
)

REFRESH = _verb(
    "refresh",
    """Brings an index to the table's present version, or to an older one. Files that came are read, files that left
are remembered as gone. With --where or --under only some files are looked at: those are covered, and no version is
recorded.

Versions indexed before stay in the index, so a query of an older version (time travel) is served too. Queries go on
meanwhile: they use what the index held before, and read in full what it does not know.""",
    (
        "metaindex refresh lake/flights stats",
        "metaindex refresh lake/flights stats --mode full     after a file was found damaged, for example",
        "metaindex refresh lake/flights stats --where \"day = DATE '2026-11-21'\"",
    ),
    _mode(
        "refresh",
        "incremental (default) reads only files that the index does not cover; quick names them and reads none; full"
        " reads all again; identity is incremental, and takes over files of a plain folder that were copied, linked or"
        " chmodded, by a digest of what was indexed of each",
    ),
    arg.VERSION,
    arg.option("--where", "CONDITION", "only files of partitions that may match: names partition columns only"),
    arg.option("--under", "FOLDER", "only files below this folder of the table"),
    arg.BUILDER,
    run=_runs("refresh", "mode", "version", "timestamp", "where", "under"),
)

OPTIMIZE = _verb(
    "optimize",
    """Merges runs: each refresh adds one, and a query looks into all of them. Answers stay what they were, for every
version of the table; the table itself is not looked at (that is refresh). Runs that were merged stay on storage, for
the queries that read them, until clean. The rows of covering indexes are merged by Spark, a task a bucket or more;
what else an index has is merged here, and no Spark is started for it.""",
    (
        "metaindex indexes lake/flights stats                shows the number of runs",
        "metaindex optimize lake/flights stats",
        "metaindex optimize lake/flights stats --mode full",
    ),
    _mode("optimize", "quick (default) merges small runs, full merges all into one set of sorted parts"),
    arg.MERGING_BUILDER,
    run=_runs("optimize", "mode"),
)


CLEAN = _verb(
    "clean",
    """Removes runs that are out of use (merged, or replaced by a full refresh) for longer than the retention, what
writers that died left behind, and old log entries. The query log of the table, where it has one, is bounded and its
small files become one. Queries and other verbs go on meanwhile: nothing is taken that
they may need. The table's own files are never touched.

--erase is for what must be gone: it rewrites the runs without the values of files that left the table and of rows that
were deleted in files that stay, as far as no version that the table can still read holds them, and removes the old runs
at once. Run it after the table's own VACUUM or snapshot expiry.""",
    (
        "metaindex clean lake/flights stats",
        "metaindex clean lake/flights stats --retention 12h",
        "metaindex clean lake/flights stats --erase",
    ),
    arg.option(
        "--retention",
        "TIME",
        "spare what was in use so recently, for queries that run: such as 12h, 7d (default) or 0s",
        type=arg.duration,
    ),
    arg.flag(
        "--erase", "take out, at once, every value that no retained version of the table holds; overrides the retention"
    ),
    arg.MERGING_BUILDER,
    run=lambda args, out: _runs(*(["erase"] if args.erase else ["clean", "retention"]))(args, out),
)


def _verify(args: argparse.Namespace, out: Output) -> int:
    from metaindex.table import UnreadFiles, handle_of

    table = open_from(args)
    with Progress() as progress:
        verification = table.verify_index(
            args.name,
            files=args.files,
            versions="all" if args.all_versions else "newest",
            predicates=args.where,
            progress=progress,
        )
    unread = next(iter(verification.unread_why), None)
    step = None if unread is None else UnreadFiles(handle_of(table)).next_step(args.name, unread)
    helps = "" if step is None else step.command
    out.data({**verification.to_json(), "commands": [helps] if helps else []})
    out.write(str(verification))
    if helps:
        out.write(f"  what helps: {one_line(helps)}")
    if verification.findings:
        out.say("metaindex: queries read more where the index cannot be read; metaindex repair rebuilds what is wrong")
        return arg.WRONG
    if verification.unproven:
        out.say("metaindex: whether the index is right is not known: no data file could be read to compare it with")
        return arg.FAILED
    return arg.DONE


VERIFY = _verb(
    "verify",
    """Reads an index back and compares: the entries of its log, every value of its runs (digests, page checksums, and
whether what follows from one part stands in the other), its recorded versions against the table's own lists of files,
and what it says of a sample of data files against every row in them. Changes nothing; what is found is one line each:

  log         an entry of the index's log cannot be read
  version     a recorded version names other files, or other deletes, than the table
  run         a part of a run is missing, damaged, or does not fit the others
  statistics  bounds or counts that are not true of a data file's rows
  keys        values that an inverted index, a value list or a bloom filter names of a data file, and that are not those
              of its rows
  dropped     with --where: a file that was proved out holds a row that matches

exit code 3: something is wrong (besides those below); 1, too: none of the data files that were to be compared could be
read. Where some could, the index is right as far as these show, which is said.""",
    (
        "metaindex verify lake/flights stats",
        "metaindex verify lake/flights stats --files all --all-versions      reads the whole table",
        (
            "metaindex verify lake/flights stats --where \"dest = 'ABQ'\"          reads the files that this predicate"
            " does not need"
        ),
    ),
    arg.FILES_READ,
    arg.flag("--all-versions", "compare every recorded version with the table's own files; default: the last three"),
    arg.many(
        "--where", "PREDICATE", "read the files that the index proves out for this predicate: no row of them may match"
    ),
    run=_verify,
)

REPAIR = _verb(
    "repair",
    """Verifies an index and rebuilds what is wrong with it, no more: the data files of damaged or missing runs are
read again, what is right stays. The table is not touched, and queries go on meanwhile. An index with nothing wrong is
left as it is. Where even the newest log entry is damaged, the index goes on from the newest one that can be read.""",
    (
        "metaindex repair lake/flights stats",
        "metaindex repair lake/flights stats --files all       compares every data file before",
    ),
    arg.FILES_READ,
    arg.BUILDER,
    run=_runs("repair", "files"),
)

ENABLE = _verb(
    "enable",
    """Lets queries use an index that `disable` took out. It was refreshed meanwhile, if anybody did.""",
    ("metaindex enable lake/flights stats",),
)

DISABLE = _verb(
    "disable",
    """Takes an index out of use at once: queries do without it until `enable`. Unlike with `drop` it is still
refreshed, optimized and cleaned.""",
    ("metaindex disable lake/flights stats", "metaindex enable lake/flights stats"),
)


DROP = _verb(
    "drop",
    """Drops an index softly: no query uses it from now on, its files stay. `restore` brings it back as it was,
`vacuum` removes the files for good.""",
    ("metaindex drop lake/flights stats", "metaindex restore lake/flights stats"),
    also=("delete",),
)

RESTORE = _verb(
    "restore",
    """Brings back an index that was dropped and not yet vacuumed. It is what it was when it was dropped: refresh it
when the table changed since.""",
    ("metaindex restore lake/flights stats",),
)

CANCEL = _verb(
    "cancel",
    """Ends the operations that are under way on an index, for when the process that began one has died. What the index
held before stays in use; a writer that is alive after all fails when it commits, and nothing of its work is
visible.""",
    (
        "metaindex indexes lake/flights          shows the state, such as REFRESHING",
        "metaindex cancel lake/flights stats",
    ),
)

VACUUM = _verb(
    "vacuum",
    """Removes the files of an index that was dropped before. This cannot be undone; the name is free afterwards.
The table's own files are never touched.""",
    ("metaindex drop lake/flights stats", "metaindex vacuum lake/flights stats"),
)
