import re
from xml.etree import ElementTree

from if2net.study.report.comparison import gathered
from if2net.study.report.panels import bars, bars_and_transfer

WHISKER = 'stroke="#1a1a1a"'


def drawn(drawing):
    return list(ElementTree.fromstring(drawing.alone()).iter())


def texts(drawing):
    return [element for element in drawn(drawing) if element.tag.endswith("text")]


def places(drawing, name):
    return [float(element.get("y")) for element in texts(drawing) if element.text == name]


def test_all_panels_have_the_methods_in_one_order_with_joint_first(compared):
    found = gathered([compared(f"cub200-100/{tasks}@held-out") for tasks in (5, 10, 20)])
    drawing = bars(found, "CUB", columns=2, width=300)
    order = ["joint", "if2net", "ncm", "il2m", "gem", "none"]
    for row in (0, 1):
        heights = [places(drawing, name)[row] for name in order]
        assert heights == sorted(heights)


def test_a_bar_has_its_spread_its_number_and_stripes_where_exemplars_are_kept(compared):
    drawing = bars(gathered([compared("cub200-100/5@held-out")]), "CUB", columns=2, width=300)
    text = drawing.inline()
    assert text.count(WHISKER) == 6
    assert "36.00 ± 1.00" in text
    assert text.count("url(#hatch)") == 3 + 2  # joint, gem and il2m; and two in the key
    alone = bars(gathered([compared("cub200-100/5@held-out", seeds=[0])]), "CUB", columns=2, width=300).inline()
    assert WHISKER not in alone


def test_another_backbone_is_named_and_has_a_scale_of_its_own(compared):
    wide = compared("cub200-100/10@efficientnet-lite0")
    for entry in wide["summary"].values():
        entry["acc_mean"] += 0.4
    found = gathered([compared("cub200-100/5@held-out"), compared("cub200-100/10@held-out"), wide])
    drawing = bars(found, "CUB", columns=3, width=300)
    said = [element.text for element in texts(drawing)]
    assert "CUB-100/10, EfficientNet-Lite0, ImageNet weights" in said
    numbers = [word for word in said if re.fullmatch(r"\d+", word)]
    assert numbers.count("60") == 3
    assert numbers.count("100") == 1


def test_transfer_stands_above_accuracy(compared):
    found = gathered([compared(f"stanford-dogs-60/{tasks}@held-out") for tasks in (5, 10)])
    drawing = bars_and_transfer(found, "Dogs", width=300)
    assert max(places(drawing, "BWT and FWT")) < min(places(drawing, "ACC %"))
    said = [element.text for element in drawn(drawing) if element.tag.endswith("title")]
    assert said.count("if2net: BWT -0.315 ± 0.010") == 2
