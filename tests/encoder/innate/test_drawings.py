"""Drawings follow from their seed, class and number alone."""

import pytest
import torch

from if2net.encoder.innate.drawings import Drawings, Recipe, sheet
from if2net.errors import ConfigurationError

CLASSES, NUMBERS = torch.arange(12) * 31, torch.arange(12) * 7


def draw(seed=0, size=16, **recipe):
    return Drawings(seed, Recipe(**recipe)).draw(CLASSES, NUMBERS, size)


def test_the_same_seed_gives_the_same_drawings_on_every_call():
    drawings = Drawings(3)
    first = drawings.draw(CLASSES, NUMBERS, 28)
    assert torch.equal(drawings.draw(CLASSES, NUMBERS, 28), first)
    assert torch.equal(draw(3, 28), first)


def test_another_seed_class_or_number_gives_another_drawing():
    first = draw()
    others = draw(1), Drawings().draw(CLASSES + 1, NUMBERS, 16), Drawings().draw(CLASSES, NUMBERS + 1, 16)
    for other in others:
        assert ((first - other).abs().amax((1, 2, 3)) > 0.05).all()


@pytest.mark.parametrize("size", [5, 28, 33])
def test_a_drawing_does_not_depend_on_its_batch(size):
    """Up to rounding: the processor computes the last values of a batch one by one, the others side by side."""
    whole = draw(size=size)
    alone = [Drawings().draw(CLASSES[i : i + 1], NUMBERS[i : i + 1], size) for i in range(len(CLASSES))]
    torch.testing.assert_close(torch.cat(alone), whole, rtol=0, atol=1e-6)


@pytest.mark.parametrize("size", [1, 7, 32, 50])
def test_drawings_have_any_size_and_values_from_0_to_1(size):
    pictures = draw(size=size, jitter=3, clutter=1, occlude=1, plain=0)
    assert pictures.shape == (12, 3, size, size)
    assert pictures.dtype == torch.float32
    assert pictures.min() >= 0
    assert pictures.max() <= 1


def test_all_drawings_are_grey_or_none_by_the_recipe():
    def colour(pictures):
        return (pictures - pictures.mean(1, keepdim=True)).abs().amax((1, 2, 3))

    assert colour(draw(grey=1)).max() < 1e-6
    assert (colour(draw(grey=0)) > 0.01).all()


def test_drawings_of_a_class_are_more_alike_than_those_of_other_classes():
    classes = torch.arange(30).repeat_interleave(4)
    recipe = Recipe(jitter=0.2, recolour=0, clutter=0, occlude=0, plain=1, grey=1)
    pictures = Drawings(0, recipe).draw(classes, torch.arange(120), 16).mean(1).flatten(1)
    distance = torch.cdist(pictures, pictures).fill_diagonal_(torch.inf)
    assert (classes[distance.argmin(1)] == classes).float().mean() > 0.5


def test_the_stream_of_drawings_has_all_classes_about_equally_often():
    drawings = Drawings(5)
    counts = torch.bincount(drawings.pick(torch.arange(10_000), 10), minlength=10)
    assert len(counts) == 10
    assert counts.min() > 850
    assert torch.equal(drawings.pick(torch.tensor([4321]), 10), drawings.pick(torch.arange(10_000), 10)[4321:4322])


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_beyond_32_bits_is_refused(seed):
    with pytest.raises(ConfigurationError, match="choose a number from 0 to 4294967295"):
        Drawings(seed)


def test_a_sheet_has_a_row_per_class():
    page = sheet(Drawings(), rows=2, columns=3, size=8)
    assert page.shape == (20, 30, 3)
    assert page.dtype == torch.uint8
    second = Drawings().draw(torch.tensor([1]), torch.tensor([2]), 8)[0].permute(1, 2, 0)
    assert (page[11:19, 21:29] / 255 - second).abs().max() < 0.003
