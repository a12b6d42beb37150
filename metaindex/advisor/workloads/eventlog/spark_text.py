"""Conditions as Spark prints them in its plans (`((dest#5 = SEA) AND id#1L INSET 1, 2)`), into predicates.

Texts stand there without quotes, so not every line tells one condition: what can be read in two ways is `Unclear`, and
is never guessed. What is read becomes the nodes of a plan, which are read by an allow-list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from metaindex.core import ExpressionError, dataclass
from metaindex.expressions import And, CatalystNodes, Leaf, Not, Opaque, Or, Predicate, to_predicate

_NAMES: Final = {
    "tinyint": "byte",
    "smallint": "short",
    "int": "integer",
    "bigint": "long",
    **dict.fromkeys(("boolean", "float", "double", "string", "binary", "date", "timestamp", "timestamp_ntz")),
}
_DECIMAL: Final = re.compile(r"decimal\(\d{1,2},-?\d{1,2}\)")
_TEXT: Final = re.compile(r"(?:char|varchar)\(\d+\)")
_DEEPEST_TYPE: Final = 50


def fields_of(text: str) -> dict[str, str]:
    """The fields of a struct and their types, as they are written; of a text that is cut those that are whole."""
    fields: dict[str, str] = {}
    if not text.startswith("struct<"):
        return fields
    whole = text.endswith(">") and text.count("<") == text.count(">")
    parts = [*split(text[len("struct<") : -1 if whole else None], ",", "<(", ">)")]
    for part in parts if whole else parts[:-1]:
        name, colon, type_ = part.partition(":")
        if colon:
            fields[name] = type_
    return fields


def json_type(text: str, depth: int = 0) -> Any:
    """Return the type as in Spark's JSON; None for a type whose conditions are not read."""
    if text in _NAMES:
        return _NAMES[text] or text
    if _DECIMAL.fullmatch(text):
        return text
    if _TEXT.fullmatch(text):
        return "string"
    if not text.startswith("struct<") or depth > _DEEPEST_TYPE:
        return None
    fields = [
        {"name": name, "type": json_type(type_, depth + 1), "nullable": True, "metadata": {}}
        for name, type_ in fields_of(text).items()
    ]
    return {"type": "struct", "fields": fields}


def leaves_of(name: str, text: str, depth: int = 0) -> Iterator[tuple[str, ...]]:
    """The paths of the fields that are no structs."""
    fields = fields_of(text) if depth <= _DEEPEST_TYPE else {}
    if not fields:
        yield (name,)
    for inner, type_ in fields.items():
        yield from ((name, *rest) for rest in leaves_of(inner, type_, depth + 1))


_DEEPEST: Final = 200
_OPERATOR: Final = re.compile(r" (AND|OR|<=>|<=|>=|=|<|>|[-+*/%&|^]|\|\|) ")
_STEP: Final = re.compile(r"\(| (?:AND|OR|<=>|<=|>=|=|<|>|[-+*/%&|^]|\|\|) ")
NUMBERED: Final = re.compile(r"#\d+")
"""Behind the name of an attribute."""
_SUFFIX: Final = re.compile(r"#\d+L?")
_NAMED: Final = re.compile(r"(?<!\w)(\w++)#\d+")
_NO_COLUMNS: Final = frozenset({"subquery", "dynamicpruning"})
_WHOLE_CALL: Final = re.compile(r"(\w+)\((.*)\)", re.DOTALL)
_OPEN: Final = re.compile(r" (?:INSET|LIKE) ")
_MOST_SHOWN: Final = 300
CUT: Final = re.compile(r"\.\.\.(?: \d+ more fields?)?\)*\Z")
"""How what is cut ends."""


