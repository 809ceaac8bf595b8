"""IF2Net as a method of the study: the guard against a bad batch stays on, so a finished run refused no batch."""

import numpy as np
import pytest
import torch

from if2net.errors import InputError, SuspectInputError
from if2net.study.bench.hyperparameters import for_pictures, searched
from if2net.study.bench.settings import resolve
from if2net.study.data import DATASETS, IMAGE_DATASETS, load_dataset, parse_scenario
from if2net.study.methods import METHODS

OURS = ("if2net", "if2net-gradient", "if2net-ewc")


def as_run(name, dataset, *given):
    """Return the settings that `if2net run` gives to a method."""
    scenario = parse_scenario(f"{dataset}-2/1")
    pictures = for_pictures(scenario, "agnostic", list(given)) if name == "if2net" else []
    best = [] if pictures else searched([name], dataset, "agnostic", backbone=scenario.backbone)
    return resolve([name], "agnostic", [*best, *pictures, *given])[name]


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("dataset", [*DATASETS, *IMAGE_DATASETS])
def test_no_stream_is_run_without_the_guard(name, dataset):
    assert as_run(name, dataset).check_inputs


@pytest.mark.parametrize("name", OURS)
def test_a_task_in_other_units_is_refused_and_the_right_one_is_learned(name):
    _, (first, second, *_) = parse_scenario("digits-10/5").stream(load_dataset("digits"), seed=0)
    method = METHODS[name](64, 0, torch.device("cpu"), as_run(name, "digits", (None, "width", "150")))
    method.learn(first.train_X, first.train_y)
    with pytest.raises(SuspectInputError):
        method.learn(second.train_X * 1000, second.train_y)
    method.learn(second.train_X, second.train_y)
    assert len(method.net.classes) == 4


def test_pictures_in_another_range_are_refused():
    X = np.random.default_rng(0).random((20, 784), dtype=np.float32)
    method = METHODS["if2net"](784, 0, torch.device("cpu"), as_run("if2net", "mnist", (None, "width", "0")))
    method.learn(X, np.arange(20) % 2)
    with pytest.raises(InputError, match="scale them to the same range"):
        method.learn(X * 255, np.arange(20) % 2)
