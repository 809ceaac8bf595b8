import numpy as np
import pytest
import torch

from if2net.study.methods.ewc import EWC


def make(**settings):
    settings = {"hidden": 6, "depth": 1, "epochs": 1, "steps": 30, **settings}
    return EWC(4, 0, torch.device("cpu"), EWC.Settings(**settings))


def task(number):
    random = np.random.default_rng(number)
    return random.normal(size=(40, 4)).astype(np.float32), 2 * number + np.arange(40) % 2


@pytest.mark.parametrize(("scope", "first"), [("seen", 0), ("current", 2)])
def test_the_fisher_diagonal_is_exact_over_the_classes_in_the_scope(scope, first):
    method = make(scope=scope)
    for number in range(2):
        method.learn(*task(number))
    X, parameters = torch.from_numpy(task(1)[0]), list(method.network.parameters())
    expected = [torch.zeros_like(parameter) for parameter in parameters]
    for sample in X:
        log_p = method.network(sample)[first:].log_softmax(dim=0)
        for label in range(len(log_p)):
            gradients = torch.autograd.grad(log_p[label], parameters, retain_graph=True)
            for total, gradient in zip(expected, gradients, strict=True):
                total += log_p[label].exp().detach() * gradient**2 / len(X)
    for fisher, wanted in zip(method.measure_importance(X), expected, strict=True):
        torch.testing.assert_close(fisher, wanted)


def test_one_parabola_has_the_same_slope_as_one_term_per_task():
    method, terms = make(), []
    for number in range(3):
        X, y = task(number)
        method.learn(X, y)
        terms.append((method.copy_parameters()[0], method.measure_importance(torch.from_numpy(X))[0]))
    theta = torch.randn_like(method.anchor[0])
    wanted = sum(fisher * (theta - anchor) for anchor, fisher in terms)
    torch.testing.assert_close(method.importance[0] * (theta - method.anchor[0]), wanted)


def test_the_fisher_diagonal_uses_at_most_the_given_number_of_samples():
    few, all_samples = make(fisher_samples=1), make(fisher_samples=1000)
    X, y = task(0)
    for method in (few, all_samples):
        method.learn(X, y)
    alone = [few.measure_importance(torch.from_numpy(row[None]))[0] for row in X]
    drawn = few.state["importance.hidden.0.weight"]
    assert sum(torch.allclose(drawn, one) for one in alone) == 1
    torch.testing.assert_close(all_samples.state["importance.hidden.0.weight"], torch.stack(alone).mean(dim=0))
