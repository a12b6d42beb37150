"""What the layout of a key may say, kind by kind. A key of another kind, or whose layout says a name or a form that is
not here, is one of a newer metaindex: no query asks it, no merge takes it, and the other keys of its run answer as
ever."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from metaindex.keys import key_id
from metaindex.log.entry import CoveredKey
from metaindex.log.fields import MAX_FILES

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
_NUMBERS = ("unit_bits", "group_bits", "groups")
_NEEDED: Mapping[str, Collection[str]] = {
    "values": ("hash_bits", *_NUMBERS),
    "value_keys": _NUMBERS,
    "value_lists": _NUMBERS,
}
_MOST_BITS = 63
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


def readable(key: CoveredKey) -> bool:
    """Is all of it known, and does it fit together?"""
    return unknown(key) is None and senseless(key) is None


def senseless(key: CoveredKey) -> str | None:
    """What of a known key does not fit together, or None. Whoever seals an entry may have written anything: read as it
    stands, such a key would look for values where they are not, and prove files out."""
    if not key.looked_up:
        return None
    for name in _NEEDED.get(key.kind, ()):
        most = MAX_FILES if name == "groups" else _MOST_BITS
        value = key.layout.get(name)
        if type(value) is not int or not 0 <= value <= most:
            return f"a layout of {key.kind} without a sound {name}"
    if key.key_id != key_id(key.kind, [column.stable for column in key.columns]):
        return f"a key id of {key.kind} that does not follow from its columns"
    return None
