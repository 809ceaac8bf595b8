"""The temperature, fitted on held-out statistics instead of samples."""

import pytest
import torch
from layers import counted

from if2net.decision.calibration import temperature
from if2net.decision.ridge import solve
from if2net.decision.statistics import one_hot


def learned(distance, classes=4, samples=400):
    """Return β of classes whose centres are `distance` apart, and the statistics of further samples with them."""
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(2 * samples) % classes
    V = torch.randn(2 * samples, 10, generator=generator, dtype=torch.float64)
    V[:, :classes] += distance * one_hot(y, classes, V.dtype)
    fitting, held = (counted(V[part], y[part], classes) for part in (slice(samples), slice(samples, None)))
    return solve(fitting.G, fitting.Q, 1.0), held, V[samples:], y[samples:]


def cross_entropy(scores, y, tau):
    return float(torch.nn.functional.cross_entropy(scores / tau, y))


@pytest.mark.parametrize("classes", [0, 1, 3])
def test_the_temperature_of_fewer_than_two_classes_is_the_usual_one(classes):
    rows = 20 if classes else 0
    held = counted(torch.ones(rows, 10, dtype=torch.float64), torch.zeros(rows, dtype=torch.int64), classes)
    assert temperature(torch.ones(10, classes, dtype=torch.float64), held) == pytest.approx(0.15)


@pytest.mark.parametrize("shift", [0, 1])
def test_a_few_held_out_samples_do_not_decide_alone(shift):
    """All of them are right, or all are wrong, which alone would ask for the lowest or the highest temperature."""
    V, y = torch.eye(4, dtype=torch.float64).repeat(2, 1), torch.arange(8) % 4
    held = counted(V, (y + shift) % 4, 4)
    assert 0.02 < temperature(torch.eye(4, dtype=torch.float64), held) < 2


def test_well_separated_classes_have_a_lower_temperature_than_overlapping_ones():
    far, middle, near = (temperature(*learned(distance)[:2]) for distance in (8.0, 3.0, 1.0))
    assert 0 < far < middle < near


@pytest.mark.parametrize("distance", [1.0, 2.0, 4.0])
def test_the_temperature_is_nearly_the_best_one_for_the_held_out_samples(distance):
    beta, held, V, y = learned(distance)
    fitted = cross_entropy(V @ beta, y, temperature(beta, held))
    best = min(cross_entropy(V @ beta, y, 10 ** (exponent / 20)) for exponent in range(-60, 20))
    assert fitted <= best + 0.05
    assert fitted < cross_entropy(V @ beta, y, 1.0)


def test_the_temperature_is_deterministic_and_leaves_the_global_generator_alone():
    beta, held, *_ = learned(3.0)
    torch.manual_seed(1)
    first = temperature(beta, held)
    following = torch.rand(1)
    torch.manual_seed(1)
    assert torch.equal(torch.rand(1), following)
    assert temperature(beta, held) == first


def test_classes_without_held_out_samples_hardly_change_the_temperature():
    beta, held, *_ = learned(3.0)
    before = temperature(beta, held)
    held.grow(6)
    wider = torch.cat([beta, torch.zeros(10, 2, dtype=torch.float64)], dim=1)
    assert temperature(wider, held) == pytest.approx(before, rel=0.5)
