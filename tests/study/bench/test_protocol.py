import numpy as np

from if2net.study.bench.protocol import AMONG_ALL, predictions
from if2net.study.bench.runner import run_plan
from if2net.study.bench.settings import resolve
from if2net.study.bench.stream import Plan
from if2net.study.data import parse_scenario
from if2net.study.methods import METHODS

SCENARIO = parse_scenario("digits-10/5")
BRIEF = [(None, "steps", 60), (None, "epochs", 1), (None, "hidden", 32), (None, "rate", 0.1)]


def accuracy(digits, method, protocol):
    plan = Plan(SCENARIO, resolve([method], protocol, BRIEF), (0,), protocol)
    (run,) = run_plan(plan, digits, out=None).runs
    return run.acc


def test_told_the_task_a_method_that_forgets_still_chooses_among_its_two_classes(digits):
    assert accuracy(digits, "none", "agnostic") < 0.3
    assert accuracy(digits, "none", "aware") > 0.5


def test_under_the_aware_protocol_every_answer_is_a_class_of_the_task(digits):
    _, tasks = SCENARIO.stream(digits, seed=0)
    method = METHODS["ncm"](64, 0, "cpu", METHODS["ncm"].Settings())
    for task in tasks:
        method.learn(task.train_X, task.train_y)
    told, among_all = (predictions(method, tasks, "aware", variant) for variant in ("", AMONG_ALL))
    assert all(set(answers) <= set(task.classes) for answers, task in zip(told, tasks, strict=True))
    assert not all(set(answers) <= set(task.classes) for answers, task in zip(among_all, tasks, strict=True))
    agnostic = predictions(method, tasks, "agnostic", "")
    assert all(np.array_equal(*pair) for pair in zip(among_all, agnostic, strict=True))