def printed_parts(text: str) -> Iterator[str]:
    """The conditions in a list `[a, b]`. Behind members of a list and patterns, which stand in no bracket, what no
    column is in belongs to them. Of a list that is cut the last is cut, too."""
    whole = text.endswith("]")
    inner = text[1:-1] if whole else text[1:]
    held: str | None = None
    for part in split(inner, ", "):
        if held is not None and _OPEN.search(held) and not NUMBERED.search(part):
            held = f"{held}, {part}"
            continue
        if held:
            yield held
        held = part
    if held:
        yield held if whole or CUT.search(held) else f"{held}..."


def conjuncts_of(text: str, depth: int = 0) -> Iterator[str]:
    """The parts of ANDs, as they are printed."""
    closing = closings(text)
    if depth < _DEEPEST and text.startswith("(") and closing.get(0) == len(text) - 1:
        operator = first_operator(text, closing, 1, len(text) - 1)
        if operator is not None and operator[1] == "AND":
            yield from conjuncts_of(text[1 : operator.start()], depth + 1)
            yield from conjuncts_of(text[operator.end() : -1], depth + 1)
            return
    yield text


def printed_columns(text: str) -> tuple[str, ...]:
    """Return the names of the columns in a condition that is not understood."""
    return tuple(dict.fromkeys(name for name in _NAMED.findall(text) if name not in _NO_COLUMNS))


def closings(text: str) -> dict[int, int]:
    """Map the position of each bracket to that of its closing bracket."""
    closing: dict[int, int] = {}
    opened: list[int] = []
    for bracket in re.finditer(r"[()]", text):
        if bracket[0] == "(":
            opened.append(bracket.start())
        elif opened:
            closing[opened.pop()] = bracket.start()
    return closing


def first_operator(text: str, closing: Mapping[int, int], start: int, end: int) -> re.Match[str] | None:
    """Return the first operator outside of brackets, or None."""
    at = start
    while (step := _STEP.search(text, at, end)) is not None:
        if step[0] != "(":
            return _OPERATOR.match(text, step.start(), end)
        if step.start() not in closing:
            return None
        at = closing[step.start()] + 1
    return None


def split(text: str, separator: str, opening: str = "([", closing: str = ")]") -> Iterator[str]:
    """Yield the parts between separators that are outside of brackets."""
    start = depth = 0
    for part in re.finditer(rf"[{re.escape(opening + closing)}]|{re.escape(separator)}", text):
        if part[0] == separator:
            if depth == 0:
                yield text[start : part.start()]
                start = part.end()
        else:
            depth = depth + 1 if part[0] in opening else max(depth - 1, 0)
    yield text[start:]


def shown_text(text: str) -> str:
    """Return a condition's text for people, equal for conditions that differ in values alone."""
    text = text[:_MOST_SHOWN].replace("\0", "")
    call = _WHOLE_CALL.fullmatch(text)
    if call is not None:
        return _plain(f"{call[1]}({', '.join(map(_quoted, split(call[2], ', ')))})")
    inner = text[1:-1] if text.startswith("(") and text.endswith(")") else text
    column, like, pattern = inner.partition(" LIKE ")
    if like and NUMBERED.search(column):
        return _plain(f"{column} LIKE {_quoted(pattern)}")
    operator = first_operator(inner, closings(inner), 0, len(inner))
    if operator is None:
        return _plain(inner)
    return _plain(f"{_quoted(inner[: operator.start()])} {operator[1]} {_quoted(inner[operator.end() :])}")


def _quoted(text: str) -> str:
    return text if NUMBERED.search(text) else "'" + text.replace("\\", "").replace("'", "") + "'"


def _plain(text: str) -> str:
    return _SUFFIX.sub("", text)


