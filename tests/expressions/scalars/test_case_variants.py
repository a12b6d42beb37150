"""Texts that are one in another case: all of them, and no other, whatever character is tried."""

import sys
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.expressions.scalars.cases import beginnings, variants


def _case(text: str, upper: bool) -> str:
    return text.upper() if upper else text.lower()


@pytest.mark.parametrize("upper", [True, False])
def test_every_character_that_has_ascii_in_that_case_is_known(upper: bool) -> None:
    characters = [chr(c) for c in range(sys.maxunicode + 1) if not 0xD800 <= c <= 0xDFFF]
    to_ascii = [(c, cased) for c in characters if (cased := _case(c, upper))[0].isascii()]
    for c, cased in to_ascii:
        if cased.isascii():
            assert c in (variants(cased, upper=upper) or ()), (c, cased)
        assert any(c.startswith(text) for text in beginnings(cased[0], upper=upper)), (c, cased)


_ODD = "aAbBiIkKsSfFlLtTjJ1%ßſıİ\u212aﬀﬁﬂﬃﬄﬅﬆǰẗäÄ\u0307"


@given(st.text(_ODD, max_size=6), st.text(_ODD, max_size=3), st.booleans())
def test_variants_are_all_and_no_other(text: str, more: str, upper: bool) -> None:
    cased = _case(text, upper)
    found = variants(cased, upper=upper)
    if found is not None:
        assert text in found
        assert {_case(other, upper) for other in found} == {cased}
        assert len(set(found)) == len(found)
    starts = beginnings(cased, upper=upper)
    if starts:
        longer = text + more
        if _case(longer, upper).startswith(cased):
            assert any(longer.startswith(start) for start in starts)


def test_of_many_letters_the_beginning_is_known() -> None:
    assert variants("averylongaddress@example.org", upper=False) is None
    starts = beginnings("averylongaddress@example.org", upper=False)
    assert set(starts) == {"".join(some) for some in product("aA", "vV", "eE", "rR", "yY")}
    assert variants("Abc", upper=False) is None, "what is lower case has no capital"
    assert variants("", upper=True) == ("",)
