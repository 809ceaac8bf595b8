"""The accuracy matrix R as a heat map."""

from __future__ import annotations

from collections.abc import Callable

from if2net.study.report.axes import thinned
from if2net.study.report.palette import shade_class
from if2net.study.report.svg import CHARACTER, Drawing, text

SIDE = 280
MOST_TASKS = 30  # rows and columns drawn: 20 methods of a thousand tasks must still make a light page
MOST_NUMBERS = 12  # beyond this a cell is too small for its number

Accuracy = Callable[[int, int], float]  # after task i, on task j


def heat_map(label: str, tasks: int, accuracy: Accuracy) -> Drawing:
    """R as a lower triangle: row i after learning task i, column j the accuracy on task j."""
    drawn = thinned(tasks, MOST_TASKS)
    cell, margin = SIDE / len(drawn), 12 + CHARACTER * len(str(tasks))
    parts = _numbers(drawn, cell, margin)
    for row, i in enumerate(drawn):
        for column, j in enumerate(drawn[: row + 1]):
            parts.append(_cell(i, j, accuracy(i, j), margin + cell * column, margin + cell * row, cell))
    # The last number is as wide as the margin, and its middle is that of the last cell.
    return Drawing(label, margin + SIDE + max(4, (margin - cell) / 2), margin + SIDE + 4, parts)


def _numbers(drawn: list[int], cell: float, margin: float) -> list[str]:
    """The tasks' numbers, above and at the left; as many as fit."""
    parts = []
    for place in thinned(len(drawn), MOST_NUMBERS if drawn[-1] < 99 else 5):
        middle, words = margin + cell * (place + 0.5), str(drawn[place] + 1)
        parts += [text(middle, margin - 8, words, "middle"), text(margin - 5, middle + 4, words, "end")]
    return parts


def _cell(i: int, j: int, value: float, x: float, y: float, cell: float) -> str:
    side = cell - min(2.0, cell / 8)
    number = (
        text(x + side / 2, y + side / 2 + 4, f"{100 * value:.0f}", "middle") if cell >= SIDE / MOST_NUMBERS else ""
    )
    said = f"after task {i + 1}, on task {j + 1}: {100 * value:.2f} %"
    return (
        f'<g class="v cell {shade_class(value)}"><title>{said}</title>'
        f'<path d="M{x:.4g} {y:.4g}h{side:.3g}v{side:.3g}h-{side:.3g}z"/>{number}</g>'
    )
