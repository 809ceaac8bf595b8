"""The page and the files of the image benchmarks say what the committed results say."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

from if2net.study.bench.experiments import COMPARED, TABLES
from if2net.study.report.comparison import FORMS, gathered, read

RESULTS = Path(__file__).parents[2] / "results"
PAGE = (RESULTS.parent / "docs/image-benchmarks.md").read_text()
DESCRIPTION = importlib.util.spec_from_file_location("images", RESULTS / "images.py")
IMAGES = importlib.util.module_from_spec(DESCRIPTION)
DESCRIPTION.loader.exec_module(IMAGES)
RUN = [name for name in IMAGES.NAMES if read(name, RESULTS / name)]


@pytest.mark.parametrize("name", RUN)
def test_the_table_and_the_figures_are_made_from_the_committed_results_and_light(name):
    found, form, folder = gathered(read(name, RESULTS / name)), FORMS[name], RESULTS / name
    assert (folder / "table.md").read_text(encoding="utf-8") == form.table(name, found) + "\n"
    for file, draw in form.figures.items():
        assert (folder / file).read_text(encoding="utf-8") == draw(found).alone()
        assert 10_000 < (folder / file).with_suffix(".png").stat().st_size < 150_000
        assert f"](../results/{name}/{file})" in PAGE


@pytest.mark.parametrize("name", IMAGES.NAMES)
def test_the_page_says_what_has_not_been_run(name):
    (line,) = [line for line in PAGE.splitlines() if line.startswith(f"| `if2net reproduce {name}` |")]
    assert ("| not run yet |" in line) == (name not in RUN)


def test_figures_in_the_text_stand_in_a_table_of_the_page_or_in_the_search():
    searched = json.loads((RESULTS / "search/images-if2net.json").read_text())["tried"]
    known = {f"{100 * entry['acc']:.2f}" for entry in searched} | {"4.95"}  # the example on the page checks this one
    tables = "\n".join(line for line in PAGE.splitlines() if line.startswith("|"))
    prose = re.sub("<!-- table:.*?<!-- end of table -->", "", PAGE, flags=re.DOTALL)  # those are made by a program
    quoted = set(re.findall(r"\d+\.\d{2}", prose))
    assert len(quoted) > 20
    assert quoted <= known | set(re.findall(r"\d+\.\d{2}", tables))


def ahead_in_every_order(name, tasks):
    """The methods that IF2Net is ahead of whatever the order of the classes."""
    (results,) = [found for found in read(name, RESULTS / name) if f"/{tasks}@" in found["scenario"]]
    acc = {(run["method"], run["seed"]): run["acc"] for run in results["runs"]}
    methods, seeds = ({key[place] for key in acc} for place in (0, 1))
    assert len(seeds) == 5
    return {m for m in methods if all(acc["if2net", seed] > acc[m, seed] for seed in seeds)}


def test_what_the_page_says_of_cifar_is_so():
    (section,) = gathered(read("table-cifar", RESULTS / "table-cifar"))
    series = {entry.name: entry for entry in section.series}
    acc = {name: entry.summary["acc_mean"] for name, entry in series.items()}
    ours = acc.pop("if2net")
    keeping = [name for name, entry in series.items() if entry.keeps_exemplars and name != "joint"]
    assert len(keeping) == 7
    assert max(keeping, key=acc.get) == "bic"
    assert {name for name in keeping if acc[name] < acc["ncm"]} == {"ari", "il2m", "fs-dgpm", "gem", "logd"}
    assert {name for name in acc if acc[name] > acc["joint"]} == {"ranpac", "slda", "acil"}
    assert ours - max(acc.values()) < 0.03
    assert ahead_in_every_order("table-cifar", tasks=10) == {
        "joint",
        "ranpac",
        "slda",
        "acil",
        *keeping,
        "owm",
        "none",
        "ncm",
    }
    compared = [name for name in acc if name not in ("joint", "none", "ncm", "slda", "ranpac", "acil")]
    assert sorted(compared, key=acc.get)[-2:] == ["owm", "bic"]
    for task in range(section.tasks):
        assert all(series["if2net"].curve[0][task] > series[name].curve[0][task] for name in compared)
    trained = [*compared, "none", "joint"]
    first = [f"{100 * series[name].curve[0][0]:.2f}" for name in trained]
    assert (min(first), max(first)) == ("92.87", "93.97")


def test_what_the_page_says_of_twice_as_many_tasks_of_cifar_is_so():
    found = gathered([*read("table-cifar", RESULTS / "table-cifar"), *read("figure-cifar", RESULTS / "figure-cifar")])
    ten, twenty = ({entry.name: 100 * entry.summary["acc_mean"] for entry in section.series} for section in found)
    lost = {name: ten[name] - twenty[name] for name in ten}
    assert 0.3 < lost["if2net"] < 0.4
    assert all(abs(lost[name]) < 0.1 for name in ("ranpac", "slda", "acil"))
    assert all(1 < lost[name] < 6 for name in COMPARED)
    assert sorted(COMPARED, key=twenty.get)[-3:] == ["rps-net", "bic", "owm"]
    assert all(f"{twenty[name]:.2f}" in PAGE for name in ("if2net", "owm", "bic", "rps-net"))


@pytest.mark.parametrize(
    ("tasks", "best", "peer"), [(10, "rps-net", "acil"), (25, "rps-net", "ranpac"), (50, "il2m", "ranpac")]
)
def test_what_the_page_says_of_tiny_imagenet_is_so(tasks, best, peer):
    (section,) = [
        section
        for section in gathered(read("table-imagenet-subset", RESULTS / "table-imagenet-subset"))
        if section.tasks == tasks
    ]
    acc = {entry.name: 100 * entry.summary["acc_mean"] for entry in section.series}
    assert len(acc) == 12
    assert ahead_in_every_order("table-imagenet-subset", tasks) == set(acc) - {"if2net"}
    assert max(set(COMPARED) & set(acc), key=acc.get) == best
    assert max(set(acc) - {"if2net"}, key=acc.get) == peer
    assert all(f"{acc[name]:.2f}" in PAGE for name in ("if2net", best, peer))
    (ours,) = [entry.summary for entry in section.series if entry.name == "if2net"]
    assert f"{acc['if2net']:.2f} ± {100 * ours['acc_std']:.2f} with" in PAGE.replace("\n  ", " ")


def test_what_the_page_says_of_more_tasks_of_tiny_imagenet_is_so():
    found = gathered(read("table-imagenet-subset", RESULTS / "table-imagenet-subset"))
    acc = [{entry.name: 100 * entry.summary["acc_mean"] for entry in section.series} for section in found]
    lost = {name: acc[0][name] - acc[2][name] for name in acc[0]}
    compared = sorted(set(COMPARED) & set(lost), key=lost.get)
    assert lost["if2net"] < 0.5
    assert (compared[0], compared[-1]) == ("il2m", "rps-net")
    assert 1 < lost["il2m"] < lost["rps-net"] < 15


@pytest.mark.parametrize(("tasks", "best"), [(5, "rps-net"), (10, "bic")])
def test_what_the_page_says_of_dogs_is_so(tasks, best):
    sections = gathered(read("figure-dogs", RESULTS / "figure-dogs"))
    (section,) = [section for section in sections if section.tasks == tasks]
    acc = {entry.name: 100 * entry.summary["acc_mean"] for entry in section.series}
    spread = 100 * min(entry.summary["acc_std"] for entry in section.series if entry.name in ("if2net", "ranpac"))
    compared = [name for name in acc if name not in ("joint", "none", "ncm", "slda", "ranpac", "acil", "if2net")]
    assert max(compared, key=acc.get) == best
    assert acc["if2net"] > max(acc[best], acc["acil"], acc["slda"], acc["joint"])
    assert 0.2 < acc["ranpac"] - acc["if2net"] < 0.3 < spread
    assert all(f"{acc[name]:.2f}" in PAGE for name in ("if2net", "ranpac", best))


def test_what_the_page_says_of_cub_is_so():
    best = 0.0
    for section in gathered(read("figure-cub", RESULTS / "figure-cub")):
        acc = {entry.name: 100 * entry.summary["acc_mean"] for entry in section.series}
        compared = [name for name in acc if name not in ("joint", "none", "ncm", "slda", "ranpac", "acil", "if2net")]
        assert acc["if2net"] > max(acc[name] for name in [*compared, "acil", "slda"])
        assert acc["ranpac"] > acc["if2net"] > 1.3 * acc["joint"]
        assert all(f"{acc[name]:.2f}" in PAGE for name in ("if2net", "ranpac"))
        if "efficientnet" in str(section.scenario):
            assert max(compared, key=acc.get) == "pcl"
        else:
            assert 0.7 < acc["ranpac"] - acc["if2net"] < 1.4
            best = max(best, *(acc[name] for name in compared))
            assert section.tasks != 20 or acc["bic"] == best
    assert f"{best:.2f}" == "33.88"


def test_training_is_as_the_page_says():
    for name in IMAGES.NAMES:
        assert all((None, "steps", 300) in part.own for part in TABLES[name][1]())
    for results in (entry for name in RUN for entry in read(name, RESULTS / name)):
        trained = [settings for settings in results["settings"].values() if "steps" in settings]
        assert all(settings["steps"] >= 300 and settings["epochs"] >= 5 for settings in trained)


def test_nothing_else_was_searched():
    methods = {method for name in IMAGES.NAMES for part in TABLES[name][1]() for method in part.methods}
    searched = {path.stem.removeprefix("images-") for path in (RESULTS / "search").glob("images-*.json")}
    assert methods - searched == {"none", "joint", "ncm", "slda", "ranpac", "pcl"}
