"""What the layout of a key may say, kind by kind. A key of another kind, or whose layout says a name or a form that is
not here, is one of a newer metaindex: no query asks it, no merge takes it, and the other keys of its run answer as
ever."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from metaindex.log.entry import CoveredKey

_BITS = frozenset({"by", "hash_bits", "unit_bits", "group_bits", "groups", "key"})
_NAMES: Mapping[str, Collection[str]] = {
    "values": _BITS,
    "value_keys": _BITS,
    "value_lists": _BITS,
    "bloom_filters": frozenset({"classes"}),
    "covering": frozenset({"by", "buckets", "indexed", "schema", "keys"}),
}
_FORMS: Mapping[tuple[str, str], Collection[object]] = {
    ("values", "by"): ("hash",),
    ("value_keys", "by"): ("value",),
    ("value_lists", "by"): ("value",),
    ("value_keys", "key"): ("int64",),
    ("value_lists", "key"): ("int64",),
    ("covering", "by"): ("hash", "range"),
}
_SIZES = "bytes:"  # of a covering index: what a column takes


def unknown(key: CoveredKey) -> str | None:
    """What of the key this metaindex does not know, or None."""
    names = _NAMES.get(key.kind)
    if names is None:
        return f"the kind {key.kind[:80]!r}"
    for name, value in key.layout.items():
        if name not in names and not (key.kind == "covering" and name.startswith(_SIZES)):
            return f"{name[:80]!r} in the layout of {key.kind}"
        if value not in _FORMS.get((key.kind, name), (value,)):
            return f"{name} {str(value)[:80]!r} in the layout of {key.kind}"
    return None
