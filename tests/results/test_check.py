"""results/check.py passes on the committed files, and finds each of many changes to a copy of them."""

import json
import re
import runpy
import shutil
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from if2net.study.bench.results import pack, unpack

ROOT = Path(__file__).parents[2]
MEASURED = re.compile(r"\d+\.\d+|\d+(?= (?:%|points))")
CIFAR = "table-cifar/cifar100-60-10-held-out"
LONGER_CIFAR = "figure-cifar/cifar100-60-20-held-out"


def check(root):
    """Run results/check.py of this repository or a copy; return its exit status and its report.

    A process of its own would first import torch and matplotlib again.
    """
    modules, path = set(sys.modules), list(sys.path)
    try:
        with redirect_stdout(StringIO()) as report, pytest.raises(SystemExit) as ended:
            runpy.run_path(str(root / "results" / "check.py"), run_name="__main__")
    finally:
        sys.path[:] = path
        for name in set(sys.modules) - modules:  # the next check imports the modules of its own folder
            if str(getattr(sys.modules[name], "__file__", "")).startswith(str(root / "results")):
                del sys.modules[name]
    return ended.value.code, report.getvalue()


def in_json(*keys, value=None):
    """Return a change that sets the entry at these keys, or deletes it."""

    def change(text):
        content = json.loads(text)
        place = content
        for key in keys[:-1]:
            place = place[key]
        if value is None:
            del place[keys[-1]]
        else:
            place[keys[-1]] = value(place[keys[-1]])
        return json.dumps(content)

    return change


def in_text(old, new):
    def change(text):
        assert old in text
        return text.replace(old, new, 1)

    return change


def moved(start, end):
    """Return a change of packed confusions that moves a test sample from one cell to another."""

    def change(confusion):
        counts = unpack(confusion, 60).copy()
        counts[start] -= 1
        counts[end] += 1
        return pack(counts)

    return change


def wrong_cell(folder, row):
    """A cell off the diagonal with samples, in this row of the confusions of the first run."""
    run = json.loads((ROOT / "results" / folder / "results.json").read_text())["runs"][0]
    counts = unpack(run["confusion"], 60)[row].copy()
    counts[row] = 0
    return row, int(counts.argmax())


def other_image(text):
    """Show the last image of an SVG file in the place of the first."""
    images = re.findall(r"base64,([^\"]+)", text)
    return text.replace(images[0], images[-1], 1)


def next_digit(number):
    return f"{number[0][:-1]}{(int(number[0][-1]) + 1) % 10}"


def one_number(text):
    return MEASURED.sub(next_digit, text, count=1)


def all_numbers(text):
    return MEASURED.sub(next_digit, text)


