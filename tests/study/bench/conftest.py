"""Streams of scikit-learn's digits with tiny models. Runs are shared between tests."""

from dataclasses import replace
from functools import cache

import pytest

from if2net.study.bench.results import Results, Run, Seconds
from if2net.study.bench.runner import run_plan
from if2net.study.bench.settings import from_command_line, resolve
from if2net.study.bench.stream import Plan
from if2net.study.data import load_dataset, parse_scenario

TINY = {
    "if2net": {"agnostic": ["width=60"], "aware": ["layers=2x5,4x5"], "transductive": ["layers=2x5,4x5"]},
    "trained": ["epochs=1", "steps=5", "hidden=16"],
}

MACHINE = {"if2net": "0.2.0", "torch": "2.9", "threads": 2, "device": "cpu", "commit": None}


def tiny_settings(methods, protocol):
    given = []
    for method in methods:
        ours = method.startswith("if2net")
        words = TINY["if2net"][protocol] + ["epochs=1"] if ours else TINY["trained"] if method != "ncm" else []
        given += [f"{method}.{word}" for word in words]
    return resolve(methods, protocol, from_command_line(given))


@pytest.fixture(scope="session")
def digits():
    return load_dataset("digits")


@pytest.fixture(scope="session")
def make_plan():
    """Makes a plan on digits-10/5 with tiny models."""

    def make(methods=("if2net",), protocol="agnostic", seeds=(0,), **changes):
        plan = Plan(parse_scenario("digits-10/5"), tiny_settings(methods, protocol), seeds, protocol)
        return replace(plan, **changes)

    return make


@pytest.fixture(scope="session")
def whole_run(digits, make_plan):
    """The uninterrupted results of tiny methods under a protocol, computed once."""
    return cache(lambda methods, protocol: run_plan(make_plan(methods, protocol), digits, None))


@pytest.fixture(scope="session")
def make_run():
    """Makes a run of two tasks without running anything."""

    def make(method="if2net", seed=0, **changes):
        R = [[0.9], [0.8, 0.5 + seed / 10]]
        run = Run(method, seed, [2, 0, 3, 1], R, [0.9, 0.7], Seconds(1.0, 0.1), 1200, 0, 10, MACHINE)
        return replace(run, **changes)

    return make


@pytest.fixture(scope="session")
def make_results(make_run):
    """Makes results of two tasks without running anything."""

    def make(*runs, scenario="digits-4/2", protocol="agnostic", settings=None):
        empty = Results(scenario, protocol, settings={}, runs=[])
        return empty.with_runs(runs or [make_run()], settings or {})

    return make
