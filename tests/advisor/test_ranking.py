"""The ranker: what is expected to be cheaper is taken, and nothing else."""

import itertools
from dataclasses import replace
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from metaindex import Covering, CoveringRange
from metaindex.advisor.ranking import (
    CACHED,
    HOT_GROUP,
    MARGIN,
    PAGE_ROWS,
    TASK,
    Chosen,
    JoinOf,
    Offer,
    Restriction,
    buckets_left,
    choose,
    share_along,
    unevenness,
)
from metaindex.expressions import col
from metaindex.formats import Field, Schema
from metaindex.index.kinds.covering.spec import BUCKETS
from metaindex.spark.optimizer.request import Delta, Filters, Group, JoinSide, Need, SparkScan
from metaindex.spark.optimizer.scans import alike, wants


def offer(
    index: str = "i",
    source: float = 100,
    read: float = 50,
    *,
    of_use: bool = True,
    wants: frozenset = frozenset(),
    buckets: int = 8,
    order: tuple[str, ...] = ("k",),
) -> Offer:  # type: ignore[type-arg]
    return Offer(index, source, read, of_use, wants, buckets, order)


def needs(*names: str) -> tuple[Need, ...]:
    return tuple(Need(name, (name,)) for name in names)


def reading(**more: Any) -> SparkScan:
    return SparkScan(**{"root": "t", "source": Delta("1", "id", None, {}), "filters": Filters([])} | more)


def test_the_cheapest_of_what_is_cheaper_than_the_source() -> None:
    a, b = offer("a", read=50), offer("b", read=20)
    assert choose([[a, b]], []) == [Chosen(b, partitioned=False)]
    assert choose([[offer(read=97)]], []) == [None]
    assert choose([[]], []) == [None]


def test_an_index_that_no_rule_allows_is_not_taken() -> None:
    assert choose([[offer(read=1, of_use=False)]], []) == [None]


def test_a_group_saves_what_is_not_shuffled() -> None:
    (taken,) = choose([[offer(read=100, of_use=False, wants=frozenset([None]))]], [])
    assert (taken.partitioned, taken.joined) == (True, False)


def test_a_join_takes_equal_buckets_before_others() -> None:
    def side(n: int, name: str, buckets: int) -> Offer:
        return offer(
            name, read=100, of_use=False, wants=frozenset([(0, n)]), buckets=buckets, order=("k" if n == 0 else "q",)
        )

    join = JoinOf(0, (0, 1), (("k",), ("q",)))
    left = [side(0, "l8", 8), side(0, "l16", 16)]
    right = [side(1, "r16", 16)]
    chosen = choose([left, right], [join])
    assert [(one.offer.index, one.joined) for one in chosen if one is not None] == [("l16", True), ("r16", True)]
    assert choose([left, []], [join]) == [None, None]


def test_a_join_counts_what_is_shuffled_and_sorted_all_the_same() -> None:
    def both(**more: float) -> list[list[Offer]]:
        return [
            [replace(offer(read=140, of_use=False, wants=frozenset([(0, n)]), order=(name,)), **more)]  # type: ignore[arg-type]
            for n, name in enumerate("kq")
        ]

    join = JoinOf(0, (0, 1), (("k",), ("q",)))
    assert None not in choose(both(), [join])
    assert None not in choose(both(lacking=1), [join])  # shuffled, and merged into the others
    assert choose(both(lacking=120), [join]) == [None, None]
    assert None not in choose(both(deleted_rows=CACHED), [join])
    assert choose(both(deleted_rows=CACHED + 10), [join]) == [None, None]


def test_deleted_rows_are_weighed_against_what_is_read() -> None:
    assert choose([[replace(offer(source=10_000, read=100), deleted_rows=CACHED + 100)]], []) != [None]
    assert choose([[replace(offer(source=10_000, read=100), deleted_rows=CACHED + 200)]], []) == [None]


def test_keys_in_another_order_do_not_meet() -> None:
    one = offer("a", read=100, of_use=False, wants=frozenset([(0, 0)]), order=("x", "y"))
    other = offer("b", read=100, of_use=False, wants=frozenset([(0, 1)]), order=("v", "u"))
    assert choose([[one], [other]], [JoinOf(0, (0, 1), (("x", "y"), ("u", "v")))]) == [None, None]
    assert None not in choose([[one], [other]], [JoinOf(0, (0, 1), (("y", "x"), ("u", "v")))])


@given(st.lists(st.tuples(st.floats(1, 1e9), st.floats(1, 1e9)), max_size=5))
def test_nothing_that_is_expected_to_lose_is_taken(prices: list[tuple[float, float]]) -> None:
    (taken,) = choose([[offer(str(i), source, read) for i, (source, read) in enumerate(prices)]], [])
    assert taken is None or taken.offer.read < taken.offer.source * MARGIN
    assert (taken is None) == all(read >= source * MARGIN for source, read in prices)


