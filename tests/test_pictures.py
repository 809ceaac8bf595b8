import numpy as np
import pytest
import torch

from if2net.errors import ConfigurationError, InputError
from if2net.pictures import as_rows, check_same_shape, check_shape, format_shape, parse_shape

PIXELS = np.arange(2 * 6 * 5 * 3, dtype=np.uint8).reshape(2, 6, 5, 3)


@pytest.mark.parametrize(
    "pictures",
    [
        PIXELS,
        PIXELS.transpose(0, 3, 1, 2),
        torch.from_numpy(PIXELS).permute(0, 3, 1, 2),
        torch.from_numpy(PIXELS),
        np.concatenate([PIXELS, PIXELS[..., :1]], axis=3),
        list(PIXELS),
        list(torch.from_numpy(PIXELS).permute(0, 3, 1, 2)),
    ],
    ids=["array", "array of N×C×H×W", "tensor", "tensor of N×H×W×C", "alpha", "list of arrays", "list of tensors"],
)
def test_rows_have_the_order_height_width_channels(pictures):
    rows, shape = as_rows(pictures)
    assert shape == (6, 5, 3)
    np.testing.assert_array_equal(np.asarray(rows), PIXELS.reshape(2, -1))


def test_pictures_without_an_axis_of_channels_are_grey():
    rows, shape = as_rows(PIXELS[..., 0])
    assert (rows.shape, shape) == ((2, 30), (6, 5, 1))


@pytest.mark.parametrize("X", [np.zeros((3, 2)), torch.zeros(3, 2), [[1, 2]], np.zeros((1, 2, 3, 4, 5)), None])
def test_anything_else_is_returned_as_it_is(X):
    rows, shape = as_rows(X)
    assert rows is X
    assert shape is None


@pytest.mark.parametrize("pictures", [np.zeros((2, 5, 6, 7)), [np.zeros((3, 3)), np.zeros((4, 3))]])
def test_other_channels_and_several_sizes_are_refused(pictures):
    with pytest.raises(InputError):
        as_rows(pictures)


@pytest.mark.parametrize(
    ("pictures", "sentence"),
    [
        (torch.rand(2, 5, 6).to_sparse(), "call X.to_dense"),
        ([torch.rand(5, 6).to_sparse()] * 2, "call X.to_dense"),
        (torch.zeros(2, 0, 6), "no pixels: 0×6"),
        (np.zeros((2, 5, 0, 3)), "no pixels: 5×0"),
        ([np.zeros((3, 3)), None], "differ in size or kind"),
        ([torch.zeros(3, 3), np.zeros((3, 3))], "differ in size or kind"),
    ],
    ids=["sparse", "list of sparse", "no rows", "no columns", "None in a list", "arrays and tensors"],
)
def test_the_error_says_what_is_wrong_with_pictures(pictures, sentence):
    with pytest.raises(InputError, match=sentence):
        as_rows(pictures)


@pytest.mark.parametrize("wanted", [(6, 5, 1), (6, 5, 3)])
@pytest.mark.parametrize("kind", [np.zeros, torch.zeros])
def test_a_single_picture_gets_an_error_about_its_first_axis(kind, wanted):
    height, width, channels = wanted
    for single in (kind(wanted), kind((height, width))):
        with pytest.raises(InputError, match="give X\\[None\\]"):
            check_same_shape(single, as_rows(single)[1], wanted)
    for right in (kind((2, *wanted)), kind((2, height * width * channels))):
        check_same_shape(right, as_rows(right)[1], wanted)


def test_a_row_with_one_value_is_no_single_picture():
    check_same_shape(np.zeros((1, 5)), None, (1, 5, 1))


@pytest.mark.parametrize("text", ["28", "28x", "0x3", "28x28x2", "28x28x3x1", "axb", "-2x3"])
def test_a_wrong_shape_is_refused(text):
    with pytest.raises(ConfigurationError, match="image_shape"):
        parse_shape(text)


def test_a_shape_survives_its_text():
    assert parse_shape(format_shape((28, 30, 3))) == (28, 30, 3)


def test_rows_of_another_length_are_refused():
    check_shape(784, (28, 28, 1))
    with pytest.raises(InputError, match="784 values, but X has 64"):
        check_shape(64, (28, 28, 1))
