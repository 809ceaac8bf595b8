import re
from itertools import combinations, pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from PIL import Image

from if2net.study.report import charts
from if2net.study.report.gather import Source, sections_of
from if2net.study.report.paper_tables import gathered

# How people who lack one kind of cone see linear RGB (Machado, Oliveira and Fernandes 2009, severity 1).
VISION = {
    "all cones": np.eye(3),
    "no long ones": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "no middle ones": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(colour):
    share = np.array(to_rgb(colour))
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def lab(colour, vision):
    """CIE L*a*b*, in which distances are those that the eye sees."""
    xyz = TO_XYZ @ np.clip(vision @ linear(colour), 0, 1) / (0.9505, 1.0, 1.089)
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(one, other):
    dark, bright = sorted(float(TO_XYZ[1] @ linear(colour)) for colour in (one, other))
    return (bright + 0.05) / (dark + 0.05)


def section_of(*found):
    return sections_of([Source(f"folder-{place}", results) for place, results in enumerate(found)])[0]


def groups(chart, index):
    return re.findall(rf'<g class="([^"]*)" data-method="{index}"><title>(.*?)</title>', chart.inline())


def words(chart):
    """The texts of a chart as an SVG file."""
    return [element.text for element in ElementTree.fromstring(chart.svg()).iter() if element.tag.endswith("}text")]


def places(chart):
    """Text → its place from the top, in the page."""
    found = re.findall(r'<text [^>]*y="([\d.]+)"[^>]*>(.*?)</text>', chart.inline())
    return {text: float(y) for y, text in found}


@pytest.mark.parametrize("vision", VISION.values(), ids=VISION)
def test_no_two_colours_look_alike(vision):
    seen = [lab(colour, vision) for colour in charts.COLOURS]
    assert min(np.linalg.norm(one - other) for one, other in combinations(seen, 2)) > 15


def test_figures_on_every_shade_can_be_read():
    rules = re.findall(r"background:(#\w+);color:(#\w+)", charts.shade_rules())
    assert len(rules) == 21
    assert min(contrast(*rule) for rule in rules) > 4.3


def test_the_highlighted_method_the_best_and_the_bounds_stand_out(make_results, make_run):
    better = [[1.0], [0.9, 0.9]]
    chart = charts.accuracy_chart(
        section_of(make_results(make_run("if2net"), make_run("ncm", R=better), make_run("none"), make_run("owm")))
    )
    kinds = {index: {kind for kind, _ in groups(chart, index)} for index in range(4)}
    assert kinds == {0: {"on s"}, 1: {"best s"}, 2: {"bound s"}, 3: {"s"}}


def test_every_line_has_a_tooltip_and_its_name_at_its_end(make_results):
    chart = charts.accuracy_chart(section_of(make_results()))
    assert {hint for _, hint in groups(chart, 0)} == {"if2net: 75.00 ± 0.00 % after 2 tasks"}
    assert {"if2net 75.0", "ewc 75.0", "joint 75.0"} <= set(places(chart))


def test_25_names_keep_their_distance_and_their_order(many_results):
    chart = charts.accuracy_chart(section_of(many_results))
    names = {name: place for name, place in places(chart).items() if re.search(r" \d+\.\d$", name)}
    assert len(names) == 25
    ordered = sorted(names.values())
    assert all(later - earlier > 10 for earlier, later in pairwise(ordered))
    accuracies = [float(name.split()[-1]) for name in sorted(names, key=names.get)]
    assert accuracies == sorted(accuracies, reverse=True)


def test_names_stay_between_the_bounds_even_where_all_lines_end_at_one_place():
    placed = charts.apart(dict.fromkeys(range(10), 99.0), 5, 0, 100)
    assert max(placed.values()) <= 100
    assert min(placed.values()) >= 0
    assert all(later - earlier >= 5 - 1e-9 for earlier, later in pairwise(sorted(placed.values())))


def test_a_method_that_costs_more_stands_to_the_right(make_results, make_run):
    cheap, dear = make_run("if2net", state_bytes=1000), make_run("joint", state_bytes=10**6)
    chart = charts.cost_chart(section_of(make_results(cheap, dear)), "memory")
    by_label = {text.get_text(): text.xy[0] for text in chart.figure.axes[0].texts}
    assert by_label["if2net"] < by_label["joint"]
    assert groups(chart, 1)[0][1] == "joint: 75.00 % at 1 MB"


def test_colours_in_the_page_are_variables_and_in_files_they_are_not(make_results):
    chart = charts.accuracy_chart(section_of(make_results()))
    assert not re.search(r"(fill|stroke): #(?!ffffff)", chart.inline())
    assert "var(--" not in chart.svg()


def test_a_file_names_the_protocol_and_the_devices(make_results, make_run):
    section = section_of(make_results(make_run(device="cpu"), make_run("ncm", device="H200"), protocol="aware"))
    for chart in (charts.accuracy_chart(section, alone=True), charts.matrix_chart(section)):
        assert any("digits-4/2, aware:" in text for text in words(chart))
    assert "H200" in " ".join(words(charts.cost_chart(section, "time", alone=True)))


def test_many_tasks_are_thinned_with_the_first_and_the_last_kept(large_results):
    line = charts.accuracy_chart(section_of(large_results)).figure.axes[0].lines[0]
    assert (len(line.get_xdata()), line.get_xdata()[0], line.get_xdata()[-1]) == (60, 1, 300)


def test_files_are_the_same_each_time_and_sharp(make_results, tmp_path):
    section = section_of(make_results())
    first, second = (
        charts.save(charts.accuracy_chart(section, alone=True), tmp_path / name, 1400) for name in ("a.svg", "b.svg")
    )
    assert first[0].read_text() == second[0].read_text()
    assert [path.suffix for path in first] == [".svg", ".png"]
    assert Image.open(first[1]).width == 1400


def test_bars_of_all_panels_have_the_same_order_with_joint_first(compared):
    found = gathered([compared(f"cub200-100/{tasks}@held-out") for tasks in (5, 10)])
    chart = charts.bar_chart(found, "CUB", columns=2, width=300)
    labels = [[tick.get_text() for tick in axes.get_yticklabels()] for axes in chart.figure.axes]
    assert labels == [["joint", "if2net", "ncm", "il2m", "gem", "none"], [""] * 6]
    for axes in chart.figure.axes:
        widths = [bar.get_width() for bar in sorted(axes.patches, key=lambda bar: bar.get_y())]
        assert widths[1:] == sorted(widths[1:], reverse=True)


def test_bars_have_their_spread_their_number_and_stripes_where_exemplars_are_kept(compared):
    chart = charts.bar_chart(gathered([compared("cub200-6/3@held-out")]), "CUB", columns=2, width=300)
    (axes,) = chart.figure.axes
    assert sum(bar.get_hatch() is not None for bar in axes.patches) == 3  # joint, gem and il2m
    assert len(axes.containers) == 12  # a bar and a whisker for each
    assert "36.00 ± 1.00" in words(chart)
    alone = charts.bar_chart(gathered([compared("cub200-6/3@held-out", seeds=[0])]), "CUB", columns=2, width=300)
    assert len(alone.figure.axes[0].containers) == 6


def test_another_backbone_is_named_and_has_a_scale_of_its_own(compared):
    other = compared("cub200-6/3@efficientnet-lite0", methods=["if2net"])
    found = gathered([compared("cub200-6/3@held-out"), other])
    chart = charts.bar_chart(found, "CUB", columns=2, width=300)
    assert "CUB-6/3, EfficientNet-Lite0, ImageNet weights" in words(chart)
    first, second = (axes.get_xlim()[1] for axes in chart.figure.axes)
    assert first != second


def test_transfer_stands_above_accuracy(compared):
    found = gathered([compared("stanford-dogs-6/3@held-out")])
    chart = charts.bar_chart(found, "Dogs", columns=2, width=300, transfer=True)
    above, below = chart.figure.axes
    assert [text.get_text() for text in above.texts] == ["BWT and FWT"]
    assert below.texts[0].get_text() == "ACC %"
    assert above.get_position().y0 > below.get_position().y1
