import sys
from xml.etree import ElementTree

import pytest

from if2net.study.report.figures import write_figures
from if2net.study.report.gather import Source, sections


@pytest.fixture
def found(make_results):
    return sections([Source("folder", make_results())])


def test_every_figure_is_written_as_svg_with_its_protocol_in_it(found, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    written = write_figures(found, tmp_path / "figures")
    assert {path.name.removeprefix("digits-4-2-agnostic-") for path in written} == {
        *("accuracy.svg", "time.svg", "memory.svg"),
        *("r-if2net.svg", "r-ewc.svg", "r-joint.svg"),
    }
    for path in written:
        ElementTree.parse(path)
        assert "digits-4/2, agnostic" in path.read_text(encoding="utf-8")


def test_the_chart_of_time_says_where_methods_ran_on_several_devices(make_results, make_run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    found = sections([Source("", make_results(make_run(), make_run("joint", device="NVIDIA H200")))])
    (time,) = [path for path in write_figures(found, tmp_path) if path.name.endswith("time.svg")]
    titles = [part.text for part in ElementTree.parse(time).iter() if part.get("class") == "title"]
    assert "if2net ran on cpu, joint ran on NVIDIA H200" in " ".join(titles)


def test_where_the_extra_is_installed_each_has_a_png_of_the_same_shape(found, tmp_path):
    pytest.importorskip("vl_convert", reason="the extra `figures` is not installed")
    written = write_figures(found, tmp_path)
    pictures = [path for path in written if path.suffix == ".png"]
    assert len(pictures) == 6
    for path in pictures:
        header = path.read_bytes()[:24]
        assert header.startswith(b"\x89PNG")
        width, height = (int.from_bytes(header[place : place + 4], "big") for place in (16, 20))
        drawn = ElementTree.parse(path.with_suffix(".svg")).getroot()
        assert (width, height) == (3 * float(drawn.get("width")), 3 * float(drawn.get("height")))
