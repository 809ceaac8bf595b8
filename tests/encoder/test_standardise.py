"""Standardising inputs by the scale of the first data."""

import pytest
import torch

from if2net.encoder import standardise
from if2net.encoder.standardise import CLIP, MODES, WIDE_CLIP, Standardiser


def samples(units=(1.0, 1.0, 1.0), count=200):
    generator = torch.Generator().manual_seed(0)
    return torch.rand(count, len(units), generator=generator, dtype=torch.float64) * torch.tensor(units) + 3


@pytest.mark.parametrize(
    ("units", "mode"), [((1.0, 0.5, 2.0), "common"), ((1.0, 0.02, 1.0), "common"), ((1.0, 1000.0, 1.0), "feature")]
)
def test_auto_scales_each_feature_where_units_differ_by_a_factor_of_100(units, mode):
    X = samples(units) - 4  # some are negative
    assert torch.equal(Standardiser.fit(X, "auto").scale, Standardiser.fit(X, mode).scale)
    assert not torch.equal(Standardiser.fit(X, "feature").scale, Standardiser.fit(X, "common").scale)


@pytest.mark.parametrize("lowest", [0.0, -0.001])
def test_auto_treats_data_without_negative_values_as_intensities(lowest):
    X = samples() - 3
    X[0, 0] = lowest
    assert Standardiser.fit(X, "auto").power == (0.5 if lowest == 0 else 0.0)


def test_intensities_are_scaled_by_the_root_of_their_norm_without_loss():
    X = samples() - 3
    standardiser = Standardiser.fit(X, "intensity")
    scaled = [standardiser(factor * X) * standardiser.scale + standardiser.mean for factor in (1.0, 4.0)]
    torch.testing.assert_close(scaled[1], 2 * scaled[0])
    torch.testing.assert_close(scaled[0] * scaled[0].norm(dim=1, keepdim=True), X)


@pytest.mark.parametrize("size", [0.0, 1e-30, 1e30])
def test_black_and_very_bright_samples_stay_finite(size):
    standardiser = Standardiser.fit(samples().float() - 3, "intensity")
    assert bool(torch.isfinite(standardiser(torch.full((1, 3), size))).all())


def test_auto_ignores_a_few_features_that_hardly_vary():
    X = samples([0.001] + 39 * [1.0])
    assert Standardiser.fit(X, "auto").scale.unique().numel() == 1


def test_a_scale_per_feature_gives_every_feature_mean_zero_and_variance_one():
    standardised = Standardiser.fit(samples((1.0, 1000.0, 0.01)), "feature")(samples((1.0, 1000.0, 0.01)))
    torch.testing.assert_close(standardised.mean(dim=0), torch.zeros(3, dtype=torch.float64), rtol=0, atol=1e-9)
    torch.testing.assert_close(standardised.square().mean(dim=0), torch.ones(3, dtype=torch.float64))


def test_a_common_scale_keeps_relative_sizes():
    X = samples((1.0, 10.0, 5.0))
    standardised = Standardiser.fit(X, "common")(X)
    assert float(standardised.square().mean()) == pytest.approx(1.0)
    ratios = standardised.std(dim=0) / X.std(dim=0)
    torch.testing.assert_close(ratios, ratios[:1].expand(3))


def test_none_changes_nothing():
    X = samples((1.0, 1000.0))
    assert torch.equal(Standardiser.fit(X, "none")(1e6 * X), 1e6 * X)


@pytest.mark.parametrize(("mode", "clip"), [("feature", CLIP), ("common", WIDE_CLIP), ("intensity", WIDE_CLIP)])
def test_outliers_are_clipped(mode, clip):
    standardiser = Standardiser.fit(samples(), mode)
    outlier = standardiser(torch.tensor([[1e6, -1e6, 3.5]], dtype=torch.float64))
    assert outlier[0, :2].tolist() == [clip, -clip]
    assert outlier[0, 2].abs() < clip


def test_a_column_of_zeros_has_no_usual_size_where_the_scale_is_common():
    X = samples()
    X[:, 1] = 0
    assert Standardiser.fit(X, "common").usual.isinf().tolist() == [False, True, False]
    assert Standardiser.fit(X, "feature").usual.isfinite().all()
    assert Standardiser.fit(torch.zeros(2, 3), "common").usual.isfinite().all()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_constant_features_and_single_samples_stay_finite_and_small(mode, dtype):
    constant = torch.tensor([[0.0, 0.1, -7.0]], dtype=dtype)
    for X in (constant, constant.repeat(50, 1)):
        standardiser = Standardiser.fit(X, mode)
        assert bool((standardiser.scale >= 1).all())
        shifted = standardiser(X + 1)
        assert bool(torch.isfinite(shifted).all())
        if mode != "none":
            torch.testing.assert_close(standardiser(X), torch.zeros_like(X), rtol=0, atol=1e-6)
            assert shifted.abs().max() <= 1


def test_the_scale_of_a_constant_feature_is_its_absolute_value():
    X = samples((1.0, 1000.0, 1.0))
    X[:, 2] = -50.0
    assert Standardiser.fit(X, "feature").scale[2] == 50


def test_later_data_does_not_change_the_scale():
    first, later = samples(), 10 * samples()
    standardiser = Standardiser.fit(first, "common")
    before = standardiser(first)
    standardiser(later)
    assert torch.equal(standardiser(first), before)


@pytest.mark.parametrize("mode", ["feature", "common", "intensity"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_scale_does_not_depend_on_the_pieces_in_which_data_is_read(monkeypatch, mode, weighted):
    X = samples((1.0, 1000.0, 0.01)) * torch.arange(200)[:, None]
    weights = torch.arange(1.0, 201.0, dtype=torch.float64) if weighted else None
    whole = Standardiser.fit(X, mode, weights)
    monkeypatch.setattr(standardise, "PIECE", {"cpu": 100})  # 33 samples
    pieces = Standardiser.fit(X, mode, weights)
    torch.testing.assert_close(pieces.mean, whole.mean)
    torch.testing.assert_close(pieces.scale, whole.scale)