_CLASSES: Final = "org.apache.spark.sql.catalyst.expressions."
_OPERATORS: Final = {
    "AND": "And",
    "OR": "Or",
    "=": "EqualTo",
    "<=>": "EqualNullSafe",
    "<": "LessThan",
    "<=": "LessThanOrEqual",
    ">": "GreaterThan",
    ">=": "GreaterThanOrEqual",
}
_ATTRIBUTE: Final = re.compile(r"([^#()\[\],]+)#(\d+)(L)?((?:\.\w+)*)")
_WORD: Final = re.compile(r"[\w-]+")
_UNARY: Final = {"isnull": "IsNull", "isnotnull": "IsNotNull", "isnan": "IsNaN"}
_CALL: Final = re.compile(r"(\w+)\(")
_CAST: Final = re.compile(r"(.*) as ([a-z_]+(?:\(\d+,-?\d+\))?)", re.DOTALL)
_ESCAPE: Final = re.compile(r" ESCAPE '(.)'\Z", re.DOTALL)
_SUBQUERY: Final = re.compile(r"\bsubquery#\d+")
_REDACTED: Final = "*(redacted)"
_MARK: Final = "\0"
_Nodes = list[dict[str, Any]]


class Unclear(ExpressionError):
    """A condition that its text does not tell: it is cut, redacted, or can be read in two ways."""


@dataclass(frozen=True, slots=True)
class PrintedColumns:
    """Columns of a scan: their types, as Spark's catalog writes them, and the pushed filters, in which lists of texts
    have another separator. `time_zone`: the session's."""

    types: Mapping[str, str]
    pushed: str = ""
    time_zone: str | None = None


def printed_predicate(text: str, columns: PrintedColumns) -> Predicate:
    """Return the predicate of a printed condition. Raises Unclear if its text is ambiguous or incomplete."""
    if CUT.search(text):
        raise Unclear("a condition is told whole; the event log cuts it")
    if _REDACTED in text:
        raise Unclear("a condition is told whole; the event log redacts it")
    reader = _PrintedReader(text, columns)
    if len(reader.closing) != text.count("(") or len(reader.closing) != text.count(")"):
        raise _unclear()
    nodes: _Nodes = []
    try:
        reader.boolean(0, len(text), nodes, 0)
        read = to_predicate(CatalystNodes(nodes, columns.time_zone))
    except (ValueError, KeyError, IndexError, RecursionError):  # values of other types
        raise _unclear() from None
    if isinstance(read, Opaque):
        return Opaque(shown_text(text), read.columns)
    return read.fold(_named_leaf, Not, lambda parts: And(tuple(parts)), lambda parts: Or(tuple(parts)))


def _unclear() -> Unclear:
    return Unclear("a condition is told in one way; the event log's text of it can be read in several, or in none")


