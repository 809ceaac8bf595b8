import re
from itertools import pairwise

from if2net.study.report.comparison import gathered
from if2net.study.report.labelled import apart, curves, distinct
from if2net.study.report.palette import colour_class, dash

MANY = ("none", "joint", "gem", "il2m", "ncm", "slda", "ranpac", "acil", "owm", "pcl", "if2net")


def section(compared, **changes):
    return gathered([compared("cifar100-60/10@held-out", **changes)])[0]


def test_dashes_tell_who_keeps_exemplars_and_colours_who_it_is(compared):
    series = section(compared, methods=MANY).series
    marks = distinct(series)
    assert len(set(marks.values())) == len(MANY)
    assert {name for name, mark in marks.items() if dash(mark) != "none"} == {"joint", "gem", "il2m"}
    assert {name for name, mark in marks.items() if colour_class(mark) == "c6"} == {"none", "joint"}
    assert marks["if2net"] == 0
    for kept in (False, True):
        group = [colour_class(marks[entry.name]) for entry in series if entry.keeps_exemplars == kept]
        assert len(set(group)) == len(group)


def test_names_keep_their_distance_and_their_order():
    ends = {"a": 100.0, "b": 101.0, "c": 99.0, "d": 300.0, "e": 5.0}
    places = apart(ends, 15, 0, 400)
    ordered = sorted(places.values())
    assert all(high - low >= 15 for low, high in pairwise(ordered))
    assert sorted(places, key=places.get) == ["e", "c", "a", "b", "d"]
    assert places["d"] == 300.0


def test_a_band_shows_the_spread_where_there_are_several_seeds(compared):
    several, one = (curves(section(compared, seeds=seeds), "CIFAR").inline() for seeds in ((0, 1), (0,)))
    assert len(re.findall("<polygon", several)) == 6
    assert "<polygon" not in one
