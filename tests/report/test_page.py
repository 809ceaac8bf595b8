import re
from html.parser import HTMLParser

import pytest

from if2net.bench import results as store
from if2net.report import write_report
from if2net.report.charts import heat_map, line_chart


def results(protocol="agnostic", methods=("if2net", "none <b>")):
    found = store.new_results("digits-10/2", protocol, "cpu")
    for method in methods:
        for seed in (0, 1):
            R = [[0.9 + seed / 100, None], [0.8, 0.7]]
            run = store.finished_run(
                method,
                "",
                seed,
                [1, 0],
                R,
                [0.9, 0.8],
                {"learn": 1.0, "predict": 0.1},
                {"state_bytes": 1200, "exemplars": 0, "parameters": 10},
            )
            found["runs"].append(run)
    store.summarise(found)
    return found


class Balanced(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attributes):
        if tag not in ("meta", "line", "circle", "rect", "polygon", "polyline"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in ("line", "circle", "rect", "polygon", "polyline"):
            assert self.open.pop() == tag


@pytest.fixture
def page(tmp_path):
    return write_report(results(), tmp_path).read_text()


def test_the_page_is_well_formed_and_needs_no_network(page):
    parser = Balanced()
    parser.feed(page)
    assert not parser.open
    assert not re.search(r"https?://(?!www\.w3\.org)", page)


def test_names_are_escaped(page):
    assert "none &lt;b&gt;" in page
    assert "none <b>" not in page


def test_the_table_has_mean_and_spread(page):
    assert "75.00 ± 0.00" in page


@pytest.mark.parametrize("protocol", ["aware", "transductive"])
def test_figures_that_are_not_agnostic_are_labelled(protocol, tmp_path):
    assert "not comparable with agnostic figures" in write_report(results(protocol), tmp_path).read_text()


def test_the_curve_tells_its_values_on_hover():
    chart = line_chart([("if2net", [0.9, 0.8], [0.01, 0.0])], x_label="tasks", y_label="ACC")
    assert "if2net, after task 2: 80.00 ± 0.00 %" in chart


def test_the_heat_map_leaves_out_what_was_not_learned():
    assert heat_map([[0.9, None], [0.8, 0.7]]).count("<rect") == 3