TINY = "table-imagenet-subset/tiny-imagenet-100"
# A changed file, the change, and a part of the sentence that reports it.
CHANGES = [
    (
        f"results/{CIFAR}/results.json",
        in_json("runs", 0, "confusion", value=moved(wrong_cell(CIFAR, 0), (0, 0))),
        f"confusions of none, seed 0, in {CIFAR} do not give the last row of R",
    ),
    (
        f"results/{LONGER_CIFAR}/results.json",
        in_json("runs", 0, "confusion", value=moved(wrong_cell(LONGER_CIFAR, 0), wrong_cell(LONGER_CIFAR, 1))),
        f"in {LONGER_CIFAR} are of another test set",
    ),
    (
        f"results/{TINY}-10-held-out/results.json",
        in_json("settings", "gem", "strength", value=lambda strength: strength + 1),
        f"settings of gem in {TINY}-10-held-out are not those of the experiment",
    ),
    (
        f"results/{TINY}-25-held-out/results.json",
        in_json("class_orders", -1, value=lambda order: [order[1], order[0], *order[2:]]),
        f"in {TINY}-25-held-out has another order of the classes",
    ),
    (
        "results/figure-dogs/stanford-dogs-60-10-held-out/results.json",
        in_json("environments", value=lambda known: [*known, {}]),
        "The environments of figure-dogs/stanford-dogs-60-10-held-out are not those of its runs",
    ),
    (
        "results/innate/cifar10-10-5-pixels/results.json",
        in_json("runs", 0, "R", -1, value=lambda row: [1.0] * len(row)),
        "In innate/cifar10-10-5-pixels, IF2Net and ncm: level, not ahead",
    ),
    (
        "results/figure-cub/cub200-100-5-held-out/results.json",
        in_json("runs", 0),
        "has 4 seeds in figure-cub/cub200-100-5-held-out",
    ),
    (
        "results/figure-cub/cub200-100-10-held-out/results.json",
        in_json("runs", 0, "acc", value=lambda acc: acc + 0.01),
        "BWT or FWT of none, seed 0, in figure-cub/cub200-100-10-held-out",
    ),
    (
        "results/figure-cub/cub200-100-20-held-out/results.json",
        in_json("summary", "bic", "fwt_mean", value=lambda fwt: -fwt),
        "The summary of figure-cub/cub200-100-20-held-out",
    ),
    (
        "results/figure-dogs/stanford-dogs-60-5-held-out/results.json",
        in_json("runs", 0, "independent", 1, value=lambda accuracy: accuracy - 0.1),
        "BWT or FWT of none, seed 0, in figure-dogs/stanford-dogs-60-5-held-out",
    ),
    (
        "results/table-layers/results.json",
        in_json("summary", 0, "numbers", "acc", "mean", value=lambda mean: mean - 0.1),
        "The summary of table-layers",
    ),
    (
        "results/table-blocks/results.json",
        in_json("runs", 0, "numbers", "acc", value=lambda acc: acc / 2),
        "results/table-blocks/table.md is out of date",
    ),
    (
        "results/search/mnist-gem.json",
        in_json("best", "acc", "rate", value=lambda rate: "0.01" if rate != "0.01" else "0.02"),
        "The best of search/mnist-gem.json is not the best that was tried",
    ),
    (
        "if2net/study/bench/hyperparameters.toml",
        lambda text: re.sub(r"(\[bic.best\].*?mnist = { \w+ = )", r"\g<1>7", text, flags=re.DOTALL),
        "The settings of bic for fashion-mnist",
    ),
    (
        "if2net/study/bench/hyperparameters.toml",
        in_text('"cifar100@innate" = { standardise = "feature" }', '"cifar100@innate" = { standardise = "auto" }'),
        "The settings of ncm for cifar100@innate are not the best of results/innate_peers.py",
    ),
    (
        "results/figure-cifar/curves.svg",
        lambda text: re.sub(r'(<use [^>]* y=")(\d+)', lambda use: f"{use[1]}{int(use[2]) + 3}", text, count=30),
        "results/figure-cifar/curves.svg is out of date",
    ),
    ("results/figure-dogs/bars.svg", in_text("if2net</text>", "pcl</text>"), "figure-dogs/bars.svg is out of date"),
    ("results/figure-tsne/figure.svg", other_image, "results/figure-tsne/figure.svg is out of date"),
    ("results/table-cifar/table.md", one_number, "results/table-cifar/table.md is out of date"),
    ("docs/benchmarks.md", in_text("| 1", "| 2"), "docs/benchmarks.md is out of date"),
    ("docs/image-benchmarks.md", in_text("OWM is last in the paper, 3", "OWM is last in the paper, 5"), "58.19"),
    (
        "docs/image-benchmarks.md",
        in_text("by 2.9 points on CIFAR", "by 3.9 points on CIFAR"),
        "docs/image-benchmarks.md does not say: by 2.9 points on CIFAR",
    ),
    (
        "docs/image-benchmarks.md",
        in_text("(49.03 and 45.16)", "(45.16 and 49.03)"),
        "does not say: RPS-Net with ten and with 25 (49.03 and 45.16)",
    ),
    (
        "results/table-imagenet-subset/diverged.json",
        in_json("rate", value=lambda rate: 2 * rate),
        "ARI diverged on Tiny-ImageNet-100/50 with another rate",
    ),
    (
        "results/eft-groups/results.json",
        in_json("environments", 0, "commit", value=lambda commit: ""),
        "results/eft-groups/results.json does not name the date, the commit and the processor",
    ),
    (
        "results/search/earlier/images-if2net.json",
        in_json("environment", "processor"),
        "results/search/earlier/images-if2net.json does not name the date, the commit and the processor",
    ),
    (
        "results/search/digits-ncm.json",
        in_json("environment", "processor", value=lambda processor: None),
        "results/search/digits-ncm.json does not name the date, the commit and the processor",
    ),
    (
        "results/innate/small.jsonl",
        lambda text: text.partition("\n")[2],
        "results/innate/small.jsonl does not name the date, the commit and the processor",
    ),
    ("results/innate/repeat.jsonl", in_text('["8a9', '["7a9'), "docs/innate.md: repeated trainings differ"),
    ("docs/innate.md", in_text("\n## ", "\nIt reaches 99.99 %.\n\n## "), "docs/innate.md quotes 99.99"),
    ("docs/start.md", in_text("\n## ", "\nIt is 3.7 times as fast.\n\n## "), "docs/start.md has 3.7"),
]
PAGES = (
    "README",
    "docs/ablations",
    "docs/algorithm",
    "docs/benchmarks",
    "docs/comparison",
    "docs/faq",
    "docs/protocols",
    "docs/speed",
    "docs/guides/comparing",
    "docs/guides/deployed",
)


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """The report on a copy of the repository with all changes at once."""
    root = tmp_path_factory.mktemp("changed")
    for folder in ("results", "docs", "benchmarks"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("*.png", "__pycache__"))
    for file in ("README.md", "if2net/study/bench/hyperparameters.toml"):
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, root / file)
    pages = [(f"{page}.md", all_numbers, "") for page in PAGES]
    for file, change, _ in (*CHANGES, *pages):
        text = (root / file).read_text()
        changed = change(text)
        assert changed != text, file
        (root / file).write_text(changed)
    status, report = check(root)
    assert status == 1
    return report


def test_the_committed_results_pass_all_checks():
    status, report = check(ROOT)
    assert status == 0, report


def test_every_change_is_reported(reported):
    assert [(file, sentence) for file, _, sentence in CHANGES if sentence not in reported] == []


def test_every_changed_number_of_a_page_is_reported(reported):
    for page in PAGES:
        text = (ROOT / f"{page}.md").read_text()
        prose = re.sub(r"```.*?```|<!-- [\w-]+: .*?<!-- end of [\w-]+ -->", "", text, flags=re.DOTALL)
        changed = MEASURED.findall(all_numbers(prose))
        assert changed
        assert [number for number in changed if f"{page}.md has {number}, " not in reported] == []
