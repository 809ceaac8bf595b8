import re
from html.parser import HTMLParser

import pytest

from if2net.errors import OutputError
from if2net.study.report import write_report
from if2net.study.report.gather import Source, sections
from if2net.study.report.page import render

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


def page_of(*found):
    return render(sections([Source(f"folder-{place}", results) for place, results in enumerate(found)]))


def row(page, method, after="<h2>Summary</h2>"):
    return re.search(rf"<tr><th scope=\"row\">{re.escape(method)}.*?</tr>", page.split(after, 1)[1])[0]


def test_the_page_is_well_formed_and_needs_no_network(make_results):
    parser = Balanced()
    page = page_of(make_results(), make_results(protocol="aware"))
    parser.feed(page)
    assert not parser.open
    assert not re.search(r"https?://|<link|src=|@import|url\(", page)


def test_the_report_lies_beside_the_results(make_results, tmp_path):
    path = write_report(make_results(), tmp_path)
    assert path == tmp_path / "report.html"
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_names_are_escaped(make_results, make_run):
    page = page_of(make_results(make_run("none <b>")))
    assert "none &lt;b&gt;" in page
    assert "none <b>" not in page


def test_one_glance_tells_what_was_run(make_results):
    page = page_of(make_results())
    for fact in ("4 classes in 2 tasks", "2 (0, 1)", "if2net: 75.00 ± 0.00 %", "A prediction depends on the sample"):
        assert fact in page


def test_the_best_is_marked_and_joint_does_not_compete(make_results, make_run):
    good, better = ([[1.0, None], [value, value]] for value in (0.8, 0.9))
    page = page_of(make_results(make_run("ncm"), make_run("if2net", R=good), make_run("joint", R=better)))
    assert '<td class="best">80.00</td>' in row(page, "if2net")
    assert '<td class="best">90.00</td>' not in row(page, "joint")
    assert '<td class="best">75.00</td>' not in row(page, "ncm")


@pytest.mark.parametrize("protocol", ["aware", "transductive"])
def test_figures_that_are_not_agnostic_are_labelled(protocol, make_results):
    page = page_of(make_results(protocol=protocol))
    assert "not comparable with agnostic figures" in page
    assert page.count("<figcaption") == len(re.findall(rf"<figcaption>[^<]*<span class=\"badge {protocol}\">", page))


def test_methods_with_a_single_head_say_what_is_expected_of_them(make_results):
    page = page_of(make_results())
    assert "about 50 % at most is expected" in row(page, "ewc")
    assert "is expected" not in row(page, "if2net")
    assert "Why EWC is at 20 %" in page


def test_nothing_is_expected_of_them_where_their_loss_spares_the_old_classes(make_results):
    settings = {"ewc": {"scope": "current"}}
    spared, usual = make_results(settings=settings), make_results(settings={"ewc": {"scope": "seen"}})
    assert "is expected" not in page_of(spared)
    assert "Why EWC" not in page_of(spared)
    assert "is expected" in row(page_of(usual), "ewc")
    both = page_of(usual, spared)
    assert "is expected" in row(both, "ewc, 0")
    assert "is expected" not in row(both, "ewc, 1")


def test_seconds_of_several_devices_are_not_left_side_by_side_without_a_word(make_results, make_run):
    runs = [make_run(method, device="NVIDIA H200") for method in ("ewc", "joint", "ncm", "owm")]
    page = page_of(make_results(make_run(device="cpu"), *runs))
    said = "Seconds of different devices cannot be compared: if2net ran on cpu, the others ran on NVIDIA H200."
    summary, charts = page.split("<h2>Figures</h2>")
    assert said in summary
    assert said in charts.split("<figure>")[2].split("</svg>")[1]
    assert "device cpu and NVIDIA H200." in page.split("Made with")[1]
    alike = page_of(make_results(*runs))
    assert "cannot be compared" not in alike
    assert "device NVIDIA H200." in alike.split("Made with")[1]


def test_a_method_whose_seeds_ran_on_two_devices_says_both(make_results, make_run):
    page = page_of(make_results(make_run(seed=0), make_run(seed=1, device="TPU"), make_run("ncm")))
    assert "cannot be compared: if2net ran on TPU and cpu, ncm ran on cpu." in page


@pytest.mark.parametrize("occupied", ["report", "report/inside"])
def test_a_file_in_the_place_of_the_folder_is_said(occupied, make_results, tmp_path):
    (tmp_path / "report").write_text("mine")
    with pytest.raises(OutputError, match=r"cannot be created .* choose another place with --out"):
        write_report(make_results(), tmp_path / occupied)
    assert (tmp_path / "report").read_text() == "mine"


def test_without_such_a_method_there_is_no_such_note(make_results, make_run):
    assert "Why EWC" not in page_of(make_results(make_run("if2net")))


def test_classes_are_named_as_in_the_dataset_whatever_the_order_of_the_stream(make_results, make_run):
    page = page_of(make_results(make_run(seed=0), make_run(seed=1, order=(0, 1, 2, 3))))
    # Class 2 comes first in the one run (8 of 10 right) and third in the other (4 of 10).
    assert ">60.0</td>" in row(page, "if2net", "<h2>Accuracy on each class</h2>").split("</td>")[2] + "</td>"
    assert "2 → 1: 25.0 %" in row(page, "if2net", "<h2>Worst confusions</h2>")


def test_results_without_confusions_still_make_a_page(make_results, make_run):
    old = make_run()
    del old["confusion"]
    assert "older than the record of confusions" in page_of(make_results(old))


def test_several_results_have_an_overview_and_a_section_each(make_results):
    page = page_of(make_results(), make_results(protocol="aware"))
    assert page.count("<section") == 2
    assert '<a href="#section-1">digits-4/2, aware</a>' in page
    assert row(page, "if2net", "<nav>").count("75.00 ± 0.00") == 2


def test_the_overview_marks_the_best_of_each_result(make_results, make_run):
    ours = [make_run("if2net", R=[[1.0, None], [value, value]]) for value in (0.9, 0.6)]
    protocols = ("agnostic", "aware")
    page = page_of(
        *(make_results(make_run("ncm"), run, protocol=name) for run, name in zip(ours, protocols, strict=True))
    )
    assert row(page, "if2net", "<nav>").endswith('<td class="best">90.00</td><td>60.00</td></tr>')
    assert row(page, "ncm", "<nav>").endswith('<td>75.00</td><td class="best">75.00</td></tr>')


def test_a_thousand_tasks_and_twenty_methods_make_a_light_page(large_results):
    page = page_of(large_results)
    assert len(page.encode()) < 5_000_000
    assert "Of 1,000 tasks 30 are drawn" in page
    assert "after task 1000, on task 1:" in page


def test_the_page_says_what_a_backbone_was_trained_on(make_results, make_run):
    seen = make_run(backbone={"identity": "1f", "pretrained_on": "ImageNet"})
    assert "<dt>backbone trained on</dt><dd>ImageNet</dd>" in page_of(make_results(seen))
    assert "backbone trained on" not in page_of(make_results(make_run()))
