import re

import numpy as np
import pytest
import torch

from if2net.errors import ConfigurationError
from if2net.images.backbones.base import Backbone, Preprocessing
from if2net.images.backbones.network import Network
from if2net.images.backbones.registry import split
from if2net.images.extractor import Extractor, Options, load_extractor
from if2net.images.read import Framing

PIXELS = np.random.default_rng(0).integers(0, 256, (3, 28, 28, 3), dtype=np.uint8)


@pytest.fixture
def extractor(small_module, preprocessing):
    def make(seed=0, preprocessing=preprocessing, **options):
        return Extractor(Network("small", small_module(seed), preprocessing, taps=("2", "3")), Options(**options))

    return make


def test_features_are_pooled_maps_of_the_chosen_depths(extractor, small_module, preprocessing):
    features = extractor(depths=(1, 2), pool=2)(PIXELS)
    module = small_module()
    with torch.no_grad():
        first = module[:3](preprocessing(torch.from_numpy(PIXELS)))
        pooled = [torch.nn.functional.adaptive_avg_pool2d(x, 2).flatten(1) for x in (first, module[3](first))]
    np.testing.assert_allclose(features, torch.cat(pooled, 1).numpy(), atol=1e-5)


def test_every_channel_is_normalised_by_its_own_mean_and_scale():
    means, scales = (124.0, 117.0, 104.0), (58.5, 57.0, 57.5)
    pixels = torch.from_numpy(PIXELS)
    wanted = [(pixels[..., place] - means[place]) / scales[place] for place in range(3)]
    assert torch.equal(Preprocessing(Framing(28, 28), means, scales)(pixels), torch.stack(wanted, dim=1))


def test_without_options_the_features_are_the_mean_of_the_last_map(extractor):
    assert extractor()(PIXELS).shape == (3, 6)


def test_flipping_makes_an_image_and_its_mirror_image_alike(extractor):
    mirrored = np.ascontiguousarray(PIXELS[:, :, ::-1])
    flipping, plain = extractor(flip=True), extractor()
    np.testing.assert_allclose(flipping(PIXELS), flipping(mirrored), atol=1e-6)
    assert not np.allclose(plain(PIXELS), plain(mirrored), atol=1e-3)


def test_the_identity_changes_with_weights_preprocessing_and_options_only(extractor, preprocessing):
    identities = [
        extractor().identity,
        extractor(seed=1).identity,
        extractor(preprocessing=preprocessing.resized(56)).identity,
        extractor(pool=2).identity,
        extractor(flip=True).identity,
        extractor(depths=(1,)).identity,
        extractor(beside="pixels").identity,
        extractor(beside="innate").identity,
    ]
    assert len(set(identities)) == len(identities)
    assert extractor().identity == extractor(depths=(2,)).identity == identities[0]
    assert extractor(size=56).identity != identities[0]


@pytest.mark.parametrize("words", [["pool=0"], ["pool=x"], ["flip=maybe"], ["depths=a"], ["polo=2"]])
def test_wrong_options_are_refused(words):
    with pytest.raises(ConfigurationError, match=r"pool|flip|depths"):
        Options.parse(words, {})


def test_a_second_backbone_beside_the_first_has_the_same_weight():
    both, first, second = (
        load_extractor(text) for text in ("pixels,size=8,beside=innate", "pixels,size=8", "innate")
    )
    pixels = np.random.default_rng(0).integers(0, 256, (5, 8, 8, 3), dtype=np.uint8)
    scaled = torch.nn.functional.interpolate(
        torch.from_numpy(pixels).permute(0, 3, 1, 2).float(), (32, 32), mode="bilinear", antialias=True
    )
    with torch.no_grad():
        others = second.features(scaled.permute(0, 2, 3, 1)).numpy()
    own = first(pixels)
    expected = np.concatenate([own, others * (own.shape[1] / others.shape[1]) ** 0.5], axis=1)
    np.testing.assert_allclose(both(pixels), expected, rtol=1e-5, atol=1e-5)
    assert both.pretrained_on == "drawings that a program makes"


@pytest.mark.parametrize("first", ["pixels", "birds.if2"])
@pytest.mark.parametrize("second", ["timm:resnet18", "trees.if2", "trees.onnx"])
def test_only_backbones_of_if2net_can_be_beside_another(first, second):
    name, words = split(f"{first},beside={second}")
    with pytest.raises(ConfigurationError, match=rf"{second} cannot be beside .*; beside it can be one of .*pixels"):
        Options.parse(words, {})
    assert name == first


def test_a_wrong_name_beside_a_backbone_gets_a_hint():
    with pytest.raises(ConfigurationError, match="did you mean 'innate'"):
        load_extractor("pixels,beside=inate")


@pytest.mark.parametrize("words", ["size=8,size=9", "beside=innate,beside=innate-large"])
def test_an_option_that_is_given_twice_is_refused(words):
    name = words.partition("=")[0]
    with pytest.raises(ConfigurationError, match=f"The backbone option {name} is given twice; give it once"):
        load_extractor(f"pixels,{words}")


def test_a_depth_that_the_backbone_does_not_have_is_refused(extractor):
    with pytest.raises(ConfigurationError, match="depths 1 to 2"):
        extractor(depths=(3,))


class Shaped(Backbone):
    """Returns ones of any shape."""

    name, fingerprint, depths = "shaped", "shaped", 1
    preprocessing = Preprocessing(Framing(28, 28), (0.0,) * 3, (1.0,) * 3)

    def __init__(self, *shape):
        self.shape = shape

    def maps(self, images, depths):
        return [torch.ones(self.shape, dtype=torch.int64)]


@pytest.mark.parametrize("shape", [(), (3,), (3, 2, 1, 2, 2), (1, 5)])
def test_maps_of_another_shape_are_refused(shape):
    with pytest.raises(ConfigurationError, match=rf"shape {re.escape(str(shape))} for 3 images; a map must be"):
        Extractor(Shaped(*shape))(PIXELS)


@pytest.mark.parametrize("shape", [(3, 5), (3, 2, 5), (3, 5, 4, 4)])
def test_whole_numbers_are_features_too(shape):
    np.testing.assert_array_equal(Extractor(Shaped(*shape))(PIXELS), np.ones((3, 5), np.float32))


def test_images_that_are_too_small_for_the_network_are_refused(extractor):
    with pytest.raises(ConfigurationError, match=r"small cannot take images of 4×4 pixels .*too small for it"):
        extractor(size=4)(PIXELS[:, :4, :4])


@pytest.mark.parametrize("text", ["pixels", "pixels,flip=yes,size=8", "pixels,beside=innate"])
def test_the_text_of_an_extractor_has_its_options(text):
    assert load_extractor(text).text == text
