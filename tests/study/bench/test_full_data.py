"""Full data sets. It takes minutes, so only `make test-slow` runs it, with IF2NET_DATA set."""

import os

import numpy as np
import pytest

from if2net import IF2Net
from if2net.study.bench.hyperparameters import searched
from if2net.study.bench.runner import run_plan
from if2net.study.bench.settings import resolve
from if2net.study.bench.stream import Plan
from if2net.study.data import load_dataset, parse_scenario

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif("IF2NET_DATA" not in os.environ, reason="IF2NET_DATA names no folder with MNIST"),
]


@pytest.mark.parametrize(
    ("dataset", "protocol", "least"),
    [
        ("mnist", "agnostic", 0.975),
        ("fashion-mnist", "agnostic", 0.883),
        ("mnist", "aware", 0.9616),
        ("fashion-mnist", "aware", 0.9509),
    ],
)
def test_accuracy_on_a_stream_of_five_tasks(dataset, protocol, least):
    settings = resolve(["if2net"], protocol, [])
    plan = Plan(parse_scenario(f"{dataset}-10/5"), settings, (0,), protocol)
    assert run_plan(plan, load_dataset(dataset), None).runs[0].acc >= least


def test_mixing_the_tasks_of_a_batch_removes_the_transductive_leak():
    settings = resolve(["if2net"], "transductive", searched(["if2net"], "fashion-mnist", "transductive"))
    plan = Plan(parse_scenario("fashion-mnist-10/5"), settings, (0,), "transductive")
    by_task, mixed = run_plan(plan, load_dataset("fashion-mnist"), None).runs
    assert (by_task.variant, mixed.variant) == ("one task per batch", "tasks mixed")
    assert by_task.acc > mixed.acc + 0.2


def test_about_the_share_asked_for_of_known_digits_is_rejected():
    data = load_dataset("mnist")
    X, y = np.asarray(data.train_X[:5000]).reshape(-1, 28, 28), data.train_y[:5000]
    answers = IF2Net(device="cpu").learn(X[:3000], y[:3000]).predict(X[3000:], unknown=0.05)
    assert 0.02 < np.mean([answer is None for answer in answers]) < 0.1
