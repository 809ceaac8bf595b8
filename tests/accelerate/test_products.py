"""Products of split float16 numbers are as accurate as those of float32 at any scale. A CPU emulates them here."""

import pytest
import torch

from if2net import IF2Net
from if2net.accelerate import products
from if2net.accelerate.products import FEWEST, PIECE, Factor, Halves, product
from if2net.decision.statistics import Statistics, one_hot
from if2net.decision.symmetric import BLOCK_OF_HALVES, add_gram, add_gram_of_halves, symmetric, zeros

# The largest error allowed, relative to ‖a‖‖b‖, which for G is √(Gᵢᵢ Gⱼⱼ).
BOUND = 2.0**-20


def as_accurate(ours, plain):
    """Return whether the error is within four times that of float32, or of one rounding where that is larger."""
    least = torch.finfo(torch.float32).eps
    return float(ours.max()) < min(BOUND, 4 * max(float(plain.max()), least))


@pytest.fixture
def halves_everywhere(monkeypatch):
    """Use halves on the CPU, as on a GPU with tensor cores."""
    monkeypatch.setattr(products, "available", lambda device: True)
    monkeypatch.setattr(products, "_has_tensor_cores", lambda device: True)


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def scaled(kind, terms):
    """Return A and B with sizes that differ in one of the ways that could cost precision."""
    A, B = random(60, terms), random(terms, 50, seed=1)
    if kind == "positive":  # sums that grow
        return A.abs(), B.abs()
    if kind == "rows and columns":
        return A * torch.logspace(-15, 15, 60)[:, None], B * torch.logspace(12, -12, 50)
    if kind == "terms":  # a few of them dominate
        return A * torch.logspace(-6, 6, terms), B * torch.logspace(6, -6, terms)[:, None]
    if kind == "one large":
        A[:, 3], B[5] = 1e6, 1e-6
        return A, B
    if kind == "nearly dependent":  # condition 1e10
        basis = torch.linalg.qr(A.T)[0]
        return (basis * torch.logspace(0, -10, 60)).T.contiguous(), basis[:, :50].contiguous()
    if kind == "half zeros":
        return A.relu(), B.relu()
    return A, B


def errors(result, A, B):
    exact, size = A.double() @ B.double(), A.double().norm(dim=1, keepdim=True) * B.double().norm(dim=0)
    return (result.double() - exact).abs() / size


@pytest.mark.usefixtures("halves_everywhere")
@pytest.mark.parametrize("terms", [FEWEST, 1001, 2 * PIECE + 77])
@pytest.mark.parametrize(
    "kind", ["normal", "positive", "rows and columns", "terms", "one large", "nearly dependent", "half zeros"]
)
def test_a_product_of_halves_is_as_accurate_as_one_of_float32(kind, terms):
    A, B = scaled(kind, terms)
    ours, plain = errors(product(A, B), A, B), errors(A @ B, A, B)
    assert as_accurate(ours, plain)
    assert kind == "one large" or float(ours.square().mean()) < 4**2 * float(plain.square().mean())


@pytest.mark.usefixtures("halves_everywhere")
@pytest.mark.parametrize("kind", ["normal", "positive", "terms", "one large", "nearly dependent"])
def test_a_gram_matrix_of_halves_is_as_accurate_as_one_of_float32(kind):
    V = scaled(kind, 700)[0].T * torch.logspace(-9, 9, 60)  # condition numbers far beyond 1e10
    G, plain = zeros(60, torch.float32, "cpu"), zeros(60, torch.float32, "cpu")
    add_gram_of_halves(G, Halves(V, 0), 1)
    add_gram(plain, V, 1)
    assert as_accurate(*(errors(symmetric(gram), V.T, V) for gram in (G, plain)))