class _PrintedReader:
    """`start` and `end` bound what is read of the text; nodes go behind those that there are, in pre-order."""

    def __init__(self, text: str, columns: PrintedColumns) -> None:
        self.text, self.columns = text, columns
        self.closing = closings(text)

    def boolean(self, start: int, end: int, out: _Nodes, depth: int) -> None:
        if depth > _DEEPEST:
            raise _unclear()
        text = self.text
        if start < end and text[start] == "(" and self.closing.get(start) == end - 1:
            self._group(start + 1, end - 1, out, depth)
        elif text.startswith("NOT ", start, end):
            out.append(_node("Not", 1))
            self.boolean(start + 4, end, out, depth + 1)
        elif not self._membership(start, end, out) and not self._call(start, end, out):
            self._leaf(start, end, out)

    def _group(self, start: int, end: int, out: _Nodes, depth: int) -> None:
        operator = first_operator(self.text, self.closing, start, end)
        name = None if operator is None else _OPERATORS.get(operator[1])
        if operator is None or name is None:
            self._foreign(start, end, out)
        elif name in ("And", "Or"):
            out.append(_node(name, 2))
            self.boolean(start, operator.start(), out, depth + 1)
            self.boolean(operator.end(), end, out, depth + 1)
        else:
            self._comparison(name, (start, operator.start()), (operator.end(), end), out)

    def _comparison(self, name: str, left: tuple[int, int], right: tuple[int, int], out: _Nodes) -> None:
        first, second = self._column(*left), self._column(*right)
        if first is None and second is None:
            if not NUMBERED.search(self.text, left[0], right[1]):
                raise _unclear()
            self._foreign(left[0], right[1], out)
            return
        if _SUBQUERY.search(self.text, left[0], right[1]):
            self._foreign(left[0], right[1], out)
            return
        out.append(_node(name, 2))
        type_ = self._type(first or second or [])
        out += first if first is not None else [self._literal(self.text[slice(*left)], type_)]
        out += second if second is not None else [self._literal(self.text[slice(*right)], type_)]

    def _membership(self, start: int, end: int, out: _Nodes) -> bool:
        """`a#1 IN (1,2)`, `a#1 INSET 1, 2` and `a#1 LIKE b%`."""
        attribute = _ATTRIBUTE.match(self.text, start, end)
        if attribute is None:
            return False
        at = attribute.end()
        column = self._column(start, at)
        if column is None:
            return False
        if self.text.startswith(" IN (", at, end) and self.closing.get(at + 4) == end - 1:
            self._list(column, self.text[at + 5 : end - 1].split(","), out)
        elif self.text.startswith(" INSET ", at, end):
            members = self.text[at + 7 : end].split(", ")
            if self._type(column) in ("string", None):
                self._check_pushed(column[-1], members)
            self._list(column, members, out)
        elif self.text.startswith(" LIKE ", at, end):
            pattern = self.text[at + 6 : end]
            escape = _ESCAPE.search(pattern)
            pattern = pattern if escape is None else pattern[: escape.start()]
            out.append(_node("Like", 2) | {"escape": "\\" if escape is None else escape[1]})
            out += [*column, self._literal(pattern, "string")]
        else:
            return False
        return True

    def _list(self, column: _Nodes, members: list[str], out: _Nodes) -> None:
        type_ = self._type(column)
        texts = type_ in ("string", None)
        if texts and any(member.startswith(" ") or member == "null" for member in members):
            raise _unclear()
        out.append(_node("In", len(members) + 1))
        out += column
        out += [self._literal(member, type_, null=not texts) for member in members]

    def _check_pushed(self, named: dict[str, Any], members: list[str]) -> None:
        """A list that is joined by another separator there, and has the same members if none has a separator in it."""
        begin = f"In({named.get('name') or '.'.join(named.get('parts', ()))}, ["
        at = self.columns.pushed.find(begin)
        listed = self.columns.pushed[at + len(begin) :].split("])")[0].split(",") if at >= 0 else []
        if sorted(listed) != sorted(members):
            raise _unclear()

    def _call(self, start: int, end: int, out: _Nodes) -> bool:
        call = _CALL.match(self.text, start, end)
        if call is None or self.closing.get(call.end() - 1) != end - 1:
            return False
        inner = call.end(), end - 1
        if call[1] in _UNARY:
            column = self._column(*inner)
            if column is None:
                return False
            out.append(_node(_UNARY[call[1]], 1))
            out += column
            return True
        comma = self.text.find(", ", *inner)
        column = None if call[1] != "StartsWith" or comma < 0 else self._column(inner[0], comma)
        if column is None:
            return False
        out.append(_node("StartsWith", 2))
        out += [*column, self._literal(self.text[comma + 2 : inner[1]], "string")]
        return True

    def _leaf(self, start: int, end: int, out: _Nodes) -> None:
        column = self._column(start, end)
        if column is not None:
            out += column
        elif self.text[start:end] in ("true", "false", "null"):
            value = None if self.text[start:end] == "null" else self.text[start:end]
            out.append(_node("Literal", 0) | {"dataType": "boolean", "value": value})
        elif first_operator(self.text, self.closing, start, end) is not None:
            raise _unclear()  # operators stand in brackets: this one is in a text
        else:
            self._foreign(start, end, out)

    def _column(self, start: int, end: int) -> _Nodes | None:
        """A column, a field in one, or a cast of it; None for anything else."""
        text = self.text
        call = _CALL.match(text, start, end)
        if call is not None and self.closing.get(call.end() - 1) == end - 1:
            if call[1] in ("knownfloatingpointnormalized", "normalizenanandzero"):
                return self._column(call.end(), end - 1)
            cast = _CAST.fullmatch(text, call.end(), end - 1) if call[1] == "cast" else None
            inner = None if cast is None else self._column(cast.start(1), cast.end(1))
            target = None if cast is None else json_type(cast[2])
            if inner is None or not isinstance(target, str):
                return None
            return [_node("Cast", 1) | {"dataType": target}, *inner]
        attribute = _ATTRIBUTE.fullmatch(text, start, end)
        if attribute is None or not (attribute[1] in self.columns.types or _WORD.fullmatch(attribute[1])):
            return None
        return self._attribute(attribute)

    def _attribute(self, attribute: re.Match[str]) -> _Nodes:
        name, fields = attribute[1], [part for part in attribute[4].split(".") if part]
        known = self.columns.types.get(name)
        type_ = "long" if known is None and attribute[3] else None if known is None else json_type(known)
        if type_ is None:
            return [_unresolved([name, *fields])]
        nodes = [_node("AttributeReference", 0) | {"name": name, "dataType": type_, "metadata": {}}]
        for field in fields:
            inside = type_["fields"] if isinstance(type_, dict) and "fields" in type_ else []
            ordinal = next((number for number, part in enumerate(inside) if part["name"] == field), None)
            if ordinal is None:
                return [_unresolved([name, *fields])]
            type_ = inside[ordinal]["type"]
            nodes.insert(0, _node("GetStructField", 1) | {"ordinal": ordinal})
        return nodes

    def _type(self, column: _Nodes) -> Any:
        """Return the type of a column; None if it is unknown."""
        if column[0]["class"].endswith("GetStructField"):
            type_ = column[-1]["dataType"]
            for node in reversed(column[:-1]):
                type_ = type_["fields"][node["ordinal"]]["type"]
            return type_
        return column[0].get("dataType")

    def _literal(self, text: str, type_: Any, *, null: bool = True) -> dict[str, Any]:
        """A value as the column's type has it; of one whose type is not known it is the text, as Spark casts it."""
        if NUMBERED.search(text):
            raise _unclear()  # another column, or a text that looks like one
        literal = _node("Literal", 0) | {"dataType": type_ if isinstance(type_, str) else "string"}
        if type_ is not None and not isinstance(type_, str):
            raise _unclear()
        if type_ == "binary":
            return literal | {"value": "", "hex": text.removeprefix("0x")}
        return literal | {"value": None if null and text == "null" and type_ not in ("string", None) else text}

    def _foreign(self, start: int, end: int, out: _Nodes) -> None:
        """Append a node for an expression that is not understood, with its columns."""
        named = printed_columns(self.text[start:end])
        out.append({"class": "metaindex.Foreign", "num-children": len(named) + 1})
        shown = f"{_MARK}{shown_text(self.text[start:end])}{_MARK}"
        out.append(_node("Literal", 0) | {"dataType": "void", "value": shown})
        out += [_unresolved([name]) for name in named]


def _named_leaf(leaf: Leaf) -> Predicate:
    """Give an Opaque leaf the text of the part that is not understood."""
    said = leaf.text.split(_MARK) if isinstance(leaf, Opaque) else []
    return Opaque(said[1], leaf.columns) if isinstance(leaf, Opaque) and len(said) > 1 else leaf


def _node(name: str, children: int) -> dict[str, Any]:
    return {"class": _CLASSES + name, "num-children": children}


def _unresolved(parts: list[str]) -> dict[str, Any]:
    name = "org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute"
    return {"class": name, "num-children": 0, "parts": parts}