def test_what_filters_say_of_a_column() -> None:
    from metaindex.expressions import conjuncts

    asked = {
        ref.parts[0]: one
        for ref, one in Restriction.by_column(
            conjuncts((col("a") == 3) & (col("b") > 1) & (col("b") < 9) & (col("c") >= 2))
        ).items()
    }
    assert asked == {"a": Restriction(equal=1), "b": Restriction(ends=2), "c": Restriction(ends=1)}
    assert Restriction.share_read(asked, ["a"], 200) == 1 / 200
    shares = [Restriction.share_read(asked, [name], 0) for name in "bcz"]
    assert shares[0] < shares[1] < shares[2] == 1


def test_a_group_by_few_keys_saves_no_shuffle() -> None:
    """Each task sends one row of each key: nothing is left to be saved, and the buckets without rows are tasks all the
    same."""
    rows = 400_000
    few = replace(offer(read=100, of_use=False, wants=frozenset([None])), sent=Offer.share_sent(2, rows, 10 << 20))
    assert few.sent < 0.001
    assert choose([[few]], []) == [None]
    many = replace(few, sent=Offer.share_sent(300_000, rows, 10 << 20))
    assert many.sent == 1.0
    assert choose([[many]], []) == [Chosen(many, partitioned=True)]
    assert Offer.share_sent(0, rows, 1) == 1.0, "nobody knows how many keys there are"


def test_buckets_without_rows_and_hot_ones_are_priced() -> None:
    assert unevenness([10] * 8, 8, 1 << 40) == 0
    assert unevenness([200_000] * 2, 200, 1 << 20) == 198 * TASK
    assert unevenness([10] * 7 + [1000], 8, 1 << 20) == 0, "all of it is read at once"
    assert unevenness([10] * 7 + [1000], 8, 1 << 30) > 6 << 30
    uneven = replace(offer(read=100, wants=frozenset([None])), uneven=TASK)
    assert uneven.grouped == 0
    assert choose([[replace(uneven, read=50)]], []) == [Chosen(replace(uneven, read=50), partitioned=False)]


def test_a_hot_bucket_costs_a_group_where_others_wait() -> None:
    """A group counts a frequent key in every task of a plan with an exchange; a join or a window brings it to one task
    in any plan."""
    rows, read = [1_000_000] + [100_000] * 7, 40 << 20
    assert unevenness(rows, 8, read) == 0
    waiting = unevenness(rows, 8, read, 8, HOT_GROUP)
    assert waiting > 3 * read
    assert unevenness(rows, 8, read, 2, HOT_GROUP) < read / 4, "two cores are busy to the end"
    assert unevenness(rows, 8, read, 1, HOT_GROUP) == 0
    assert unevenness(rows, 8, 1 << 20, 8, HOT_GROUP) == 0, "it is over before anybody waits"
    group = offer(read=100, of_use=False, wants=frozenset([None]))
    assert choose([[replace(group, hot=40)]], []) == [Chosen(replace(group, hot=40), partitioned=True)]
    assert choose([[replace(group, hot=60)]], []) == [None]
    side = replace(offer(read=100, wants=frozenset([(0, 0)])), hot=60)
    assert side.joined((0, 0)) == replace(side, hot=0).joined((0, 0))
    grouped = replace(side, wants=frozenset([None, (0, 0)]), grouped_first=frozenset([(0, 0)]))
    assert grouped.joined((0, 0)) == replace(grouped, hot=0).joined((0, 0)) - 60


def test_a_group_spreads_a_hot_key_and_a_window_does_not() -> None:
    columns = {"k": "k", "s": "s"}
    group, window = Group(("k",)), Group(("k", "s"), whole=True)
    assert wants(reading(wants=(group,)), columns, ["k"]).spread
    assert wants(reading(wants=(window, group)), columns, ["k"]).spread
    assert not wants(reading(wants=(window,)), columns, ["k"]).spread
    assert not wants(reading(wants=(Group(("s",)),)), columns, ["k"]).spread, "this index has no part in it"


def test_buckets_that_filters_leave_out_are_empty_ones() -> None:
    rows = [10, 40, 20, 30]
    assert buckets_left({}, ["k"], rows) == [40, 30, 20, 10]
    assert buckets_left({"k": Restriction(equal=2)}, ["k"], rows) == [40, 30]
    assert buckets_left({"k": Restriction(equal=9)}, ["k"], rows) == [40, 30, 20, 10]
    assert buckets_left({"k": Restriction(ends=2)}, ["k"], rows) == [40, 30, 20, 10]
    assert buckets_left({"k": Restriction(equal=1)}, ["k", "s"], rows) == [40, 30, 20, 10], "both make the buckets"
    assert unevenness(buckets_left({"k": Restriction(equal=1)}, ["k"], [10] * 200), 200, 1000) == 199 * TASK


