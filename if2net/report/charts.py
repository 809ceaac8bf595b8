"""Figures as SVG text: no network, no JavaScript, values on hover."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

# Okabe and Ito's colours, which colour-blind readers can tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F", "#B8A800")

Place = Callable[[int, float], tuple[float, float]]  # task and value → where on the page
Series = tuple[str, Sequence[float], Sequence[float]]  # name, means, standard deviations; fractions


def colour(index: int) -> str:
    return COLOURS[index % len(COLOURS)]


def line_chart(series: Sequence[Series], *, x_label: str, y_label: str) -> str:
    """Means over tasks with a band of one standard deviation; y from 0 to 100 %."""
    width, height, left, top, bottom = 640, 300, 48, 12, 44
    count = max(len(means) for _, means, _ in series)
    step = (width - left - 16) / max(count - 1, 1)

    def place(index: int, value: float) -> tuple[float, float]:
        return left + index * step, top + (1 - max(0.0, min(1.0, value))) * (height - top - bottom)

    parts = [f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(y_label)} over tasks">']
    for percent in range(0, 101, 20):
        y = place(0, percent / 100)[1]
        parts.append(f'<line class="grid" x1="{left}" x2="{width - 16}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{percent}</text>')
    for index in range(count):
        x = place(index, 0)[0]
        parts.append(f'<text x="{x:.1f}" y="{height - bottom + 18}" text-anchor="middle">{index + 1}</text>')
    parts.append(f'<text x="{(width + left) / 2}" y="{height - 6}" text-anchor="middle">{escape(x_label)}</text>')
    for number, (name, means, deviations) in enumerate(series):
        parts += _line(name, means, deviations, colour(number), place)
    return "".join([*parts, "</svg>"])


def _line(name: str, means: Sequence[float], deviations: Sequence[float], stroke: str, place: Place) -> list[str]:
    points = [place(index, value) for index, value in enumerate(means)]
    upper = [place(i, m + d) for i, (m, d) in enumerate(zip(means, deviations, strict=True))]
    lower = [place(i, m - d) for i, (m, d) in enumerate(zip(means, deviations, strict=True))]
    outline = " ".join(f"{x:.1f},{y:.1f}" for x, y in [*upper, *reversed(lower)])
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    parts = [
        f'<polygon points="{outline}" fill="{stroke}" opacity="0.15"/>',
        f'<polyline points="{path}" fill="none" stroke="{stroke}" stroke-width="2"/>',
    ]
    for index, ((x, y), mean, deviation) in enumerate(zip(points, means, deviations, strict=True)):
        title = f"{name}, after task {index + 1}: {100 * mean:.2f} ± {100 * deviation:.2f} %"
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{stroke}"><title>{escape(title)}</title></circle>'
        )
    return parts


def heat_map(R: Sequence[Sequence[float | None]]) -> str:
    """R as a lower triangle: row i after learning task i, column j the accuracy on task j."""
    cell, margin = 44, 40
    size = margin + cell * len(R) + 4
    parts = [f'<svg class="heat" viewBox="0 0 {size} {size}" role="img" aria-label="accuracy matrix R">']
    for index in range(len(R)):
        middle = margin + cell * index + cell / 2
        parts.append(f'<text x="{middle}" y="{margin - 10}" text-anchor="middle">{index + 1}</text>')
        parts.append(f'<text x="{margin - 10}" y="{middle + 4}" text-anchor="end">{index + 1}</text>')
    for i, row in enumerate(R):
        for j, value in enumerate(row):
            if value is not None:
                parts.append(_cell(i, j, value, margin + cell * j, margin + cell * i, cell - 2))
    return "".join([*parts, "</svg>"])


def _cell(i: int, j: int, value: float, x: int, y: int, side: int) -> str:
    title = f"after task {i + 1}, on task {j + 1}: {100 * value:.2f} %"
    ink = "#fff" if value > 0.55 else "#111"
    return (
        f"<g><title>{title}</title>"
        f'<rect x="{x}" y="{y}" width="{side}" height="{side}" rx="3" fill="{_shade(value)}"/>'
        f'<text x="{x + side / 2}" y="{y + side / 2 + 4}" text-anchor="middle" style="fill:{ink}">{100 * value:.0f}'
        "</text></g>"
    )


def _shade(value: float) -> str:
    """From pale to deep blue; even in lightness, so that it also reads in print."""
    pale, deep = (222, 235, 247), (8, 69, 148)
    mixed = [round(a + (b - a) * max(0.0, min(1.0, value))) for a, b in zip(pale, deep, strict=True)]
    return f"rgb({mixed[0]},{mixed[1]},{mixed[2]})"
