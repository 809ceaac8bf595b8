"""Colours that colour-blind readers, dark pages and white ones can tell apart."""

from itertools import combinations

import numpy as np
import pytest

from if2net.study.report.palette import COLOURS, colour_class, luminance, shape, style

# How those who lack one kind of cone see linear RGB (Machado, Oliveira and Fernandes 2009, severity 1).
VISION = {
    "all cones": np.eye(3),
    "no long ones": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "no middle ones": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def rgb(colour):
    return [int(colour[place : place + 2], 16) for place in (1, 3, 5)]


def lab(colour, vision):
    """CIE L*a*b*, in which distances are what the eye makes of them."""
    share = np.array(rgb(colour)) / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    xyz = TO_XYZ @ np.clip(vision @ linear, 0, 1) / (0.9505, 1.0, 1.089)
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(one, other):
    dark, bright = sorted((luminance(*one), luminance(*other)))
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("vision", VISION.values(), ids=VISION)
def test_no_two_colours_look_alike(vision):
    places = [lab(colour, vision) for colour in COLOURS]
    assert min(np.linalg.norm(one - other) for one, other in combinations(places, 2)) > 15


def test_every_colour_is_seen_on_a_white_page_and_on_a_dark_one():
    for colour in COLOURS:
        assert contrast(rgb(colour), (255, 255, 255)) > 2.2
        assert contrast(rgb(colour), rgb("#16181c")) > 2.6


def test_series_differ_in_colour_or_in_shape():
    assert len({(colour_class(mark), shape(mark, 0, 0, 4)) for mark in range(5 * len(COLOURS))}) == 5 * len(COLOURS)


def test_words_on_a_shade_can_be_read():
    rules = [rule for rule in style().split("}") if rule.startswith(".h")]
    assert len(rules) == 21
    for rule in rules:
        fill = [int(part) for part in rule.split("fill:rgb(")[1].split(")")[0].split(",")]
        ink = (255, 255, 255) if rule.endswith("#fff") else (17, 17, 17)
        assert contrast(fill, ink) > 4.3
