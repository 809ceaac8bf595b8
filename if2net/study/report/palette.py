"""Colours, shapes and shades that colour-blind readers, dark pages and printers can tell apart."""

from __future__ import annotations

# Okabe and Ito's colours, less black and yellow, which vanish on a dark or a light page; then a grey and three more
# that readers who do not see red or green tell from these and from each other (tests/report/test_palette.py).
COLOURS = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"),
    *("#646464", "#503CF0", "#A0B464", "#8C5028"),
)
DASHES = ("none", "7 3", "2 3", "8 3 2 3")
SHADES = 20  # steps from 0 to 100 %
PALE, DEEP = (222, 235, 247), (8, 69, 148)  # even in lightness, so that it also reads in print
MIDDLE_GREY = 0.191  # the luminance on which #111 and white stand out alike


def colour_class(mark: int) -> str:
    """The class of a series' colour. Its shape differs too wherever the colours come round again."""
    return f"c{mark % len(COLOURS)}"


def dash(mark: int) -> str:
    return DASHES[mark // len(COLOURS) % len(DASHES)]


def shape(mark: int, x: float, y: float, radius: float) -> str:
    """The path of a series' marker around a point.

    >>> len({(colour_class(mark), shape(mark, 0, 0, 4)) for mark in range(32)})
    32
    """
    r = radius
    shapes = (
        f"M{x - r:.1f} {y:.1f}a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0 {-2 * r} 0z",
        f"M{x - r:.1f} {y - r:.1f}h{2 * r}v{2 * r}h{-2 * r}z",
        f"M{x:.1f} {y - 1.3 * r:.1f}l{1.3 * r:.1f} {2.4 * r:.1f}h{-2.6 * r:.1f}z",
        f"M{x:.1f} {y - 1.4 * r:.1f}l{1.4 * r:.1f} {1.4 * r:.1f}l{-1.4 * r:.1f} {1.4 * r:.1f}"
        f"l{-1.4 * r:.1f} {-1.4 * r:.1f}z",
        f"M{x:.1f} {y + 1.3 * r:.1f}l{1.3 * r:.1f} {-2.4 * r:.1f}h{-2.6 * r:.1f}z",
    )
    return shapes[(mark + mark // len(COLOURS)) % len(shapes)]


def shade_class(fraction: float) -> str:
    """The class of a cell's shade.

    >>> shade_class(0.0), shade_class(0.52), shade_class(1.0)
    ('h0', 'h10', 'h20')
    """
    return f"h{round(SHADES * max(0.0, min(1.0, fraction)))}"


def style() -> str:
    """The classes above as CSS, for a page or for an SVG file."""
    rules = [f".c{index}{{color:{colour}}}" for index, colour in enumerate(COLOURS)]
    for step in range(SHADES + 1):
        red, green, blue = (round(a + (b - a) * step / SHADES) for a, b in zip(PALE, DEEP, strict=True))
        fill = f"rgb({red},{green},{blue})"
        ink = "#111" if luminance(red, green, blue) > MIDDLE_GREY else "#fff"
        rules.append(f".h{step}{{fill:{fill};background:{fill};color:{ink}}}")
    return "".join(rules)


def luminance(red: int, green: int, blue: int) -> float:
    """How bright sRGB is, from 0 to 1.

    >>> luminance(0, 0, 0), round(luminance(255, 255, 255), 6)
    (0.0, 1.0)
    """
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (red / 255, green / 255, blue / 255)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