def test_where_partitions_are_left_out_later_only_a_look_up_pays() -> None:
    left = {"source": 10.0, "pruned": 0.1}
    look_up = replace(offer(read=1), **left)  # type: ignore[arg-type]
    assert choose([[look_up]], []) == [Chosen(look_up, partitioned=False)]
    group = replace(offer(read=100, of_use=False, wants=frozenset([None])), **left)  # type: ignore[arg-type]
    assert choose([[group]], []) == [None]
    sides = [[replace(offer(read=100, of_use=False, wants=frozenset([(0, side)])), **left)] for side in (0, 1)]  # type: ignore[arg-type]
    join = JoinOf(0, (0, 1), (("k",), ("k",)))
    assert choose(sides, [join]) == [None, None]


def test_a_join_with_other_keys_besides_is_taken_where_spark_lets_rows_stay() -> None:
    def scan(*keys: str, partial: bool) -> SparkScan:
        return reading(wants=(JoinSide(0, 0, keys, partial=partial),))

    columns = {"k": "k", "s": "s"}
    assert not wants(scan("k", "s", partial=False), columns, ["k"]).all
    found = wants(scan("k", "s", partial=True), columns, ["k"])
    assert found.all == found.unsorted == {(0, 0)}
    exact = wants(scan("s", "k", partial=True), columns, ["k", "s"])
    assert exact.all == {(0, 0)}
    assert not exact.unsorted
    assert not wants(scan("s", partial=True), columns, ["k", "s"]).all
    whole = offer(wants=found.all)
    assert replace(whole, unsorted=found.unsorted).joined((0, 0)) == whole.joined((0, 0)) / 2


def test_what_is_reused_is_read_once_by_the_source() -> None:
    one = offer(read=80, of_use=False, wants=frozenset([None]))
    assert choose([[one]], []) == [Chosen(one, partitioned=True)]
    assert choose([[replace(one, alike=4)]] * 4, []) == [None] * 4


def test_a_join_of_groups_saves_what_groups_leave() -> None:
    def both(left: float) -> list[list[Offer]]:
        wants = [frozenset([None, (0, side)]) for side in (0, 1)]
        more = {"left": left, "sent": left, "grouped_first": frozenset([(0, 0), (0, 1)])}
        return [
            [replace(offer(read=140, of_use=False, wants=wants[n], order=(name,)), **more)]  # type: ignore[arg-type]
            for n, name in enumerate("kq")
        ]

    join = JoinOf(0, (0, 1), (("k",), ("q",)))
    assert None not in choose(both(1.0), [join])
    assert choose(both(0.01), [join]) == [None, None]


def test_scans_are_alike_by_what_they_read_and_by_the_first_that_wants_them_partitioned() -> None:
    def scan(**more: Any) -> SparkScan:
        return reading(**{"filters": Filters([[{"a": 1}]]), "needs": needs("k"), "wants": (Group(("k",)),)} | more)

    joined = (Group(("k",)), JoinSide(1, 0, ("k",)))
    assert alike([scan(), scan(wants=joined, bytes=7), scan()]) == [3, 3, 3]
    assert alike([scan(), scan(needs=()), scan(root="u"), scan(wants=(Group(("d",)),))]) == [1, 1, 1, 1]
    assert alike([scan(), scan(filters=Filters([])), scan(gathered=True)]) == [1, 1, 1]
    assert alike([scan(wants=()), scan(wants=())]) == [1, 1], "no exchange, no reuse"


def test_the_number_of_buckets_follows_from_the_data() -> None:
    schema = Schema((Field("k", pa.int32()), Field("id", pa.int64()), Field("pad", pa.decimal128(38))))
    found = [Covering("k", "id").sized(schema, size) for size in (1, 1 << 30, 4 << 30, 1 << 45)]
    assert found == [Covering("k", "id", count) for count in (8, 8, 64, 32768)]
    assert all(big % small == 0 for small, big in itertools.pairwise(BUCKETS)), (
        "Spark can put together those of one side"
    )
    said = [Covering("k", "id", 5), CoveringRange("k")]
    assert [kind.sized(schema, 1 << 40) for kind in said] == said


def test_rows_along_a_curve_are_left_out_by_each_column() -> None:
    """As counted of 128 pages in `benchmarks/curve`: 1% of one of two columns reads 0.12 of them, 30% of each of four
    0.14."""
    rows, one = 128 * PAGE_ROWS, Restriction(measured=0.01)
    for name in ("a", "b"):
        assert 0.08 < Restriction.share_read({name: one}, ["a", "b"], 0, 2, rows) < 0.13
    assert Restriction.share_read({"b": one}, ["a", "b"], 0, 1, rows) == 1.0  # in ranges of the first
    wide = Restriction(measured=0.3)
    assert 0.1 < Restriction.share_read(dict.fromkeys("abcd", wide), list("abcd"), 0, 4, rows) < 0.16
    assert Restriction.share_read({"c": one}, ["a", "b"], 0, 2, rows) == 1.0
    assert Restriction.share_read({"a": one}, ["a", "b"], 0, 2, 10) == 1.0  # a page, which is read whole
    assert share_along([], 2, rows) == 1.0
