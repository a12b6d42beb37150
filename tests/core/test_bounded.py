"""What is kept to be used again is bounded, however many caches a process has, and in the order of its use."""

import gc
from collections import OrderedDict

from hypothesis import given
from hypothesis import strategies as st

from metaindex.core import BoundedCache

STEPS = st.lists(
    st.tuples(st.sampled_from(["find", "keep", "take", "drop"]), st.integers(0, 5), st.integers(0, 9)), max_size=60
)


@given(STEPS, st.integers(1, 4), st.integers(0, 20))
def test_one_cache_holds_what_was_used_last(steps: list[tuple[str, int, int]], most: int, limit: int) -> None:
    gone: list[tuple[int, int]] = []
    cache: BoundedCache[int, tuple[int, int]] = BoundedCache(most, limit, gone.append)
    model: OrderedDict[int, tuple[int, int]] = OrderedDict()  # with their sizes
    lost: list[tuple[int, int]] = []
    for number, (what, key, size) in enumerate(steps):
        match what:
            case "find":
                assert cache.find(key) == model.get(key)
                if key in model:
                    model.move_to_end(key)
            case "take":
                assert cache.take(key) == model.pop(key, None)
            case "drop":
                cache.drop(lambda held: held < key)  # noqa: B023 - called at once
                model = OrderedDict((held, value) for held, value in model.items() if held >= key)
            case _:
                assert cache.keep(key, (number, size), size) == (number, size)
                lost += [model.pop(key)] if key in model else []
                if size <= limit:
                    model[key] = number, size
                while len(model) > most or sum(value[1] for value in model.values()) > limit:
                    lost.append(model.popitem(last=False)[1])
        assert len(cache) == len(model)
        assert gone == lost
    assert [cache.find(key) for key in model] == list(model.values())


def test_all_caches_of_a_process_share_the_largest_limit() -> None:
    gc.collect()
    large: BoundedCache[int, int] = BoundedCache(limit_bytes=1 << 30)
    caches: list[BoundedCache[int, int]] = [BoundedCache(limit_bytes=1 << 30) for _ in range(8)]
    for number, cache in enumerate(caches):
        for key in range(4):
            cache.keep(key, number, 1 << 27)
    held = sum(len(cache) for cache in caches)
    assert 0 < held <= 8
    assert [len(cache) for cache in caches[:4]] == [0, 0, 0, 0]
    assert len(caches[-1]) == 4
    caches.clear()
    for key in range(8):
        large.keep(key, key, 1 << 27)
    assert len(large) == 8, "what a cache held goes with it"
