"""Dataclasses at a quarter of the price: `from metaindex.core.records import dataclass`, and nothing else
changes.

`import metaindex` makes some sixty of them, and the standard library compiles six methods for each: 0.8 ms a class
where this was measured, a third of the whole import (docs/decisions/0008). Here only `__init__` is compiled; equality,
hash, order and repr take the fields by one C call. To `dataclasses.fields`, `replace`, `asdict`, to `match`, pickle and
type checkers they are dataclasses as any other. `slots` is accepted and means nothing: a class with slots is made
twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    import dataclasses
    from operator import attrgetter

    _set = object.__setattr__

    def dataclass(
        cls: type | None = None,
        /,
        *,
        frozen: bool = False,
        slots: bool = False,
        init: bool = True,
        eq: bool = True,
        repr: bool = True,  # noqa: A002 - the standard library's name
        order: bool = False,
    ) -> Any:
        """Like `dataclasses.dataclass`, with the options that this project uses."""
        if cls is None:
            return lambda decorated: _made(decorated, frozen, init, eq, repr, order)
        return _made(cls, frozen, init, eq, repr, order)

    def _made(cls: type, frozen: bool, init: bool, eq: bool, show: bool, order: bool) -> type:
        cls.__doc__ = cls.__doc__ or cls.__name__  # else a signature is made to stand there
        dataclasses.dataclass(cls, init=False, repr=False, eq=False)
        fields = dataclasses.fields(cls)
        if init:
            _add_init(cls, fields, frozen)
        if frozen:
            cls.__setattr__, cls.__delattr__ = _refuse_assignment, _refuse_deletion
        if show:
            cls.__repr__ = _repr_of(tuple(f.name for f in fields if f.repr))
        if eq:
            _add_comparisons(cls, tuple(f.name for f in fields if f.compare), frozen, order)
        return cls

    def _add_init(cls: type, fields: tuple[dataclasses.Field, ...], frozen: bool) -> None:
        known: dict[str, Any] = {"_set": _set, "_missing": dataclasses.MISSING}
        parameters, body = [], []
        for field in fields:
            name, value = field.name, field.name
            if field.default is not dataclasses.MISSING:
                known[f"_default_{name}"] = field.default
                parameters.append(f"{name}=_default_{name}")
            elif field.default_factory is not dataclasses.MISSING:
                known[f"_make_{name}"] = field.default_factory
                parameters.append(f"{name}=_missing")
                value = f"_make_{name}() if {name} is _missing else {name}"
            else:
                parameters.append(name)
            body.append(f'_set(self, "{name}", {value})' if frozen else f"self.{name} = {value}")
        if hasattr(cls, "__post_init__"):
            body.append("self.__post_init__()")
        text = f"def __init__(self, {', '.join(parameters)}):\n " + "\n ".join(body or ["pass"])
        exec(text, known)  # noqa: S102 - names of fields only
        made = known["__init__"]
        made.__qualname__ = f"{cls.__qualname__}.__init__"
        made.__module__ = cls.__module__
        cls.__init__ = made

    def _add_comparisons(cls: type, names: tuple[str, ...], frozen: bool, order: bool) -> None:
        values = _values_of(names)

        def equal(self: object, other: object) -> bool:
            return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

        cls.__eq__ = equal
        cls.__hash__ = (lambda self: hash(values(self))) if frozen else None
        if order:
            cls.__lt__ = lambda self, other: values(self) < values(other) if _alike(self, other) else NotImplemented
            cls.__le__ = lambda self, other: values(self) <= values(other) if _alike(self, other) else NotImplemented
            cls.__gt__ = lambda self, other: values(self) > values(other) if _alike(self, other) else NotImplemented
            cls.__ge__ = lambda self, other: values(self) >= values(other) if _alike(self, other) else NotImplemented

    def _alike(record: object, other: object) -> bool:
        return record.__class__ is other.__class__

    def _values_of(names: tuple[str, ...]) -> Any:
        if len(names) > 1:
            return attrgetter(*names)
        return (lambda self: (getattr(self, names[0]),)) if names else (lambda self: ())

    def _repr_of(names: tuple[str, ...]) -> Any:
        def show(self: object) -> str:
            return f"{self.__class__.__qualname__}({', '.join(f'{n}={getattr(self, n)!r}' for n in names)})"

        return show

    def _refuse_assignment(self: object, name: str, value: object) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")

    def _refuse_deletion(self: object, name: str) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


__all__ = ["dataclass"]
