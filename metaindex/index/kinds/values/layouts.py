"""Common parts of the layouts of all three kinds of rows, and types whose values are encoded alike."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from metaindex.expressions import physical_type
from metaindex.index.kinds.canonical import answers_for
from metaindex.index.kinds.kind import LayoutRule
from metaindex.index.log.fields import MAX_FILES

BITS: Final = frozenset({"by", "hash_bits", "unit_bits", "group_bits", "groups", "key"})
NUMBERS: Final = {"unit_bits": 63, "group_bits": 63, "groups": MAX_FILES}
VALUE_LAYOUT: Final = LayoutRule(BITS, {"by": ("value",), "key": ("int64",)}, NUMBERS)


def values_carry_over(old: pa.DataType, new: pa.DataType) -> bool:
    """Return whether values written under one type have the same bytes under another."""
    decimals = pa.types.is_decimal(old) or pa.types.is_decimal(new)
    temporal = any(pa.types.is_temporal(type_) for type_ in (old, new))
    alike = physical_type(old) == physical_type(new) and not decimals and not temporal
    return bool(answers_for(old, new) and alike)
