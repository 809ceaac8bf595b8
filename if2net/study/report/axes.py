"""Scales, ticks and the frame of a chart; and which of many points are drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from if2net.study.report.svg import text

WIDTH, HEIGHT = 360, 250  # as wide as a phone: texts stay readable there, and three fit beside each other elsewhere
LEFT, RIGHT, TOP, BOTTOM = 34, 12, 24, 42
MARGIN = 6  # between the frame and the first and last place of a line


@dataclass(frozen=True)
class Scale:
    """From values to places on the page; the ticks are values, with what is written at them."""

    low: float
    high: float
    start: float
    end: float
    ticks: Sequence[tuple[float, str]]
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        move = math.log if self.logarithmic else float
        value = min(max(value, self.low), self.high)
        share = (move(value) - move(self.low)) / ((move(self.high) - move(self.low)) or 1.0)
        return self.start + share * (self.end - self.start)


def percent_scale(values: Sequence[float]) -> Scale:
    """Upwards, around these fractions: from and to a round number, at least ten points apart."""
    low, high = 100 * max(0.0, min(values)), 100 * min(1.0, max(values))
    half = max(5.0, (high - low) / 2)
    middle = min(max((low + high) / 2, half), 100 - half)
    step = round_step(2 * half, 5)
    low = step * math.floor((middle - half) / step + 1e-9)
    high = min(100.0, step * math.ceil((middle + half) / step - 1e-9))
    ticks = [(tick, f"{tick:g}") for tick in _multiples(low, high, step)]
    return Scale(low, high, HEIGHT - BOTTOM, TOP, ticks)


def count_scale(count: int) -> Scale:
    """To the right: 1, 2, ... count."""
    step = max(1, round(round_step(count, 8)))
    ticks = [1, *(tick for tick in range(step, count + 1, step) if tick > 1)]
    if len(ticks) > 1 and step > 2:  # the 1 would run into the next
        ticks = ticks if (ticks[1] - 1) / count > 0.06 else ticks[1:]
    return Scale(1, max(count, 2), LEFT + MARGIN, WIDTH - RIGHT - MARGIN, [(tick, f"{tick:,}") for tick in ticks])


def cost_scale(values: Sequence[float], words: Callable[[float], str]) -> Scale:
    """To the right, logarithmic: seconds or bytes, which differ by powers of ten. It shows at least one."""
    room = max(1.6, math.sqrt(10 * min(values) / max(values)))
    low, high = min(values) / room, max(values) * room
    ticks = [(tick, words(tick)) for tick in log_ticks(low, high)]
    return Scale(low, high, LEFT + MARGIN, WIDTH - RIGHT - MARGIN, ticks, logarithmic=True)


def round_scale(values: Sequence[float], start: float, end: float, beyond: float = 0.0) -> Scale:
    """From and to round numbers around the values; a value beyond them by less than that share of a step is cut.

    >>> [words for _, words in round_scale([-0.31, 0.04], 0, 100).ticks]
    ['-0.4', '-0.3', '-0.2', '-0.1', '0', '0.1']
    """
    step = round_step((max(values) - min(values)) or 1.0, 5)
    low, high = math.floor(min(values) / step + beyond), math.ceil(max(values) / step - beyond)
    ticks = [(step * place, f"{step * place:g}") for place in range(low, high + 1)]
    return Scale(step * low, step * high, start, end, ticks)


def frame(x: Scale, y: Scale, x_label: str, y_label: str) -> list[str]:
    """The grid with its numbers, and what they are; as large as the scales are."""
    left, right, bottom = x.start - MARGIN, x.end + MARGIN, y.start
    parts = [text(4, 12, y_label)]
    for value, words in y.ticks:
        place = y(value)
        parts.append(f'<path class="grid" d="M{left:g} {place:.1f}H{right:g}"/>')
        parts.append(text(left - 6, place + 4, words, "end"))
    for value, words in x.ticks:
        place = x(value)
        parts.append(f'<path class="grid" d="M{place:.1f} {bottom:g}v4"/>')
        parts.append(text(place, bottom + 17, words, "middle"))
    parts.append(text((left + right) / 2, bottom + BOTTOM - 6, x_label, "middle"))
    return parts


def round_step(span: float, count: int) -> float:
    """The round step (1, 2 or 5 times a power of ten) that makes about `count` of them in a span.

    >>> round_step(100, 5), round_step(7, 5), round_step(1000, 8)
    (20.0, 2.0, 200.0)
    """
    rough = span / count
    power = 10.0 ** math.floor(math.log10(rough))
    return power * next(factor for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)


def log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten; where there are too few, also their doubles and halves; where too many, every second or third.

    >>> log_ticks(3, 4000), log_ticks(3, 30)
    ([10.0, 100.0, 1000.0], [5.0, 10.0, 20.0])
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [tick for power in powers if low <= (tick := 10.0**power) <= high]
    if len(ticks) < 3:
        ticks = [tick for power in powers for factor in (1, 2, 5) if low <= (tick := factor * 10.0**power) <= high]
    return ticks[:: math.ceil(len(ticks) / 5)]


def thinned(count: int, limit: int) -> list[int]:
    """Which of `count` points are drawn: all, or `limit` of them, evenly and with both ends.

    >>> thinned(3, 5), thinned(9, 5)
    ([0, 1, 2], [0, 2, 4, 6, 8])
    """
    if count <= limit:
        return list(range(count))
    return [round(place * (count - 1) / (limit - 1)) for place in range(limit)]


def _multiples(low: float, high: float, step: float) -> list[float]:
    return [low + step * place for place in range(round((high - low) / step) + 1) if low + step * place <= high]
