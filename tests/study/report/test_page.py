import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from if2net.errors import OutputError
from if2net.study.bench.display import ACC
from if2net.study.report import write_report
from if2net.study.report.gather import Source, read_sources, sections_of
from if2net.study.report.page import render, write_figures

VOID = ("meta", "input")


class Balanced(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attributes):
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def gathered(*results):
    return sections_of([Source(f"folder-{place}", one) for place, one in enumerate(results)])


def page_of(*found):
    return render(gathered(*found))


def row(page, method, after="<h2>Summary</h2>"):
    rows = page.split(after, 1)[1].split("<tr")
    return next(row.split("</tr>")[0] for row in rows if f">{method}</button>" in row)


def test_the_page_is_well_formed_and_needs_no_network(make_results):
    parser = Balanced()
    page = page_of(make_results(), make_results(protocol="aware"))
    parser.feed(page)
    assert not parser.open
    assert not re.search(r"https?://|<link|src=|@import|url\((?!#)", page)


def test_the_report_is_written_beside_the_results(make_results, tmp_path):
    path = write_report(make_results(), tmp_path)
    assert path == tmp_path / "report.html"
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_every_chart_is_written_as_svg_and_png(make_results, tmp_path):
    files = write_figures(gathered(make_results(protocol="aware")), tmp_path / "figures")
    assert {path.name for path in files} == {
        f"digits-4-2-aware-{name}.{kind}"
        for name in ("accuracy", "time", "memory", "matrices")
        for kind in ("svg", "png")
    }
    assert all(path.stat().st_size > 1000 for path in files)


def test_names_are_escaped(make_results, make_run):
    page = page_of(make_results(make_run("none <b>")))
    assert "none &lt;b&gt;" in page
    assert "none <b>" not in page


def test_the_facts_of_a_section_come_first(make_results):
    page = page_of(make_results())
    for fact in ("4 classes in 2 tasks", "2 (0, 1)", "if2net: 75.00 ± 0.00 %", "A prediction depends on the sample"):
        assert fact in page.split("<h2>Summary</h2>")[0]


def test_ties_are_marked_and_joint_does_not_compete(make_results, make_run):
    def runs(method, *values):
        return [make_run(method, seed, R=[[1.0], [value, value]]) for seed, value in enumerate(values)]

    page = page_of(
        make_results(
            *runs("if2net", 0.90, 0.92),
            *runs("ranpac", 0.895, 0.905),
            *runs("owm", 0.8, 0.8),
            *runs("joint", 0.95, 0.95),
        )
    )
    assert '<td class="star best">91.00 ± 1.41</td>' in row(page, "if2net")
    assert '<td class="star best">90.00 ± 0.71</td>' in row(page, "ranpac")
    assert '<td class="star">80.00 ± 0.00</td>' in row(page, "owm")
    assert '<td class="star">95.00 ± 0.00</td>' in row(page, "joint")
    assert "the 95 % interval of the difference, paired by seed, contains 0" in page


def test_transfer_names_no_winner(make_results):
    cells = re.findall(r"<td[^>]*>", row(page_of(make_results()), "if2net"))
    assert [cell == "<td>" for cell in cells[:4]] == [False, True, True, False]  # ACC, BWT, FWT, incremental


def test_every_committed_result_can_be_shown():
    files = sorted((Path(__file__).parents[3] / "results").glob("*/*/results.json"))
    sections = sections_of(read_sources([file.parent for file in files]))
    assert len({id(source) for section in sections for source in section.sources}) == len(files) > 30
    page = unescape(render(sections))
    for section in sections:
        assert f"<h1>{section.scenario}</h1>" in page
        for series in section.series:
            assert f'data-choose="{series.index}">{series.name}</button>' in page
            assert f">{series.cell(ACC)}</td>" in page


def test_the_summary_is_sorted_by_accuracy(make_results, make_run):
    good = [[1.0], [0.9, 0.9]]
    page = page_of(make_results(make_run("ncm"), make_run("if2net", R=good)))
    table = page.split("<h2>Summary</h2>")[1].split("</table>")[0]
    assert table.index(">if2net</button>") < table.index(">ncm</button>")
    assert 'aria-sort="descending"><button type="button" class="plain" data-sort>ACC %' in table


def test_if2net_is_highlighted_in_every_table_chart_and_matrix(make_results):
    page = page_of(make_results())
    assert 'data-method="0" class="on"' in row(page, "if2net").join(("<tr", ""))
    assert "on best s" in page
    assert re.search(r'<figure class="on matrix" data-method="0">', page)


@pytest.mark.parametrize("protocol", ["aware", "transductive"])
def test_figures_that_are_not_agnostic_are_labelled(protocol, make_results):
    page = page_of(make_results(protocol=protocol))
    assert "not comparable with agnostic figures" in page
    badge = f'<span class="badge {protocol}">'
    captions = re.findall(r"<figcaption>(.*?)</figcaption>", page, flags=re.DOTALL)
    bars = re.findall(r'<div class="bar">(.*?)</div>', page, flags=re.DOTALL)
    assert len(captions) == 6
    assert len(bars) == 3
    assert all(badge in part for part in (*captions, *bars))
    assert all(protocol in label for label in re.findall(r'data-label="([^"]*)"', page))


