"""The dense encoder: frozen random layers, the tweak, and the columns beside them."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.linear_model import Lasso

from if2net import IF2Net, device_memory
from if2net.encoder import Blocks, DenseEncoder, EncoderConfig
from if2net.encoder.dense import ACTIVATIONS
from if2net.errors import InputError

LAYERS = (Blocks(5, 4), Blocks(6, 3), Blocks(10, 5))
PAPER = EncoderConfig(
    LAYERS, activation="tanh", distribution="uniform", tweaked=True, strength=0.01, standardise="none"
)


def samples(count=80, features=6, seed=0, dtype=torch.float64):
    return torch.randn(count, features, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def started(config, X, seed=0):
    encoder = DenseEncoder(config, seed)
    encoder.start(X)
    return encoder


def with_ones(V):
    return torch.cat([V, torch.ones(len(V), 1, dtype=V.dtype)], dim=1)


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
@pytest.mark.parametrize("tweaked", [False, True])
@pytest.mark.parametrize("extra", [{"direct": True}, {"bias": True}, {"bias": True, "direct": True, "centre": True}])
def test_the_width_is_the_number_of_columns(depth, tweaked, extra):
    X = samples()
    encoder = started(replace(PAPER, layers=LAYERS[:depth], tweaked=tweaked, **extra), X)
    V = encoder.encode(X, encoder.tweak([X]))
    assert V.shape == (len(X), encoder.width)
    assert len(encoder.weights) == depth


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_without_a_tweak_every_layer_applies_the_frozen_weights_and_the_activation(activation):
    X = samples()
    encoder = started(replace(PAPER, activation=activation, tweaked=False), X)
    V = X
    for weights in encoder.weights:
        V = getattr(torch, activation)(with_ones(V) @ weights)
    torch.testing.assert_close(encoder.encode(X, encoder.tweak([X])), V)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_with_a_tweak_every_layer_uses_the_lasso_weights_of_its_blocks(activation):
    X = samples()
    activate = getattr(torch, activation)
    encoder = started(replace(PAPER, activation=activation), X)
    tweak = encoder.tweak([X])
    V = X
    for blocks, weights, tweaked in zip(LAYERS, encoder.weights, tweak, strict=True):
        target = with_ones(V)
        rows = []
        for block in activate(target @ weights).split(blocks.nodes, dim=1):
            model = Lasso(alpha=0.01, fit_intercept=False, tol=1e-10, max_iter=100_000)
            rows.append(torch.from_numpy(model.fit(block.numpy(), target.numpy()).coef_))
        torch.testing.assert_close(tweaked, torch.cat(rows, dim=1), rtol=0, atol=1e-5)
        V = activate(target @ tweaked)
    torch.testing.assert_close(encoder.encode(X, tweak), V)


@pytest.mark.parametrize("batch", [1, 13, 79])
def test_the_tweak_does_not_depend_on_the_batches(batch):
    X = samples()
    encoder = started(PAPER, X)
    for one, many in zip(encoder.tweak([X]), encoder.tweak(X.split(batch)), strict=True):
        torch.testing.assert_close(many, one, rtol=0, atol=1e-8)


def test_later_data_changes_the_tweak_but_not_the_frozen_weights():
    X, later = samples(), 5 + 3 * samples(seed=1)
    encoder = started(replace(PAPER, standardise="feature", centre=True), X)
    before = {name: tensor.clone() for name, tensor in encoder.tensors()}
    first, second = encoder.tweak([X]), encoder.tweak([later])
    encoder.encode(later, second)
    after = dict(encoder.tensors())
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert not torch.allclose(first[0], second[0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_seed_determines_the_weights(dtype):
    X = samples(dtype=dtype)
    weights = [started(PAPER, X, seed).weights for seed in (7, 7, 8)]
    assert all(torch.equal(a, b) for a, b in zip(weights[0], weights[1], strict=True))
    assert not any(torch.equal(a, b) for a, b in zip(weights[0], weights[2], strict=True))
    assert {layer.dtype for layer in weights[0]} == {dtype}


def test_the_code_of_a_sample_does_not_depend_on_the_batch():
    X = samples()
    encoder = started(PAPER, X)
    tweak = encoder.tweak([X])
    one_by_one = torch.cat([encoder.encode(row, tweak) for row in X.split(1)])
    torch.testing.assert_close(one_by_one, encoder.encode(X, tweak), rtol=0, atol=1e-12)


def test_inputs_and_bias_are_appended_to_the_responses():
    X = samples()
    encoder = started(EncoderConfig(LAYERS[:1], standardise="none", direct=True, bias=True), X)
    V = encoder.encode(X, [])
    assert torch.equal(V[:, 20:26], X)
    assert bool((V[:, 26] == 1).all())


def test_centred_responses_to_the_first_data_have_a_mean_of_zero():
    X = samples()
    encoder = started(EncoderConfig(LAYERS[:2], centre=True), X)
    assert encoder.encode(X, []).mean(dim=0).abs().max() < 1e-12
    assert encoder.encode(samples(seed=1), []).mean(dim=0).abs().max() > 1e-3


def test_the_centre_is_the_mean_response_of_some_of_many_samples():
    X = samples(count=5000)
    encoder = started(EncoderConfig(LAYERS[:1], centre=True), X)
    V = encoder.encode(X, [])
    assert 0 < float(V.mean(dim=0).abs().max()) < 0.15 * float(V.std(dim=0).mean())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_counted_rows_are_encoded_rows_up_to_rounding(dtype):
    X = samples(count=300, dtype=dtype)
    encoder = started(EncoderConfig(LAYERS, centre=True, direct=True, bias=True), X)
    counted, encoded = encoder.counting([])(X[:200]), encoder.encode(X, [])[:200]
    torch.testing.assert_close(counted, encoded, rtol=0, atol=1e3 * torch.finfo(dtype).eps)


def test_a_few_counted_rows_have_the_same_bits_in_any_batch():
    X = samples(count=100, features=30, dtype=torch.float32)
    encode = started(EncoderConfig((Blocks(50, 1), Blocks(300, 1)), centre=True, bias=True), X).counting([])
    counted = encode(X)
    for rows in (torch.arange(7), torch.tensor([99]), torch.arange(99, -1, -1)):
        assert torch.equal(encode(X[rows]), counted[rows])


def test_weights_that_follow_the_data_favour_its_main_directions():
    X = samples(count=500) * torch.tensor([10.0, 1, 1, 1, 1, 1], dtype=torch.float64)
    plain, following = (
        started(EncoderConfig((Blocks(2000, 1),), standardise="none", follow=power), X).weights[0][:-1]
        for power in (0.0, 0.25)
    )
    share_plain, share_following = (
        float(weights[0].square().sum() / weights.square().sum()) for weights in (plain, following)
    )
    assert share_following > 2 * share_plain
    assert float((X @ following).square().sum()) == pytest.approx(float((X @ plain).square().sum()), rel=0.1)


def test_a_restored_encoder_gives_the_same_codes():
    X = samples() * 100 ** torch.arange(6)
    encoder = started(EncoderConfig(LAYERS, centre=True, direct=True), X)
    restored = DenseEncoder(encoder.config, seed=99)
    restored.restore(dict(encoder.tensors()))
    assert torch.equal(restored.encode(3 * X, []), encoder.encode(3 * X, []))


def test_encoding_before_start_is_refused():
    encoder = DenseEncoder(PAPER, seed=0)
    with pytest.raises(RuntimeError, match="call start with the first data"):
        encoder.encode(samples(), [])


def test_more_features_than_fit_into_memory_are_refused(monkeypatch):
    monkeypatch.setattr("if2net.device_memory.total", lambda device: 16e9)
    advice = "use the encoder wide, which adds up inputs, or reduce the features, for example with"
    with pytest.raises(InputError, match=rf"takes more than [\d,.]+ GB of memory, and there are 16\.0 GB; {advice}"):
        IF2Net(encoder="linear", device="cpu").learn(np.zeros((1, 100_000), dtype=np.float32), [0])


def test_the_advised_settings_fit_into_memory(monkeypatch):
    monkeypatch.setattr("if2net.device_memory.total", lambda device: 2e9)
    X = np.random.default_rng(0).normal(size=(4, 40_000)).astype(np.float32)
    with pytest.raises(InputError, match="use the encoder wide"):
        IF2Net(device="cpu", encoder="linear").learn(X, [0, 1, 0, 1])
    IF2Net(device="cpu", encoder="wide").learn(X, [0, 1, 0, 1])


def test_weights_follow_fewer_samples_than_inputs_as_they_follow_the_same_samples_twice():
    X = torch.randn(110, 150, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    config = EncoderConfig((Blocks(50, 1),), standardise="none", follow=0.3)
    few, many = (started(config, rows).weights[0] for rows in (X, X.repeat(2, 1)))
    torch.testing.assert_close(few, many, rtol=0, atol=1e-2 * float(many.abs().mean()))


@pytest.mark.parametrize(("standardise", "ratio"), [("auto", 0.5), ("feature", 1.0)])
def test_columns_in_different_units_get_smaller_weights(standardise, ratio):
    config = EncoderConfig((Blocks(50, 1),), standardise=standardise)
    same, units = (started(config, X).weights[0][:-1] for X in (samples(), samples() * 100 ** torch.arange(6)))
    torch.testing.assert_close(units, ratio * same)


def test_a_width_that_does_not_fit_into_memory_is_refused():
    with pytest.raises(InputError, match="set width=6000, or reduce"):
        IF2Net(device="cpu", width=10**9).learn(np.eye(4), [0, 1, 0, 1])


def test_the_memory_of_this_machine_is_known():
    assert 1e8 < device_memory.total(torch.device("cpu")) < 1e15
