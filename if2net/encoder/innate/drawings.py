"""Drawings that a program makes: the only training data of the innate encoder.

A *class* of drawings is a short list of parts. A part is a soft shape (a superellipse, a blob, a ring, a bent stroke)
with two colours, a texture and some shading. A *drawing* of the class moves, bends, recolours and lights these parts
and puts them on a ground of its own. It may lay parts of no class behind them and in front of them.

Every number comes from a hash of the seed, the class, the drawing and the part. No table is stored; the numbers are
the same on every device and in every batch. Pixels follow from them: the same call gives the same bits, and other
devices and batches agree up to the rounding of sines, powers and exponentials.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from if2net.encoder.innate.compiling import repeatable
from if2net.errors import ConfigurationError

_MASK = 0xFFFFFFFF
# Layers from back to front: the ground and clutter, the parts of the class, an occluder.
_BEHIND, _OWN, _FRONT = 4, 8, 1
_WAVES = 4  # of a texture


def _mix(key: Tensor) -> Tensor:
    """Scramble 32-bit integers held in int64; no product exceeds 63 bits."""
    key = ((key ^ (key >> 16)) * 0x45D9F3B) & _MASK
    key = ((key ^ (key >> 16)) * 0x45D9F3B) & _MASK
    return key ^ (key >> 16)


def _join(key: Tensor, number: Tensor) -> Tensor:
    """Return the key of item `number` below `key`."""
    return _mix((key * 0x2545F49 + _mix(number + 0x51ED270) + 0x7F4A7C1) & _MASK)


def _uniform(key: Tensor, count: int) -> Tensor:
    """Return `count` numbers in [0, 1) per key, on a new last axis."""
    places = torch.arange(count, device=key.device)
    return (_join(key[..., None], places) >> 8).to(torch.float32) * 2.0**-24


@dataclass(frozen=True)
class Recipe:
    """How far the drawings of a class differ from each other. All values but the jitter are shares from 0 to 1."""

    jitter: float = 1.0  # size of the changes of pose and parts; 1 is moderate
    recolour: float = 0.4  # of drawings whose colours are mixed anew
    clutter: float = 0.35  # probability of each part behind those of the class
    occlude: float = 0.2  # probability of a part in front of them
    plain: float = 0.3  # of drawings on a black ground without clutter
    grey: float = 0.2  # of grey drawings
    glyph: float = 0.15  # of classes made of connected strokes
    texture: float = 0.85  # of textured parts
    shade: float = 0.8  # of parts shaded like a solid body


class _Parts(NamedTuple):
    """The parts of a batch of drawings; the first two axes are the drawing and the layer."""

    centre: Tensor
    half: Tensor  # half the width and height
    angle: Tensor
    power: Tensor  # exponent of the superellipse: 1 a diamond, 2 an ellipse, 8 nearly a box
    bend: Tensor
    waves: Tensor  # strength of four waves along the edge
    shift: Tensor  # phase of these waves
    ring: Tensor  # line width of an outlined part, 0 for a filled one
    first: Tensor
    second: Tensor  # the two colours
    amount: Tensor  # how far the texture mixes in the second colour
    gain: Tensor  # sharpness of the texture
    warp: Tensor  # how far each wave of the texture bends the next
    frequency: Tensor
    direction: Tensor
    phase: Tensor
    weight: Tensor
    shade: Tensor
    shown: Tensor  # 1 where the layer is drawn
    mirrored: Tensor  # per drawing: whether its class is symmetric


class Drawings:
    """An endless set of drawings, in classes.

    Parameters
    ----------
    seed : int
        Seed of all classes and drawings, from 0 to 2**32 - 1.
    recipe : Recipe, optional
        How far the drawings of a class differ.
    compiled : bool
        Compile the steps of drawing, for many drawings on a GPU. The first call then takes about a minute.
    """

    def __init__(self, seed: int = 0, recipe: Recipe | None = None, *, compiled: bool = False) -> None:
        if not 0 <= seed <= _MASK:
            raise ConfigurationError(f"The seed is {seed}; choose a number from 0 to {_MASK}.")
        self.seed, self.recipe = seed, recipe or Recipe()
        # Compiled as one, the hash of a drawing would be computed again for each of its pixels.
        steps: tuple[Any, ...] = (_choose, _render, _develop)
        self._steps = tuple(map(repeatable, steps)) if compiled else steps

    def pick(self, numbers: Tensor, classes: int) -> Tensor:
        """Return the class of each drawing in an endless stream of drawings of classes 0 to `classes` - 1."""
        key = _join(_mix(numbers & _MASK) ^ self.seed, torch.full_like(numbers, 5))
        return key * classes >> 32

    def draw(self, classes: Tensor, numbers: Tensor, size: int) -> Tensor:
        """Draw one picture per entry.

        Parameters
        ----------
        classes, numbers : Tensor of int64, shape (n,)
            The class, and the number of the drawing within its class. Both are below 2**32.
        size : int
            Height and width in pixels.

        Returns
        -------
        Tensor of float32, shape (n, 3, size, size)
            Values in [0, 1].
        """
        choose, render, develop = self._steps
        parts, sample, key = choose(classes, numbers, self.seed, self.recipe)
        cover, paint = render(parts, sample, self.recipe.jitter, size)
        picture = paint[:, 0]
        for layer in range(1, cover.shape[1]):
            picture = torch.lerp(picture, paint[:, layer], cover[:, layer, None])
        return develop(picture, sample, key, self.recipe)


def _choose(classes: Tensor, numbers: Tensor, seed: int, recipe: Recipe) -> tuple[_Parts, Tensor, Tensor]:
    """Return the parts of each drawing, 48 numbers for its pose, light and colours, and its key."""
    of_class = _join(_mix(classes & _MASK) ^ seed, torch.zeros_like(classes))
    of_drawing = _join(of_class, numbers + 1)
    c, s = _uniform(of_class, 4), _uniform(of_drawing, 48)
    layer = torch.arange(_BEHIND + _OWN + _FRONT, device=classes.device)
    place = layer - _BEHIND  # 0 for the first part of the class
    own = (place >= 0) & (place < _OWN)
    of_own = own | (layer == 0) & (s[:, :1] < 0.3)  # some drawings are on the ground of their class
    u = _uniform(_join(torch.where(of_own, of_class[:, None], of_drawing[:, None]), layer + 1), 56)
    r = 2 * _uniform(_join(of_drawing[:, None], layer + 100), 16) - 1
    h = own * recipe.jitter  # the other parts are new in each drawing

    first = (place == 0)[:, None]
    corner = (u[..., 0:2] * 2 - 1) * 0.7 * torch.where(first, 0.4, 1.0)
    half = 0.06 + 0.7 * u[..., 2:4] ** 1.6
    half = torch.where(first, 0.25 + 0.6 * half, half)
    # The strokes of a glyph lead from the place of one part to that of the next.
    glyph = (c[:, 3, None] < recipe.glyph) & own
    pair = glyph[..., None]
    following = torch.roll(corner, -1, 1)
    way = (following - corner) / 2
    stroke = torch.stack([way.norm(dim=-1) + 0.05, (0.05 + 0.12 * c[:, 2, None]).expand(way.shape[:2])], -1)

    frequency = 2.5 * torch.exp(2.5 * u[..., 30 : 30 + _WAVES])
    weight = u[..., 42 : 42 + _WAVES] ** 3 / frequency ** (2 * u[..., 46:47])
    bright, vivid = _colour(u[..., 20:23], u[..., 49:51]), _colour(u[..., 23:26], u[..., 51:53])
    bright = torch.where(pair, bright[:, _BEHIND, None], bright)
    plain = s[:, 1, None] < recipe.plain
    lit = 1 - (plain & (layer == 0)).float()[..., None]
    chance = r[..., 15] * 0.5 + 0.5
    kept = (place < 1 + c[:, 1, None] * _OWN) & ((place == 0) | (chance > 0.08))
    behind = (chance < recipe.clutter) & ~plain
    shown = torch.where(own, kept, torch.where(place < 0, behind, chance < recipe.occlude))
    lean = torch.where(glyph, torch.atan2(way[..., 1], way[..., 0] + 1e-6), u[..., 4] * math.pi)
    parts = _Parts(
        centre=torch.where(pair, (corner + following) / 2, corner) + r[..., 0:2] * 0.07 * h[:, None],
        half=torch.where(pair, stroke, half) * torch.exp(r[..., 2:4] * 0.25 * h[:, None]),
        angle=lean + r[..., 4] * 0.2 * h,
        power=torch.where(glyph, 4.0, torch.where(u[..., 5] < 0.5, 2.0, 1 + 7 * u[..., 6])),
        bend=torch.where(u[..., 7] < 0.3, (u[..., 8] * 2 - 1) * 1.5, 0.0) + r[..., 5] * 0.15 * h,
        waves=(u[..., 9:13] * 2 - 1) * (u[..., 13:14] < 0.4) * ~pair,
        shift=u[..., 14:18] * 2 * math.pi,
        ring=torch.where((u[..., 18] < 0.25) & ~glyph, 0.02 + 0.1 * u[..., 19], 0.0) * torch.exp(r[..., 14] * 0.4),
        first=(bright + r[..., 6:9] * 0.15).clamp(0, 1) * lit,
        second=(vivid + r[..., 9:12] * 0.15).clamp(0, 1) * lit,
        amount=(u[..., 26] < recipe.texture) * (0.3 + 0.7 * u[..., 27]) * torch.where(glyph, 0.3, 1.0),
        gain=torch.exp(3 * u[..., 28]),
        warp=6 * u[..., 29] ** 2,
        frequency=frequency * torch.exp(r[..., 13] * 0.15)[..., None],
        direction=u[..., 34 : 34 + _WAVES] * math.pi,
        phase=u[..., 38 : 38 + _WAVES] * 2 * math.pi + (r[..., 12] * math.pi)[..., None],
        weight=weight / weight.sum(-1, keepdim=True),
        shade=(u[..., 47] < recipe.shade) * (0.3 + 0.7 * u[..., 48]) * (layer > 0),
        shown=shown.float(),
        mirrored=c[:, 0] < 0.4,
    )
    return parts, s, of_drawing


def _colour(hue: Tensor, tone: Tensor) -> Tensor:
    """Return colours; dull ones are more frequent than vivid ones, as in photographs."""
    hue = hue - hue.mean(-1, keepdim=True)
    return (tone[..., :1] + 1.5 * tone[..., 1:] * hue).clamp(0, 1)


def _pixels(value: Tensor) -> Tensor:
    """Add two axes for the pixels at the end."""
    return value[..., None, None]


def _render(parts: _Parts, sample: Tensor, jitter: float, size: int) -> tuple[Tensor, Tensor]:
    """Return how far each layer covers each pixel, and its colours there."""
    span = 2 * sample - 1
    line = (torch.arange(size, device=sample.device) + 0.5) * (2 / size) - 1
    flat_y, flat_x = line[None, :, None], line[None, None, :]
    posed_x, posed_y = _pose(flat_x, flat_y, span[:, 2:12], jitter)
    posed_x = torch.where(_pixels(parts.mirrored), posed_x.abs(), posed_x)
    layer = torch.arange(parts.angle.shape[1], device=sample.device)
    own = _pixels((layer >= _BEHIND) & (layer < _BEHIND + _OWN))
    x = torch.where(own, posed_x[:, None], flat_x) - _pixels(parts.centre[..., 0])
    y = torch.where(own, posed_y[:, None], flat_y) - _pixels(parts.centre[..., 1])
    cos, sin = _pixels(torch.cos(parts.angle)), _pixels(torch.sin(parts.angle))
    x, y = cos * x + sin * y, cos * y - sin * x

    # The distance to the edge, and from it the cover.
    wide, high = _pixels(parts.half[..., 0]), _pixels(parts.half[..., 1])
    across, up = x / wide, (y + _pixels(parts.bend) * (x * x - 0.3 * wide * wide)) / high
    power = _pixels(parts.power)
    radius = ((across.abs() + 1e-4) ** power + (up.abs() + 1e-4) ** power) ** (1 / power)
    around = torch.atan2(up, across + 1e-6)
    edge = torch.ones_like(radius)
    for wave, height in enumerate((0.3, 0.25, 0.18, 0.12)):
        ripple = torch.cos((wave + 2) * around + _pixels(parts.shift[..., wave]))
        edge = edge + height * _pixels(parts.waves[..., wave]) * ripple
    distance = (radius - edge) * torch.minimum(wide, high)
    ring = _pixels(parts.ring)
    distance = torch.where(ring > 0, distance.abs() - ring, distance)
    sharpness = size * torch.exp(span[:, 15] * 0.7 - 0.1)
    cover = torch.sigmoid(-distance * sharpness[:, None, None, None]) * _pixels(parts.shown)

    # The texture: a sum of waves, each bent by the ones before.
    total = torch.zeros_like(radius)
    for wave in range(_WAVES):
        angle = parts.direction[..., wave]
        along = _pixels(torch.cos(angle)) * x + _pixels(torch.sin(angle)) * y
        bend = _pixels(parts.phase[..., wave]) + _pixels(parts.warp) * total
        along = _pixels(parts.frequency[..., wave]) * along + bend
        total = total + _pixels(parts.weight[..., wave]) * torch.sin(along)
    share = (torch.sigmoid(_pixels(parts.gain) * total) * _pixels(parts.amount))[:, :, None]
    paint = _pixels(parts.first) * (1 - share) + _pixels(parts.second) * share

    # Shading like a solid body's: the slope grows towards the edge.
    level = (radius / edge.clamp(min=0.2)).clamp(max=1)
    light = span[:, 13:15, None, None, None] * 1.2
    slope = (light[:, 0] * across + light[:, 1] * up) * level
    bright = torch.exp(_pixels(parts.shade) * (slope - 0.5 * level * level).clamp(-1.5, 1))
    return cover, paint * bright[:, :, None]


def _pose(x: Tensor, y: Tensor, r: Tensor, jitter: float) -> tuple[Tensor, Tensor]:
    """Move, turn, stretch, shear and bend the grid."""
    r = r * jitter
    cos, sin = _pixels(torch.cos(r[:, 0] * 0.3)), _pixels(torch.sin(r[:, 0] * 0.3))
    zoom, aspect = torch.exp(r[:, 1] * 0.25), torch.exp(r[:, 2] * 0.18)
    x, y = x - _pixels(r[:, 3] * 0.18), y - _pixels(r[:, 4] * 0.18)
    x, y = cos * x + sin * y, cos * y - sin * x
    x, y = x / _pixels(zoom * aspect) + _pixels(r[:, 5] * 0.2) * y, y / _pixels(zoom / aspect)
    x = x + _pixels(r[:, 6] * 0.06) * torch.sin(4 * y + _pixels(r[:, 7] * math.pi))
    y = y + _pixels(r[:, 8] * 0.06) * torch.sin(4 * x + _pixels(r[:, 9] * math.pi))
    return x, y


def _develop(picture: Tensor, s: Tensor, key: Tensor, recipe: Recipe) -> Tensor:
    """Mix the colours, set the contrast, add grain and cut out a square."""
    n, _, size, _ = picture.shape
    span = 2 * s - 1
    share = (s[:, 29] * (s[:, 30] < recipe.recolour))[:, None, None]
    mixing = torch.softmax(3 * span[:, 20:29].reshape(n, 3, 3), 2) * share
    mixing = mixing + torch.eye(3, device=s.device) * (1 - share)
    grey = (s[:, 31] < recipe.grey)[:, None, None]
    mixing = torch.where(grey, mixing.mean(1, keepdim=True), mixing)
    picture = (mixing[:, :, :, None, None] * picture[:, None]).sum(2)
    tint = torch.where(grey[..., None], 0.0, _pixels(span[:, 32:35])) * 0.25
    picture = picture.clamp(1e-4, 1) ** torch.exp(_pixels(span[:, 35:36]) * 0.5 + tint)
    picture = picture * torch.exp(_pixels(span[:, 36:37]) * 0.3)
    pixel = torch.arange(size * size, device=s.device).reshape(1, size, size)
    noise = _uniform(_join(_pixels(key), pixel + 1000), 3).permute(0, 3, 1, 2) - 0.5
    noise = torch.where(grey[..., None], noise[:, :1], noise)
    picture = picture + noise * _pixels(s[:, 37:38] ** 4 * 0.3)
    place = torch.arange(size, device=s.device)
    middle, reach = s[:, 38:40] * size, s[:, 40:41] * size / 4
    row, column = (place - middle[:, :1]).abs() < reach, (place - middle[:, 1:]).abs() < reach
    cut = row[:, :, None] & column[:, None, :] & (s[:, 41] < 0.4)[:, None, None]
    return torch.where(cut[:, None], _pixels(s[:, 42:43]), picture).clamp(0, 1)


def sheet(drawings: Drawings, rows: int, columns: int, size: int) -> Tensor:
    """Return a picture of many drawings as bytes, shape (height, width, 3).

    Row by row, it shows the first drawings of the first classes, with white between them.
    """
    lines = []
    for row in range(rows):
        pictures = drawings.draw(torch.full((columns,), row), torch.arange(columns), size)
        framed = torch.nn.functional.pad(pictures, (1, 1, 1, 1), value=1.0)
        lines.append(framed.permute(2, 0, 3, 1).reshape(size + 2, columns * (size + 2), 3))
    return (torch.cat(lines) * 255).round().to(torch.uint8)
