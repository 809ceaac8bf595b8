import numpy as np
import pytest
import torch

from if2net.decision.projector import projector
from if2net.errors import ConfigurationError, NumericalError
from if2net.study.methods.common.network import gradient, linear_layers
from if2net.study.methods.owm import OWM, OWMSettings

SMALL = {"hidden": 10, "depth": 2, "epochs": 2, "steps": 12, "batch_size": 8, "rate": 0.05}


class Recording(OWM):
    """Records the mean input of each layer at each step."""

    def before_step(self, X, y):
        self.means.append([rows.double().mean(dim=0) for rows in self.layer_inputs])
        self.seen_alphas.append(self.alphas(self.steps_done / self.steps))
        super().before_step(X, y)


def trained(tasks=2, **settings):
    method = Recording(6, 0, torch.device("cpu"), OWMSettings(**SMALL | settings))
    method.means, method.seen_alphas = [], []
    random = np.random.default_rng(0)
    for task in range(tasks):
        y = np.arange(30) % 2 + 2 * task
        method.learn(random.normal(size=(30, 6)) + y[:, None], y)
    return method


def test_the_projector_covers_the_mean_inputs_of_all_steps_and_tasks():
    method = trained(input_decay=1.0, hidden_decay=1.0)
    assert len(method.means) == 2 * 12
    for place, alpha in enumerate([0.9, 1.0, 0.6]):
        V = torch.stack([step[place] for step in method.means])
        assert (V[:, -1] == 1).all()
        torch.testing.assert_close(method.state[f"P.{place}"], projector(V.T @ V, alpha))


def test_a_gradient_is_clipped_and_then_projected_by_the_updated_projector():
    method = trained()
    X = 500 * torch.randn(8, 6, generator=torch.Generator().manual_seed(1))
    y = torch.arange(8) % 4
    method.begin(X, y)
    method.network.zero_grad()
    method.loss(X, y).backward()
    before = [gradient(layer) for layer in linear_layers(method.network)]
    method.before_step(X, y)
    for place, (layer, g) in enumerate(zip(linear_layers(method.network), before, strict=True)):
        P = method.projectors[place].P
        assert (method.state[f"P.{place}"] != P).any()
        cut = g * min(1.0, 10 / float(g.norm()))
        torch.testing.assert_close(gradient(layer), cut @ P.float())
    assert before[0].norm() > 10


def test_alpha_decays_over_the_steps_of_a_task():
    method = trained(tasks=1)
    alphas = np.array(method.seen_alphas)
    progress = np.arange(12) / 12
    np.testing.assert_allclose(alphas[:, 0], 0.9 * 0.001**progress)
    np.testing.assert_allclose(alphas[:, 1], 0.1**progress)
    np.testing.assert_allclose(alphas[:, 2], 0.6)


def test_projectors_stay_symmetric_and_shrink_with_each_task():
    one, two = trained(tasks=1), trained(tasks=2)
    for place in range(3):
        P, later = one.state[f"P.{place}"], two.state[f"P.{place}"]
        assert torch.equal(later, later.T)
        assert torch.linalg.eigvalsh(P - later).min() > -1e-12
        assert later.trace() < P.trace()


def test_divergence_raises_an_error_that_says_what_to_do():
    with pytest.raises(NumericalError, match=r"smaller rate"):
        trained(rate=1e30)


def test_the_head_has_rows_for_classes_to_come_which_are_trained_but_never_predicted():
    method = trained(tasks=1, classes=5)
    assert method.network.classes == 5
    X = torch.randn(40, 6, generator=torch.Generator().manual_seed(2))
    assert method.scores(X).shape == (40, 2)
    logits = method.network(X + 0.5)
    assert logits[:, 2:].mean() < logits[:, :2].mean()


def test_more_classes_than_rows_add_rows():
    assert trained(tasks=3, classes=4).scores(torch.zeros(1, 6)).shape == (1, 6)


def test_the_loss_cannot_be_over_the_current_classes_alone():
    with pytest.raises(ConfigurationError, match="leave its scope at `seen`"):
        OWMSettings(scope="current")
