"""The ablations on scikit-learn's digits, with tiny networks."""

from dataclasses import replace

import pytest
import torch

from if2net.study.ablations import (
    ABLATIONS,
    carry_out,
    ingredients,
    rademacher,
    stability,
    table_blocks,
    table_init,
    table_layers,
    tsne,
)
from if2net.study.ablations.ablation import Bench
from if2net.study.ablations.cases import Sizes
from if2net.study.bench.loading import Loader
from if2net.study.data import load_dataset, parse_scenario


@pytest.fixture(scope="session")
def bench():
    return Bench(parse_scenario("digits-10/5"), load_dataset("digits"), torch.device("cpu"))


@pytest.fixture
def small(monkeypatch):
    """An ablation on digits with tiny layers, restricted to some of its cells."""
    monkeypatch.setattr(table_init, "LAYERS", "2x5,2x5,4x5")
    monkeypatch.setattr(tsne, "LAYERS", "2x5,2x5,4x5")
    monkeypatch.setattr(table_blocks, "ABOVE", "2x5,4x5")
    monkeypatch.setattr(table_layers, "SIZES", Sizes(blocks=2, epochs=2))
    monkeypatch.setattr(rademacher, "SIZES", Sizes(blocks=2, epochs=2))
    monkeypatch.setattr(rademacher, "SAMPLES", 100)
    monkeypatch.setattr(tsne, "PER_CLASS", 20)
    monkeypatch.setattr(tsne, "ITERATIONS", 250)
    monkeypatch.setattr(ingredients, "PER_CLASS", 50)
    monkeypatch.setattr(stability, "ENCODER", {**stability.ENCODER, "layers": "50"})

    def ablation(name, *cells):
        whole = ABLATIONS[name]
        return replace(whole, scenario="digits-10/5", cells=cells or whole.cells)

    return ablation


@pytest.fixture
def carried_out(small, tmp_path):
    """The results of an ablation on digits, with one seed by default."""

    def run(name, *cells, seeds=(0,)):
        return carry_out(small(name, *cells), tmp_path / name, Loader(), seeds=seeds)

    return run
