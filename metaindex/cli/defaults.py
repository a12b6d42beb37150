"""Default options in a file of the user's own, which need not be given with each command.

The file is `METAINDEX_CONFIG`, else `metaindex/config.toml` under XDG_CONFIG_HOME (`~/.config`). No folder that
somebody else may fill is looked at: who names the place of indexes, or a reader's options, decides what a query finds.

    [defaults]                      # of every command that has the option
    builder = "local"

    [tables.flights]                # metaindex prune flights "dep_delay > 1000"
    table = "s3://lake/flights"
    format = "csv"
    option = { header = false }

Keys are the long options of the command line. What the command line says goes before the file, and what a table's
section says before the defaults."""

from __future__ import annotations

import argparse
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path

from metaindex.core import ArgumentError, first_line, one_line

from .arguments import NotUnderstood, near

logger = logging.getLogger("metaindex")

KEYS = frozenset(
    {
        *("builder", "catalog", "catalog-option", "confine", "confine-to", "format", "index-location", "namespace"),
        *("option", "query-log", "root", "storage-option", "trust-index"),
    }
)
"""Options of how a table is opened and by whom it is read: nothing that deletes can be said here."""
_MOST_BYTES = 1 << 20
_CURE = "mend it, or name another file in METAINDEX_CONFIG"


def place(environ: Mapping[str, str]) -> Path | None:
    """Return the path of the defaults file, which may not exist. None: the user has no home, and nothing names one."""
    chosen, settings = environ.get("METAINDEX_CONFIG"), Path(environ.get("XDG_CONFIG_HOME", ""))
    try:
        if chosen:
            return Path(chosen).expanduser().absolute()
        folder = settings if settings.is_absolute() else Path.home() / ".config"
    except RuntimeError as error:  # nobody knows where a home is
        if chosen:
            raise ArgumentError(
                f"METAINDEX_CONFIG names a file; of {one_line(chosen)!r} nobody knows the home; write the whole path"
            ) from error
        return None
    return folder / "metaindex" / "config.toml"


def load(path: Path, *, needed: bool = False) -> dict[str, dict[str, object]]:
    """The sections: "" for the defaults, else by the table's name. None of a file that is not there, or that stands in
    a folder nobody may look into, which is warned of; unless it is `needed`. Raises ArgumentError for what is no such
    file, with the place in it."""
    shown = _shown(path)
    try:
        if path.is_fifo():  # it would be waited for
            raise ArgumentError(f"a file of options is a file; {shown} is a pipe; {_CURE}")
        with path.open("rb") as file:
            text = file.read(_MOST_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        if needed:
            raise ArgumentError(f"METAINDEX_CONFIG names a file; {shown} is none; unset it, or write it") from None
        return {}
    except OSError as error:
        if not needed and _out_of_sight(path):
            logger.warning(
                "no options are taken from %s, which cannot be looked at (%s); set HOME or XDG_CONFIG_HOME to a"
                " folder of your own",
                shown,
                error.strerror,
            )
            return {}
        raise ArgumentError(f"{shown} is read for its options; {error.strerror}; {_CURE}") from error
    import tomllib  # which whoever has no such file needs not wait for

    if len(text) > _MOST_BYTES:
        raise ArgumentError(f"a file of options has at most {_MOST_BYTES:,} bytes; {shown} has more; {_CURE}")
    try:
        whole = tomllib.loads(text.decode())
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"{shown} is TOML: {one_line(first_line(error))}; {_CURE}") from error
    return dict(_sections(path, whole))


def applied(
    parser: argparse.ArgumentParser,
    words: Sequence[str],
    parsed: argparse.Namespace,
    environ: Mapping[str, str] | None = None,
) -> argparse.Namespace:
    """The arguments, with what the file says beside the `words` from which they were parsed. What it says goes through
    the same parser. Raises ArgumentError for a file that says what cannot be."""
    environ = os.environ if environ is None else environ
    parsed.words = words
    path = place(environ)
    sections = {} if path is None else load(path, needed=bool(environ.get("METAINDEX_CONFIG")))
    name = getattr(parsed, "table", None)
    section = sections.get(name, {}) if isinstance(name, str) and name else {}
    if path is None or (not section and not sections.get("")):
        return parsed
    known = _options(parser, words[0])
    said = [word for each in (sections.get("", {}), section) for word in _words(each, known)]
    try:
        with redirect_stderr(StringIO()):  # where the parser would say it in a line of its own
            with_file = parser.parse_args([words[0], *said, *words[1:]])
    except NotUnderstood as stop:
        raise ArgumentError(f"{_shown(path)}: {stop.message.rpartition('; read ')[0]}; {_CURE}") from None
    with_file.words = words
    if section:
        with_file.table = str(section.get("table", name))
    return with_file


