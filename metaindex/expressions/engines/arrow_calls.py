"""Parts of a pyarrow expression: calls, fields and literals.

pyarrow shows no tree of an expression to Python, but it serializes one as an Arrow file: the schema's metadata lists
calls and fields in order, the one row of the batch holds literals and options with their exact types.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import pyarrow as pa


class NotSerializable(Exception):
    """The expression has a part that pyarrow cannot write (a field by number), or of a newer form."""


@dataclass(frozen=True, slots=True)
class FieldRef:
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Value:
    scalar: pa.Scalar


@dataclass(frozen=True, slots=True)
class Call:
    function: str
    arguments: tuple[Node, ...]
    options: pa.Scalar | None


Node = FieldRef | Value | Call


def calls(expression: Any) -> Node:
    """The tree of a pyarrow.compute.Expression."""
    try:
        _, (buffer,) = expression.__reduce__()
        file = pa.ipc.open_file(buffer)
        row = file.get_batch(0)
        entries = _ordered_metadata(file.schema)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise NotSerializable(str(error)) from None
    open_calls: list[tuple[str, list[Node], list[pa.Scalar]]] = [("", [], [])]
    position = 0
    while position < len(entries):
        kind, text = entries[position]
        position += 1
        match kind:
            case "call":
                open_calls.append((text, [], []))
            case "end":
                name, arguments, options = open_calls.pop()
                if name != text or not open_calls:
                    raise NotSerializable(f"the call {name!r} ends as {text!r}")
                open_calls[-1][1].append(Call(name, tuple(arguments), options[0] if options else None))
            case "literal":
                open_calls[-1][1].append(Value(row.column(int(text))[0]))
            case "options":
                open_calls[-1][2].append(row.column(int(text))[0])
            case "field_ref":
                open_calls[-1][1].append(FieldRef((text,)))
            case "nested_field_ref":
                path = entries[position : position + int(text)]
                position += int(text)
                if any(step != "field_ref" for step, _ in path):
                    raise NotSerializable("a nested field by number")
                open_calls[-1][1].append(FieldRef(tuple(name for _, name in path)))
            case _:
                raise NotSerializable(f"an entry of the kind {kind!r}")
    if len(open_calls) != 1 or len(open_calls[0][1]) != 1:
        raise NotSerializable("not one expression")
    return open_calls[0][1][0]


class _ArrowSchema(ctypes.Structure):
    """The head of the C data interface's struct, for its metadata alone."""

    _fields_ = (("format", ctypes.c_void_p), ("name", ctypes.c_void_p), ("metadata", ctypes.c_void_p))


def _ordered_metadata(schema: pa.Schema) -> list[tuple[str, str]]:
    """Key-value metadata in order and with repeated keys, both of which `schema.metadata`, a dict, loses."""
    capsule = schema.__arrow_c_schema__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    at = _ArrowSchema.from_address(pointer(capsule, b"arrow_schema")).metadata
    if not at:
        return []

    def number() -> int:
        nonlocal at
        value = ctypes.c_int32.from_address(at).value
        at += 4
        return value

    def text() -> str:
        nonlocal at
        length = number()
        value = ctypes.string_at(at, length)
        at += length
        return value.decode()

    return [(text(), text()) for _ in range(number())]
