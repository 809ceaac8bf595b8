"""The gradient rule of the paper and its EWC variant."""

import pytest
import torch
from torch.nn.functional import pad

from if2net.decision import Gradient, RuleConfig
from if2net.decision.gradient import PROJECTORS, ElasticGradient, closed_form
from if2net.decision.statistics import one_hot
from if2net.errors import ConfigurationError

WIDTH = 20


def new_layer(rule=Gradient, **settings):
    return rule(WIDTH, RuleConfig(**settings), torch.float64, "cpu")


def learn(layer, V, y, report=None):
    layer.grow(max(layer.classes, int(y.max()) + 1))
    layer.learn_task(V, y, torch.zeros(len(y), dtype=torch.bool), report)
    return layer


@pytest.fixture
def first(task):
    return task(60, WIDTH, 2)


@pytest.fixture
def second(task):
    V, y = task(60, WIDTH, 2, seed=1)
    return V, y + 2


# ---------------------------------------------------------------------- Remark 1, the first β


@pytest.mark.parametrize("samples", [60, WIDTH, 9])
def test_closed_form_equals_both_formulas_of_remark_1(task, samples):
    V, y = task(samples, WIDTH, 3)
    Y = one_hot(y, 3, V.dtype)
    by_features = torch.linalg.solve(V.T @ V + 1e-3 * torch.eye(WIDTH, dtype=V.dtype), V.T @ Y)
    by_samples = V.T @ torch.linalg.solve(V @ V.T + 1e-3 * torch.eye(samples, dtype=V.dtype), Y)
    torch.testing.assert_close(by_features, by_samples, rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(closed_form(V, Y, 1e-3), by_features, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("samples", [60, 9])
@pytest.mark.parametrize("scale", [1.0, 100.0, 1e5])
def test_dependent_features_get_the_solution_of_least_norm_with_mu_of_the_paper(task, samples, scale):
    V, y = task(samples, WIDTH, 3, rank=5)
    Y = one_hot(y, 3, V.dtype)
    expected = torch.linalg.pinv(scale * V, rtol=1e-10) @ Y
    beta = closed_form(scale * V, Y, 2.0**-30)
    assert float((beta - expected).norm() / expected.norm()) < 1e-3


def test_tiny_singular_values_do_not_blow_up_beta_with_mu_of_the_paper(task):
    V, y = task(60, WIDTH, 3)
    left, _, right = torch.linalg.svd(V, full_matrices=False)
    values = torch.logspace(5, -8, WIDTH, dtype=V.dtype)  # the smallest are far below √μ
    Y = one_hot(y, 3, V.dtype)
    expected = right.T @ ((values / (values.square() + 2.0**-30)).unsqueeze(1) * (left.T @ Y))
    beta = closed_form(left * values @ right, Y, 2.0**-30)
    assert float((beta - expected).norm() / expected.norm()) < 1e-3


def test_the_first_task_starts_at_its_least_squares_solution(first):
    V, y = first
    layer = learn(new_layer(epochs=0, mu=1e-3), V, y)
    torch.testing.assert_close(layer.beta, closed_form(V, one_hot(y, 2, V.dtype), 1e-3))


def test_the_start_uses_the_given_number_of_samples(first):
    V, y = first
    layer = learn(new_layer(epochs=0, initial_samples=7), V, y)
    residual = (V @ layer.beta - one_hot(y, 2, V.dtype)).abs().amax(dim=1)
    assert int((residual < 1e-5).sum()) == 7


def test_a_random_start_depends_on_the_seed_alone_and_learns(first, task):
    start = learn(new_layer(epochs=0, initialisation="random", seed=3), *first).beta
    assert torch.equal(start, learn(new_layer(epochs=0, initialisation="random", seed=3), *task(30, WIDTH, 2)).beta)
    assert not torch.equal(start, learn(new_layer(epochs=0, initialisation="random", seed=4), *first).beta)
    losses = []
    learn(new_layer(epochs=30, initialisation="random"), *first, lambda progress: losses.append(progress["loss"]))
    assert losses[-1] < 0.3 * losses[0]


# ---------------------------------------------------------------------- the gradient rule


@pytest.mark.parametrize("projector", ["exact", "recursive"])
def test_a_second_task_in_free_directions_leaves_the_old_outputs_unchanged(task, second, projector):
    V_old, y_old = task(60, WIDTH, 2, rank=8)
    layer = learn(new_layer(alpha=1e-10, epochs=20, batch_size=16, projector=projector), V_old, y_old)
    outputs = pad(V_old @ layer.beta, (0, 2))
    losses = []
    learn(layer, *second, lambda progress: losses.append(progress["loss"]))
    torch.testing.assert_close(V_old @ layer.beta, outputs, rtol=0, atol=1e-6)
    assert losses[-1] < 0.5 * losses[0]


def test_many_epochs_forget_where_no_direction_is_free(first, second):
    V_old, _ = first
    layer = learn(new_layer(alpha=0.1, epochs=300, batch_size=16), *first)
    outputs = pad(V_old @ layer.beta, (0, 2))
    learn(layer, *second)
    assert float((V_old @ layer.beta - outputs).norm() / outputs.norm()) > 0.1


def test_progress_is_reported_after_each_epoch(first, second):
    reports = []
    layer = new_layer(epochs=3)
    learn(layer, *first, reports.append)
    after_first = layer.free_share()
    learn(layer, *second, reports.append)
    assert [(report["task"], report["epoch"]) for report in reports] == [(t, e) for t in (0, 1) for e in range(3)]
    assert all(report.keys() == {"task", "epoch", "loss", "free"} for report in reports)
    assert [report["free"] for report in reports] == pytest.approx(3 * [1.0] + 3 * [after_first])
    assert after_first < 0.5


@pytest.mark.parametrize("step", [0.5, 1.9])
def test_every_allowed_step_reduces_the_loss_at_any_scale_of_the_features(first, step):
    V, y = first
    losses = []
    settings = {"initialisation": "random", "step": step, "epochs": 20, "batch_size": 60}
    learn(new_layer(**settings), 1000 * V, y, lambda progress: losses.append(progress["loss"]))
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.7 * losses[0]


@pytest.mark.parametrize("step", [-1.0, 0.0, 2.0, 2.5])
def test_a_step_that_would_diverge_or_stand_still_is_refused(step):
    with pytest.raises(ConfigurationError, match=rf"must be between 0 and 2, not {step}\.$"):
        new_layer(step=step)


def test_the_recursive_and_the_exact_projector_learn_the_same_beta(first, second):
    betas = [learn(learn(new_layer(projector=kind), *first), *second).beta for kind in ("exact", "recursive")]
    torch.testing.assert_close(betas[0], betas[1], rtol=1e-4, atol=1e-8)


def test_batch_means_protect_less_than_all_samples(first):
    shares = [learn(new_layer(projector=kind), *first).free_share() for kind in ("recursive", "batch-mean")]
    assert shares[0] < shares[1] < 1


def test_float32_learns_like_float64(first, second):
    single = Gradient(WIDTH, RuleConfig(), torch.float32, "cpu")
    double = new_layer()
    for V, y in (first, second):
        learn(single, V.float(), y)
        learn(double, V, y)
    assert single.beta.dtype == torch.float64
    torch.testing.assert_close(single.beta, double.beta, rtol=0.01, atol=0.01)
    assert single.temperature == pytest.approx(double.temperature, rel=0.05)
    assert single.free_share() == pytest.approx(double.free_share(), rel=0.01)


def test_new_classes_start_at_zero_and_leave_the_old_ones_alone(first):
    layer = learn(new_layer(), *first)
    before = layer.beta.clone()
    layer.grow(5)
    assert torch.equal(layer.beta, pad(before, (0, 3)))
    assert layer.total.counts.tolist() == [*torch.bincount(first[1]).tolist(), 0, 0, 0]


def test_the_seed_determines_the_order_of_the_samples(first):
    betas = [learn(new_layer(initialisation="random", batch_size=8, seed=seed), *first).beta for seed in (1, 1, 2)]
    assert torch.equal(betas[0], betas[1])
    assert not torch.equal(betas[0], betas[2])


@pytest.mark.parametrize("rule", [Gradient, ElasticGradient])
@pytest.mark.parametrize("projector", PROJECTORS)
def test_a_restored_layer_learns_on_like_the_original(first, second, rule, projector):
    layer = learn(new_layer(rule, projector=projector), *first)
    restored = new_layer(rule, projector=projector)
    restored.restore({name: tensor.clone() for name, tensor in layer.tensors()})
    assert torch.equal(learn(restored, *second).beta, learn(layer, *second).beta)


# ---------------------------------------------------------------------- with the EWC penalty


def distance_moved(rule, first, second, **settings):
    layer = learn(new_layer(rule, epochs=20, **settings), *first)
    before = pad(layer.beta, (0, 2))
    return float((learn(layer, *second).beta - before).norm())


def test_a_stronger_penalty_moves_beta_less(first, second):
    free = distance_moved(Gradient, first, second)
    distances = [distance_moved(ElasticGradient, first, second, fisher=weight) for weight in (0.0, 1e4, 1e8)]
    assert distances[0] == pytest.approx(free)
    assert free > 1.5 * distances[1] > 3 * distances[2] > 0


def test_fisher_is_the_sum_over_tasks_of_the_mean_squared_gradients(first, second):
    layer = new_layer(ElasticGradient)
    expected = torch.zeros(WIDTH, 4, dtype=torch.float64)
    for V, y in (first, second):
        learn(layer, V, y)
        Y = one_hot(y, layer.classes, V.dtype)
        squares = [torch.outer(v, v @ layer.beta - target).square() for v, target in zip(V, Y, strict=True)]
        expected += pad(sum(squares) / len(V), (0, 4 - layer.classes))
    torch.testing.assert_close(layer.fisher, expected)


def test_fisher_grows_with_the_classes(first):
    layer = learn(new_layer(ElasticGradient), *first)
    before = layer.fisher.clone()
    layer.grow(5)
    assert torch.equal(layer.fisher, pad(before, (0, 3)))
    assert float(before.min()) > 0