def names() -> tuple[str, ...]:
    """Return the names of tables that have a section in the file."""
    path = place(os.environ)
    sections = {} if path is None else load(path, needed=bool(os.environ.get("METAINDEX_CONFIG")))
    return tuple(name for name in sections if name)


def for_table(args: argparse.Namespace, name: str) -> argparse.Namespace:
    """The arguments of a command that is about several tables, as they are for one of them: with the options of its
    section, and where that says its `table`."""
    of_one = argparse.Namespace(**{**vars(args), "table": name})
    if name not in names():
        return of_one
    with_file = applied(args.whole, args.words, of_one)
    own = vars(with_file) if with_file is not of_one else {}
    return argparse.Namespace(**{**vars(of_one), **own, "table": getattr(with_file, "table", name)})


def _out_of_sight(path: Path) -> bool:
    """Return whether permissions of a parent folder hide if the file exists."""
    try:
        path.stat()
    except OSError:
        return True
    return False


def _sections(path: Path, whole: Mapping[str, object]) -> Iterator[tuple[str, dict[str, object]]]:
    for name in whole.keys() - {"defaults", "tables"}:
        raise ArgumentError(
            f"{_shown(path)} has the sections defaults and tables.NAME; got {one_line(name)!r}; {_CURE}"
        )
    yield "", _checked(path, "defaults", whole.get("defaults", {}), KEYS)
    tables = whole.get("tables", {})
    if not isinstance(tables, dict):
        raise ArgumentError(f"in {_shown(path)} each table has a section [tables.NAME]; got a value; {_CURE}")
    for name, section in tables.items():
        yield name, _checked(path, f"tables.{name}", section, KEYS | {"table"})


def _checked(path: Path, name: str, section: object, keys: frozenset[str]) -> dict[str, object]:
    shown = one_line(name)
    if not isinstance(section, dict):
        raise ArgumentError(f"[{shown}] of {_shown(path)} is a section; got a value; {_CURE}")
    for key, value in section.items():
        if key not in keys:
            hint = near(key, keys) or f"there are {', '.join(sorted(keys))}"
            raise ArgumentError(f"[{shown}] of {_shown(path)} has no option {one_line(key)!r}; {hint}")
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
        if not all(isinstance(each, str | bool | int | float) for each in inner):
            raise ArgumentError(f"[{shown}] of {_shown(path)}: {key} is a text, a number, true or false; {_CURE}")
        if key.endswith("option") != isinstance(value, dict):
            form = "a table such as { header = false }" if key.endswith("option") else "no table"
            raise ArgumentError(f"[{shown}] of {_shown(path)}: {key} is {form}; {_CURE}")
    return section


def _options(parser: argparse.ArgumentParser, command: str) -> frozenset[str]:
    """The long options of a command."""
    (commands,) = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return frozenset(word[2:] for word in commands.choices[command]._option_string_actions if word.startswith("--"))


def _words(section: Mapping[str, object], known: frozenset[str]) -> Iterator[str]:
    """Yield a section's settings as words of the command line, without settings that the command does not know."""
    for key, value in section.items():
        if key not in known or key == "table":  # sql has an option of this name, which is another
            continue
        if isinstance(value, dict):
            yield from (f"--{key}={name}={_word(each)}" for name, each in value.items())
        elif isinstance(value, bool):
            yield from [f"--{key}"] if value else []
        else:
            yield from (f"--{key}={_word(each)}" for each in (value if isinstance(value, list) else [value]))


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _shown(path: Path) -> str:
    return repr(one_line(str(path)))
