"""What holds a surface against an earlier one: each line of it is there, has a new name, or was removed on purpose.

`renamed.txt` has `old -> new` in each line, where both are names, or the beginnings of lines: every place of `old` in
the old surface counts as `new`. `removed.txt` has `beginning :: reason`: what begins so (a line, or all of a class or a
command) may be gone."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

HERE = Path(__file__).parent
SURFACE = HERE / "surface.txt"
BEGINNING = HERE / "surface-956c3373.txt"
RENAMED = HERE / "renamed.txt"
REMOVED = HERE / "removed.txt"


def surface(folder: Path) -> list[str]:
    """Every fact, once and in order. `folder`: an empty one."""
    from .answers import answer_lines
    from .command_line import code_lines, command_lines, setting_lines, statement_lines
    from .python_face import python_lines

    parts = (python_lines, command_lines, statement_lines, setting_lines, code_lines)
    return sorted({line for part in parts for line in part()} | set(answer_lines(folder)))


def entries(path: Path, sign: str) -> list[tuple[str, str]]:
    """The two sides of each line. ValueError for a line that has not both."""
    found = []
    for line in path.read_text().splitlines():
        left, middle, right = line.partition(f" {sign} ")
        if line.startswith("#") or not line.strip():
            continue
        if not (middle and left.strip() and right.strip()):
            raise ValueError(f"a line of {path.name} is written 'one {sign} other'; got {line!r}")
        found.append((left.strip(), right.strip()))
    return found


def lost(
    before: Iterable[str], now: Iterable[str], renamed: Sequence[tuple[str, str]], removed: Sequence[tuple[str, str]]
) -> list[str]:
    """Lines of `before` that nothing accounts for."""
    there = set(now)
    gone = [line for line in before if line not in there and _as_now(line, renamed) not in there]
    return [line for line in gone if not any(_begins(line, start) for start, _ in removed)]


def needless(
    before: Iterable[str], now: Iterable[str], renamed: Sequence[tuple[str, str]], removed: Sequence[tuple[str, str]]
) -> Iterator[str]:
    """Entries that account for nothing: what they name is there as ever, or never was."""
    there = set(now)
    gone = [line for line in before if line not in there]
    for old, new in renamed:
        if not any(_as_now(line, [(old, new)]) != line for line in gone):
            yield f"{old} -> {new}"
    for start, reason in removed:
        if not any(_begins(line, start) for line in gone):
            yield f"{start} :: {reason}"


def _as_now(line: str, renamed: Sequence[tuple[str, str]]) -> str:
    for old, new in renamed:
        line = re.sub(rf"(?<![\w.]){re.escape(old)}(?!\w)", lambda _, new=new: new, line)
    return line


def _begins(line: str, start: str) -> bool:
    return line.startswith(start) and not re.match(r"\w", line[len(start) :])


def difference(before: Sequence[str], now: Sequence[str]) -> str:
    """What went and what came, for a person."""
    went, came = sorted(set(before) - set(now)), sorted(set(now) - set(before))
    return "\n".join([*(f"- {line}" for line in went), *(f"+ {line}" for line in came)])