@pytest.mark.usefixtures("halves_everywhere")
def test_statistics_of_halves_equal_those_of_float32_and_subtract_exactly():
    width, classes = BLOCK_OF_HALVES + 35, 5
    V, y = random(PIECE + 300, width), torch.arange(PIECE + 300) % classes
    counted = Statistics(width)
    counted.grow(classes)
    counted.add(V, y)
    torch.testing.assert_close(symmetric(counted.G), V.T @ V, rtol=1e-4, atol=1e-3)
    torch.testing.assert_close(counted.Q, V.T @ one_hot(y, classes, V.dtype), rtol=1e-4, atol=1e-4)
    assert counted.counts.tolist() == torch.bincount(y).tolist()
    counted.subtract(V, y)
    assert int(counted.counts.sum()) == 0
    assert float(symmetric(counted.G).abs().max()) == float(counted.Q.abs().max()) == 0


@pytest.mark.usefixtures("halves_everywhere")
def test_a_row_of_a_product_does_not_depend_on_the_others():
    A, B = random(64, 400), random(400, 32, seed=1)
    others = A.clone()
    others[1:] *= 1e9
    assert torch.equal(product(A, B)[0], product(others, B)[0])


@pytest.mark.usefixtures("halves_everywhere")
def test_a_prepared_factor_gives_the_same_bits_for_every_batch():
    B = random(400, 32, seed=1)
    prepared = Factor(B)
    for seed in (0, 2):
        A = random(64, 400, seed=seed)
        assert torch.equal(product(A, prepared, B[0]), product(A, B, B[0]))


@pytest.mark.usefixtures("halves_everywhere")
@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf])
def test_values_that_are_not_finite_stay_so(value):
    A, B = random(20, 300), random(300, 30, seed=1)
    A[4, 7] = B[9, 2] = value
    assert torch.equal(product(A, B).isfinite(), (A @ B).isfinite())
    G = zeros(30, torch.float32, "cpu")
    add_gram_of_halves(G, Halves(B, 0), 1)
    assert torch.equal(symmetric(G).isfinite(), (B.T @ B).isfinite())


@pytest.mark.usefixtures("halves_everywhere")
@pytest.mark.parametrize("size", [0.0, 1e-38, 1e-42, 1e-20, 1e15, 3e18])
def test_very_small_and_very_large_numbers_are_multiplied_accurately(size):
    A, B = size * random(20, 300), random(300, 30, seed=1)
    torch.testing.assert_close(product(A, B), A @ B, rtol=1e-4, atol=1e-5 * size + 1e-42)


def test_a_sum_too_large_for_float32_is_infinite():
    V = torch.full((300, 3), 1e25)
    G = zeros(3, torch.float32, "cpu")
    add_gram_of_halves(G, Halves(V, 0), 1)
    assert bool(symmetric(G).isinf().all())


@pytest.mark.usefixtures("halves_everywhere")
def test_only_long_float32_products_use_halves():
    assert products.by_halves(random(2, 2), FEWEST)
    assert not products.by_halves(random(2, 2), FEWEST - 1)
    assert not products.by_halves(random(2, 2).double(), FEWEST)


def test_a_cpu_does_not_use_halves():
    assert not products.by_halves(random(2, 2), 10 * FEWEST)
    A, B = random(20, 300), random(300, 30, seed=1)
    assert torch.equal(product(A, B), A @ B)
    assert torch.equal(product(A, B, B[0]), torch.addmm(B[0], A, B))


def test_a_learner_with_halves_scores_like_float32_and_by_the_sample_alone(request):
    X, y = random(1200, 300), torch.arange(1200).numpy() % 4
    X[:, :4] += 3 * torch.eye(4)[torch.arange(1200) % 4]
    plain = IF2Net(width=400, device="cpu").learn(X[:1000], y[:1000])
    expected = plain.scores(X[1000:])
    request.getfixturevalue("halves_everywhere")
    halves = IF2Net(width=400, device="cpu").learn(X[:1000], y[:1000])
    scores = halves.scores(X[1000:])
    assert not torch.equal(scores, expected)
    torch.testing.assert_close(scores, expected, rtol=1e-3, atol=1e-4)
    assert torch.equal(torch.cat([halves.scores(X[[place]]) for place in range(1000, 1020)]), scores[:20])
    assert torch.equal(halves.scores(torch.cat([1e3 * X[:77], X[1000:]]))[77:], scores)
