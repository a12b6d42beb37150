"""The four roads can be walked and counted, and the rooms measured, as their definitions say."""

import pytest

from .roads import ROADS, Walk, measured


def test_a_walk_is_counted_by_its_definitions() -> None:
    walk = Walk()
    entered = [(None, "top/a.py"), ("top/a.py", "low/b.py"), ("low/b.py", "low/c.py"), ("low/c.py", "mid/d.py")]
    for caller, path in [*entered, ("top/a.py", "mid/d.py"), *entered]:
        walk.entered(caller, path)
    level = {"low": 0, "mid": 1, "top": 2}
    assert walk.files == ["top/a.py", "low/b.py", "low/c.py", "mid/d.py"]
    assert walk.doors() == {"low/b.py", "mid/d.py"}
    assert walk.climbs(level) == walk.rises(level) == [("low/c.py", "mid/d.py")]
    assert walk.climbs({"low": 0}) == [("low/c.py", "mid/d.py")], "what is in no order stands highest"


@pytest.mark.parametrize("name", ROADS)
def test_each_road_ends_in_files_of_several_rooms(name: str) -> None:
    walk = measured(name)
    assert len(walk.doors()) > 5
    assert walk.doors() <= set(walk.files)
    assert any("expressions" in path for path in walk.files), "every road reads a condition or a column's name"
