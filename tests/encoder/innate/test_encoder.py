import math
import pickle

import pytest
import torch
from torch.nn import functional as F

from if2net import tensor_specs
from if2net.encoder.innate import weights
from if2net.encoder.innate.encoder import INNATE, InnateConfig, InnateEncoder
from if2net.errors import InputError, ModelFileError


def started(X, shape=(28, 28, 1), **settings):
    encoder = InnateEncoder(InnateConfig("small", shape, **settings))
    encoder.start(X)
    return encoder


@pytest.fixture(scope="module")
def pictures():
    return torch.rand(6, 784, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("size", INNATE.values())
def test_the_weights_in_the_package_have_the_right_hash_and_width(size):
    network = weights.shipped(size, torch.device("cpu"))
    assert network.plan.features + 1 == InnateConfig(size, (28, 28, 1)).width(784)


def test_a_representation_does_not_depend_on_the_scale_of_the_values(pictures):
    for full in (16, 255, 65535):
        whole = (pictures * full).round()
        expected = started(whole / full).encode(whole / full, [])
        torch.testing.assert_close(started(whole).encode(whole, []), expected, rtol=1e-3, atol=1e-3)


def test_a_picture_and_its_mirror_image_have_the_same_representation(pictures):
    encoder, mirrored = started(pictures), pictures.view(-1, 28, 28).flip(2).reshape(6, 784)
    torch.testing.assert_close(encoder.encode(mirrored, []), encoder.encode(pictures, []))
    without = started(pictures, flips=False)
    assert not torch.allclose(without.encode(mirrored, []), without.encode(pictures, []), atol=0.1)


def test_features_are_the_mean_of_both_views(pictures):
    mirrored = pictures.view(-1, 28, 28).flip(2).reshape(6, 784)
    one_view = started(pictures, flips=False)
    both = (one_view.encode(pictures, []) + one_view.encode(mirrored, [])) / 2
    torch.testing.assert_close(started(pictures).encode(pictures, []), both)


def test_random_nodes_come_before_the_features_and_depend_on_nothing_else(pictures):
    plain, wide = started(pictures), started(pictures[:1], nodes=5000)
    V, features = wide.encode(pictures, []), plain.encode(pictures, [])
    assert V.shape == (6, 5000 + 3841)
    torch.testing.assert_close(V[:, 5000:], features)
    torch.testing.assert_close(V[:, :5000], wide.nodes(features[:, :-1]))
    assert torch.equal(wide.nodes.signs, started(pictures, nodes=5000).nodes.signs)


def test_more_nodes_than_memory_are_refused(pictures):
    with pytest.raises(InputError, match="smaller width"):
        started(pictures, nodes=10**7)


@pytest.mark.parametrize("shape", [(1, 1, 1), (8, 8, 1), (28, 20, 3), (64, 64, 3)])
def test_pictures_of_any_size_can_be_encoded(shape):
    encoder = InnateEncoder(InnateConfig("small", shape))
    X = torch.rand(2, encoder.inputs)
    encoder.start(X)
    assert encoder.encode(X, []).shape == (2, encoder.width)
    assert bool(encoder.encode(X, []).isfinite().all())


def pictures_and_features(shape, resized):
    """Return two pictures as rows, and the features of the network for them."""
    X = torch.rand(2, math.prod(shape), generator=torch.Generator().manual_seed(0))
    pictures = X.view(2, *shape).permute(0, 3, 1, 2)
    if resized:
        pictures = F.interpolate(pictures, (32, 32), mode="bilinear", antialias=True)
    return X, weights.shipped("small", torch.device("cpu")).features(pictures)


@pytest.mark.parametrize(
    ("shape", "resized"),
    [((28, 28, 1), True), ((32, 32, 3), False), ((48, 32, 1), False), ((32, 31, 1), True), ((49, 32, 3), True)],
)
def test_pictures_with_a_side_below_32_or_above_48_are_resized_to_32(shape, resized):
    X, features = pictures_and_features(shape, resized)
    encoder = started(X, shape, flips=False)
    torch.testing.assert_close(encoder.encode(X, [])[:, :-1], features)


@pytest.mark.parametrize(
    ("shape", "resized"), [((28, 28, 1), False), ((32, 32, 3), False), ((23, 28, 1), True), ((49, 49, 1), True)]
)
def test_an_encoder_from_an_older_file_takes_sides_of_24_to_48_as_they_are(shape, resized):
    X, expected = pictures_and_features(shape, resized)
    encoder = started(X, shape, flips=False)
    tensors = {name: values for name, values in encoder.tensors() if name != "encoder.resized"}
    tensor_specs.check(tensors, encoder.config.tensor_specs(encoder.inputs, torch.float32))
    older = InnateEncoder(encoder.config)
    older.restore(tensors)
    torch.testing.assert_close(older.encode(X, [])[:, :-1], expected)
    again = InnateEncoder(older.config)
    again.restore(dict(older.tensors()))
    torch.testing.assert_close(again.encode(X, [])[:, :-1], expected)
    unpickled = pickle.loads(pickle.dumps(older))
    del unpickled.resized  # as in a pickle of an earlier version
    torch.testing.assert_close(unpickled.encode(X, [])[:, :-1], expected)


@pytest.mark.parametrize("shape", [(32, 32, 3), (20, 20, 1), (64, 64, 3)])
def test_only_files_of_pictures_that_both_rules_treat_differently_say_whether_they_are_resized(shape):
    encoder = started(torch.rand(2, math.prod(shape)), shape)
    tensors = dict(encoder.tensors())
    assert "encoder.resized" not in tensors
    tensors["encoder.resized"] = torch.ones(1, dtype=torch.uint8)
    with pytest.raises(ModelFileError, match=r"encoder\.resized does not belong"):
        tensor_specs.check(tensors, encoder.config.tensor_specs(encoder.inputs, torch.float32))


@pytest.mark.parametrize("values", [(-0.1, 1.0), (0.0, 70_000.0)])
def test_first_pictures_of_unknown_scale_are_refused(values):
    with pytest.raises(InputError, match="scale them"):
        started(torch.linspace(*values, 784)[None])


@pytest.mark.parametrize("highest", [1.0001, 12.5, 300.5])
def test_fractions_that_are_neither_up_to_1_nor_up_to_255_are_refused(highest):
    with pytest.raises(InputError, match=f"fractions, and values up to {highest:g}. Scale or clip them"):
        started(torch.linspace(0, highest, 784)[None])
    assert float(started(torch.linspace(0, 200.5, 784)[None]).full) == 255


def test_later_pictures_of_another_scale_are_refused(pictures):
    bytes_ = (pictures * 255).round()
    started(bytes_).check(bytes_)
    started(bytes_).check(torch.zeros(1, 784))
    for first, later in ((pictures, bytes_), (bytes_, pictures), (bytes_, -bytes_), (bytes_, bytes_ * 2)):
        with pytest.raises(InputError, match="scale them to the same range"):
            started(first).check(later)


@pytest.mark.parametrize(("highest", "full"), [(0, 1), (1, 1), (12, 16)])
def test_pictures_brighter_than_the_first_ones_get_advice_to_start_anew(highest, full):
    first, later = torch.linspace(0, highest, 784).round()[None], torch.linspace(0, 255, 784).round()[None]
    with pytest.raises(InputError, match=f"decided on values from 0 to {full},.* start a new learner"):
        started(first).check(later)


def test_a_picture_is_refused_in_a_batch_if_it_is_refused_alone(pictures):
    bytes_ = (pictures * 255).round()
    batch = torch.cat([bytes_, pictures[:1] * 0.9])
    with pytest.raises(InputError, match=r"One of these pictures has fractions from 0 to 1.* to 255; scale it"):
        started(bytes_).check(batch)
    with pytest.raises(InputError, match="scale them to the same range"):
        started(bytes_).check(batch[-1:])
    started(bytes_).check(batch.round())


def test_a_file_with_another_encoder_is_refused(pictures):
    encoder = started(pictures)
    tensors = dict(encoder.tensors())
    other = InnateEncoder(InnateConfig("small", (28, 28, 1)))
    other.restore(tensors)
    assert torch.equal(other.encode(pictures, []), encoder.encode(pictures, []))
    with pytest.raises(ModelFileError, match="another innate encoder"):
        InnateEncoder(InnateConfig("large", (28, 28, 1))).restore(tensors)


def test_mirror_images_are_used_for_colour_pictures_unless_chosen_otherwise():
    assert InnateConfig.of("innate", (28, 28, 3), None).flips
    assert not InnateConfig.of("innate", (28, 28, 1), None).flips
    assert InnateConfig.of("innate-large", (28, 28, 1), True, 0) == InnateConfig("large", (28, 28, 1), flips=True)
