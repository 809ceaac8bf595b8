import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from if2net.study.report.axes import count_scale, percent_scale
from if2net.study.report.charts import Curve, Dot, line_chart, scatter
from if2net.study.report.heat import heat_map
from if2net.study.report.svg import Key


def places(drawing):
    return [(float(x), float(y)) for x, y in re.findall(r'<path class="v" d="M([\d.]+) ([\d.]+)', drawing.inline())]


def test_the_curve_tells_its_values_on_hover():
    chart = line_chart("chart", [Curve("if2net", 0, [0.9, 0.8], [0.01, 0.0])])
    assert "if2net, after task 1: 90.00 ± 1.00 %" in chart.inline()
    assert "if2net, after task 2: 80.00 %" in chart.inline()


def test_higher_accuracy_is_drawn_higher_and_later_tasks_to_the_right():
    (x1, y1), (x2, y2) = places(line_chart("chart", [Curve("a", 0, [0.9, 0.3], [0, 0])]))
    assert x1 < x2
    assert y1 < y2


def test_higher_cost_is_drawn_to_the_right():
    drawing = scatter("chart", [Dot("a", 0, 1.0, 0.9, 0.0), Dot("b", 8, 100.0, 0.9, 0.1)], "seconds", str)
    (x1, _), (x2, _) = places(drawing)
    assert x1 < x2


@pytest.mark.parametrize("values", [[0.0, 1.0], [0.97, 0.98], [0.0, 0.001], [1.0], [0.331, 0.77], [-0.2, 1.3]])
def test_the_percent_axis_holds_its_values_and_stays_between_0_and_100(values):
    scale = percent_scale(values)
    assert 0 <= scale.low <= 100 * max(min(values), 0)
    assert 100 * min(max(values), 1) <= scale.high <= 100
    assert scale.high - scale.low >= 10
    assert len(scale.ticks) >= 2


@pytest.mark.parametrize("count", [1, 2, 5, 10, 60, 500, 1000])
def test_the_task_axis_has_room_for_its_numbers(count):
    scale = count_scale(count)
    assert 1 <= len(scale.ticks) <= 12
    places = [scale(value) for value, _ in scale.ticks]
    assert all(later - earlier > 14 for earlier, later in pairwise(places))


def test_the_heat_map_leaves_out_what_was_not_learned():
    drawn = heat_map("R", 2, lambda i, j: [[0.9], [0.8, 0.7]][i][j]).inline()
    assert re.findall(r"<title>(.*?)</title>", drawn) == [
        "after task 1, on task 1: 90.00 %",
        "after task 2, on task 1: 80.00 %",
        "after task 2, on task 2: 70.00 %",
    ]


def test_many_tasks_are_thinned_out_with_the_first_and_the_last_kept():
    curve = line_chart("chart", [Curve("a", 0, [0.5] * 1000, [0.0] * 1000)]).inline()
    assert curve.count("<title>") == 60
    assert "after task 1:" in curve
    assert "after task 1000:" in curve


def test_a_figure_alone_is_xml_with_its_title_and_key():
    chart = line_chart("digits, aware: a < b", [Curve("a & b", 0, [0.9], [0.0])])
    words = [text.text for text in ElementTree.fromstring(chart.alone([Key("a & b", 0)])).iter() if text.text]
    assert "digits, aware: a < b" in words
    assert "a & b" in words