def test_methods_with_a_single_head_say_what_is_expected_of_them(make_results):
    page = page_of(make_results())
    assert "about 50 % expected" in row(page, "ewc")
    assert "expected" not in row(page, "if2net")
    assert "Why EWC is at 20 %" in page


def test_nothing_is_expected_of_them_where_their_loss_spares_the_old_classes(make_results):
    settings = {"ewc": {"scope": "current"}}
    spared, usual = make_results(settings=settings), make_results(settings={"ewc": {"scope": "seen"}})
    assert "% expected" not in page_of(spared)
    assert "Why EWC" not in page_of(spared)
    both = page_of(usual, spared)
    assert "% expected" in row(both, "ewc, 0")
    assert "% expected" not in row(both, "ewc, 1")


def test_seconds_of_several_devices_are_labelled(make_results, make_run):
    runs = [make_run(method, device="NVIDIA H200") for method in ("ewc", "joint", "ncm", "owm")]
    page = page_of(make_results(make_run(device="cpu"), *runs))
    sentence = "Seconds of different devices cannot be compared: if2net ran on cpu, the others ran on NVIDIA H200."
    summary, figures = page.split("<h2>Figures</h2>")
    assert sentence in summary
    assert sentence in figures.split("<figure>")[2].split("</svg>")[1]
    assert "<small>cpu</small>" in row(page, "if2net")
    assert "<small>NVIDIA H200</small>" in row(page, "ncm")
    assert "Made with if2net 0.2.0, torch 2.9, device cpu: if2net.<" in page
    assert "Made with if2net 0.2.0, torch 2.9, device NVIDIA H200: ewc, joint, ncm, owm.<" in page
    alike = page_of(make_results(*runs))
    assert "Made with if2net 0.2.0, torch 2.9, device NVIDIA H200.<" in alike
    assert "cannot be compared" not in alike
    assert "<small>" not in alike


def test_a_method_whose_seeds_ran_on_two_devices_names_both(make_results, make_run):
    page = page_of(make_results(make_run(seed=0), make_run(seed=1, device="TPU"), make_run("ncm")))
    assert "cannot be compared: if2net ran on TPU and cpu, ncm ran on cpu." in page


@pytest.mark.parametrize("occupied", ["report", "report/inside"])
def test_a_file_in_the_place_of_the_folder_is_an_error(occupied, make_results, tmp_path):
    (tmp_path / "report").write_text("mine")
    with pytest.raises(OutputError, match=r"(cannot be created|is a file).* choose another folder"):
        write_report(make_results(), tmp_path / occupied)
    assert (tmp_path / "report").read_text() == "mine"


def test_results_without_confusions_make_a_page_without_classes(make_results, make_run):
    page = page_of(make_results(make_run(counts=None)))
    assert "<h2>Accuracy on each class</h2>" not in page
    assert "<h2>Accuracy matrix R</h2>" in page


def test_classes_and_confusions_are_shown(make_results, make_run):
    page = page_of(make_results(make_run()))
    assert '<td class="h16">80.0</td>' in row(page, "if2net", "<h2>Accuracy on each class</h2>")
    assert "3 → 0: 50.0 %" in row(page, "if2net", "<h2>Worst confusions</h2>")


def test_several_results_have_an_overview_for_each_protocol_and_a_section_each(make_results, make_run):
    found = [
        make_results(),
        make_results(make_run("if2net"), make_run("ncm"), scenario="digits-2/2"),
        make_results(protocol="aware"),
    ]
    page = page_of(*found)
    assert page.count("<section") == 3
    assert '<a href="#section-2">digits-4/2, aware</a>' in page
    header = page.split("</header>")[0]
    assert header.count("<table") == 2
    assert row(header, "if2net", "<nav>").count("<td") == 2
    assert "<td></td>" in row(header, "ncm", "<nav>")


def test_25_methods_make_a_small_page(many_results):
    page = page_of(many_results)
    assert len(page.encode()) < 400_000
    assert page.count('<figure class="') == 25


def test_many_tasks_and_twenty_methods_make_a_light_page(large_results):
    page = page_of(large_results)
    assert len(page.encode()) < 1_500_000
    assert "30 of 300 tasks are shown" in page
    assert "At most 30 classes are shown" in page


def test_the_page_names_the_data_that_a_backbone_was_trained_on(make_results, make_run):
    seen = make_run(backbone={"identity": "1f", "pretrained_on": "ImageNet"})
    assert "<dt>backbone trained on</dt><dd>ImageNet</dd>" in page_of(make_results(seen))
    assert "backbone trained on" not in page_of(make_results(make_run()))
