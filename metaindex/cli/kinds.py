"""What `metaindex create` is asked to build: its options as the kinds of an index."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from expressions.errors import ArgumentError

if TYPE_CHECKING:
    from metaindex.kinds.specs import Kind

Key = tuple[str, ...]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of each kind, in groups that say what the kind is for."""
    group = parser.add_argument_group("column statistics: for ranges, and columns whose values lie together in files")
    group.add_argument(
        "--stats",
        action="store_true",
        help="statistics of all columns; the default where no kind is named, and to be said beside other kinds",
    )
    group.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="C",
        help="statistics of only this column; can be repeated; a field of a struct is payload.user",
    )
    group.add_argument(
        "--no-float-scan",
        action="store_true",
        help="do not read float columns to count NaN: quicker to build, but >, >= and != on them then keep every file",
    )
    group.add_argument(
        "--trust-log",
        action="store_true",
        help="take the statistics that writers put into the table's log where they say enough, and open only the other files",
    )
    _keyed(
        parser,
        "values: which files and row groups hold a value? For look-ups of ids and names, exact",
        "--values",
        "key this column, or several as one (a,b); can be repeated",
    ).add_argument(
        "--by",
        choices=["hash", "value"],
        help="keep a hash of each value (smallest; answers = and IN; the default), or the values themselves, in order (ranges and prefixes as well)",
    )
    _keyed(
        parser,
        "bloom filters: as values, smaller and inexact",
        "--bloom",
        "a bloom filter of this column for each file, or of several columns as one (a,b); can be repeated",
    ).add_argument(
        "--fpp",
        type=float,
        metavar="P",
        help="the share of files without the value that are read in vain; default: 0.01",
    )
    _keyed(
        parser,
        "value lists: for columns with few values (a country, a state)",
        "--value-list",
        "the distinct values of this column in each file, or of several columns as one (a,b); can be repeated",
    ).add_argument(
        "--limit",
        type=int,
        metavar="N",
        help="of a file with more distinct values nothing is kept, and it is read; default: 1000",
    )
    group = parser.add_argument_group(
        "covering indexes: columns of every row kept a second time, for Spark to read in the place of the table"
    )
    group.add_argument(
        "--covering",
        action="append",
        nargs="+",
        default=[],
        metavar="WHAT=",
        help="bucketed by Spark's hash and sorted: indexed=day included=tailnum,dest buckets=64; for filters, joins and groups by the indexed columns; can be repeated",
    )
    group.add_argument(
        "--covering-range",
        action="append",
        nargs="+",
        default=[],
        metavar="WHAT=",
        help="in ranges and sorted: indexed=day included=tailnum; for ranges of the indexed columns; can be repeated",
    )


def _keyed(parser: argparse.ArgumentParser, title: str, option: str, text: str) -> argparse._ArgumentGroup:
    group = parser.add_argument_group(title)
    group.add_argument(option, action="append", default=[], type=_key, metavar="C[,C]", help=text)
    return group


def _key(text: str) -> Key:
    found = tuple(name.strip() for name in text.split(","))
    if not all(found):
        raise argparse.ArgumentTypeError(f"a key is a column, or columns separated by commas; got {text!r}")
    return found


_COVERING = {"--covering": ("indexed", "included", "buckets"), "--covering-range": ("indexed", "included")}


def _covering(option: str, words: list[str]) -> dict[str, Any]:
    """The parameters of a covering kind: `indexed=a,b included=c buckets=8`."""
    found: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or name not in _COVERING[option] or name in found:
            raise ArgumentError(
                f"{option} is followed by {', '.join(f'{one}=' for one in _COVERING[option])} each once at most; got {word!r}; as in {option} indexed=day included=a,b"
            )
        try:
            found[name] = int(value) if name == "buckets" else [one.strip() for one in value.split(",") if one.strip()]
        except ValueError as error:
            raise ArgumentError(f"buckets is a number; got {value!r}; as in buckets=64") from error
    if not found.get("indexed"):
        raise ArgumentError(f"{option} indexes at least one column; none is named; say {option} indexed=COLUMN")
    return found


def kinds_of(args: argparse.Namespace) -> list[Kind]:
    """The kinds that were asked for. ArgumentError for an option of a kind that is not among them."""
    from metaindex import Bloom, ColumnStats, Covering, CoveringRange, ValueList, Values

    found: list[Kind] = []
    keyed = args.values or args.bloom or args.value_list or args.covering or args.covering_range
    if args.stats or args.column or not keyed:
        found.append(ColumnStats(*args.column, scan_floats=not args.no_float_scan, trust_log=args.trust_log))
    if args.stats and args.column:
        raise ArgumentError("statistics are of all columns (--stats) or of some (--column); leave one out")
    for option, given, kind, keys in (
        ("--by", args.by, "--values", args.values),
        ("--fpp", args.fpp, "--bloom", args.bloom),
        ("--limit", args.limit, "--value-list", args.value_list),
    ):
        if given is not None and not keys:
            raise ArgumentError(
                f"{option} is of {kind}, which names no column; say {kind} COLUMN, or leave {option} out"
            )
    if args.values:
        found.append(Values(*args.values, by=args.by or "hash"))
    if args.bloom:
        found.append(Bloom(*args.bloom, **({} if args.fpp is None else {"fpp": args.fpp})))
    if args.value_list:
        found.append(ValueList(*args.value_list, **({} if args.limit is None else {"limit": args.limit})))
    found += [Covering(**_covering("--covering", words)) for words in args.covering]
    found += [CoveringRange(**_covering("--covering-range", words)) for words in args.covering_range]
    return found
