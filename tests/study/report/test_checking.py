"""Files that were cut, edited or made by something else get a sentence, not a traceback."""

import json
from pathlib import Path

import pytest

from if2net.errors import ConfigurationError
from if2net.study.report.gather import read_sources, sections
from if2net.study.report.page import render

COMMITTED = sorted((Path(__file__).parents[3] / "results").glob("*/*/results.json"))


@pytest.fixture
def read_again(make_results, write_folder):
    """Reads results after a change to them."""

    def read(change):
        folder, found = write_folder("a", make_results()), make_results()
        change(found)
        (folder / "results.json").write_text(json.dumps(found))
        return read_sources([folder])

    return read


def put(*places, value):
    """A change that puts a value at a place in the results."""

    def change(found):
        *path, last = places
        for key in path:
            found = found[key]
        found[last] = value

    return change


def drop(*places):
    def change(found):
        *path, last = places
        for key in path:
            found = found[key]
        del found[last]

    return change


BROKEN = {
    "no settings": (drop("settings"), "it lacks 'settings'"),
    "settings of no method": (put("settings", value={"ewc": 3}), "its settings are not listed by method"),
    "no environment": (drop("environment"), "it lacks 'environment'"),
    "an empty environment": (put("environment", value={}), "its environment lacks 'if2net'"),
    "no device": (drop("environment", "device"), "its environment lacks 'device'"),
    "an unknown protocol": (put("protocol", value="psychic"), "its protocol 'psychic' is none of agnostic, aware"),
    "a protocol that is a list": (put("protocol", value=["aware"]), "its protocol .* is none of agnostic"),
    "no scenario": (put("scenario", value=None), "its scenario None is not written DATASET-CLASSES/TASKS"),
    "runs that are a word": (put("runs", value="many"), "its runs are not a list of runs"),
    "runs that are null": (put("runs", value=None), "its runs are not a list of runs"),
    "a run that is null": (put("runs", value=[None]), "its runs are not a list of runs"),
    "no R": (drop("runs", 1, "R"), "a run in it lacks 'R'"),
    "no class order": (drop("runs", 1, "class_order"), "a run in it lacks 'class_order'"),
    "no seed": (drop("runs", 1, "seed"), "a run in it lacks 'seed'"),
    "no method": (drop("runs", 1, "method"), "a run in it lacks 'method'"),
    "a seed that is a word": (put("runs", 1, "seed", value="0"), "'seed' of a run in it is '0', not a whole number"),
    "ACC not a number": (put("runs", 1, "acc", value=float("nan")), "'acc' of a run in it is nan, not a number"),
    "ACC null": (put("runs", 1, "acc", value=None), "'acc' of a run in it is None, not a number"),
    "no seconds of learning": (
        put("runs", 1, "seconds", value={}),
        "'seconds' of a run .* not the seconds",
    ),
    "classes that are one": (
        put("runs", 1, "class_order", value=4),
        "'class_order' of a run .* not a list",
    ),
    "a device that is a number": (put("runs", 1, "device", value=0), "'device' of a run in it is 0, not a name"),
    "a hole in R": (put("runs", 1, "R", 1, 0, value=None), "'R' of a run in it is not 2 × 2"),
    "R not a number": (put("runs", 1, "R", 1, 0, value=float("nan")), "'R' of a run in it is not 2 × 2"),
    "R above one": (put("runs", 1, "R", 1, 0, value=80.0), "'R' of a run in it is not 2 × 2"),
    "R of one task": (put("runs", 1, "R", value=[[0.9]]), "'R' of a run in it is not 2 × 2"),
    "R of words": (put("runs", 1, "R", value=["ab", "cd"]), "'R' of a run in it is not 2 × 2"),
    "more confusions than classes": (put("runs", 1, "confusion", value=[[1] * 5] * 5), "does not count the classes"),
    "a confusion that is a number": (put("runs", 1, "confusion", value=[1, 2]), "does not count the classes"),
}


@pytest.mark.parametrize(("change", "complaint"), BROKEN.values(), ids=BROKEN)
def test_what_is_wrong_with_a_file_is_said(change, complaint, read_again):
    with pytest.raises(ConfigurationError, match=f"a/results.json cannot be shown: .*{complaint}.*; run it again"):
        read_again(change)


def test_a_file_that_is_not_text_is_said(write_folder, make_results):
    folder = write_folder("a", make_results())
    (folder / "results.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigurationError, match="is not text, hence no results file of if2net; move it away"):
        read_sources([folder])


@pytest.mark.parametrize("change", [drop("runs", 0, "confusion"), put("runs", 0, "device", value="TPU")])
def test_what_some_versions_do_not_write_is_not_missed(change, read_again):
    assert "<h1>digits-4/2</h1>" in render(sections(read_again(change)))


@pytest.mark.parametrize(
    ("made", "advice"),
    [
        ((), "`if2net reproduce table-init` writes its table"),
        (("table.md",), "look at table.md beside it"),
        (("table.md", "figure.svg"), "look at table.md and figure.svg beside it"),
    ],
)
def test_an_ablation_is_told_from_runs_of_methods(made, advice, write_folder):
    folder = write_folder("a", {"ablation": "table-init", "scenario": "digits-10/5", "runs": [], "summary": []})
    for name in made:
        (folder / name).touch()
    with pytest.raises(ConfigurationError, match=f"is the ablation table-init, and only runs .*; {advice}"):
        read_sources([folder])


@pytest.mark.parametrize("content", ["{", "[]", '"ablation"', '{"runs": []}'])
def test_what_is_neither_is_still_no_results_file(content, write_folder, make_results):
    folder = write_folder("a", make_results())
    (folder / "results.json").write_text(content)
    with pytest.raises(ConfigurationError, match="is not a results file of if2net"):
        read_sources([folder])


@pytest.mark.parametrize("file", COMMITTED, ids=lambda file: "/".join(file.parts[-3:-1]))
def test_every_committed_result_can_be_shown(file):
    assert sections(read_sources([file.parent]))


def test_there_are_committed_results():
    assert len(COMMITTED) > 30
