import math
from statistics import fmean

import pytest
import torch

from if2net.encoder.innate.network import Network, Plan, fold
from if2net.errors import ConfigurationError
from if2net.study.pretraining.adaptation import TURNS, Adaptation, adapt

PLAN = Plan((4, 6, 8, 10), (0, 1, 1, 1))


@pytest.fixture(scope="module")
def network(pictures):
    torch.manual_seed(0)
    network = fold(Network(PLAN))
    network.calibrate(network.rows(pictures[0] / 255))
    return network


@pytest.fixture(scope="module")
def pictures():
    """Bars, upright and slanting, that begin at the top: the direction of each picture can be told."""
    X = torch.zeros(40, 1, 24, 24, dtype=torch.uint8)
    labels = torch.arange(40) % 2
    for number, label in enumerate(labels.tolist()):
        for row in range(12):
            column = 12 + (row // 2 if label else 0)
            X[number, 0, row, column : column + 3] = 100 + 3 * number
    return X, labels


def test_the_network_learns_the_first_classes_and_directions(network, pictures):
    losses = []
    adapted = adapt(
        network, *pictures, Adaptation(steps=80, rate=3e-3), lambda *words: losses.append(float(words[2].split()[1]))
    )
    frozen = []
    adapt(network, *pictures, Adaptation(steps=80, rate=1e-9), lambda *w: frozen.append(float(w[2].split()[1])))
    assert losses[0] == frozen[0] == pytest.approx(math.log(2 * TURNS), abs=1e-3)  # guessing
    assert fmean(losses[-10:]) < fmean(frozen[-10:]) - 0.1  # more than the last layer learns alone
    changed = {
        name: not torch.equal(values, adapted.get_parameter(name)) for name, values in network.named_parameters()
    }
    assert all(changed.values())
    assert adapted.plan == PLAN
    assert not any(values.requires_grad for values in adapted.parameters())


def test_the_given_network_stays_as_it_is_and_features_keep_their_scale(network, pictures):
    before = {name: values.clone() for name, values in network.state_dict().items()}
    adapted = adapt(network, *pictures, Adaptation(steps=2))
    assert all(torch.equal(values, before[name]) for name, values in network.state_dict().items())
    assert torch.equal(adapted.mean, network.mean)
    assert torch.equal(adapted.spread, network.spread)


def test_the_same_seed_gives_the_same_bits_and_another_does_not(network, pictures):
    def rows(seed):
        return adapt(network, *pictures, Adaptation(steps=3, seed=seed)).rows(pictures[0][:4] / 255)

    assert torch.equal(rows(0), rows(0))
    assert not torch.equal(rows(0), rows(1))


def test_progress_is_shown_step_by_step(network, pictures):
    shown = []
    adapt(network, *pictures, Adaptation(steps=3), lambda *words: shown.append(words))
    assert [(done, total) for done, total, _ in shown] == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("settings", [{"steps": 0}, {"batch": 0}, {"rate": 0.0}, {"rate": float("nan")}])
def test_impossible_settings_are_refused(settings):
    with pytest.raises(ConfigurationError, match="An adaptation needs"):
        Adaptation(**settings)
