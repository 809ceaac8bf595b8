"""Draw docs/picture.svg: accuracy on the first two digits of MNIST while eight more are learned.

usage: python docs/picture.py

The curves are means over the five seeds in results/table-mnist/mnist-agnostic/results.json.
"""

import json
from pathlib import Path
from statistics import fmean

HERE = Path(__file__).parent
RESULTS = HERE.parent / "results/table-mnist/mnist-agnostic/results.json"
WIDTH, HEIGHT = 760, 340
LEFT, RIGHT, TOP, BOTTOM = 64, 530, 58, 268
TITLE = "Accuracy on the first two digits while eight more are learned"
MIDDLE, END, BOLD = 'text-anchor="middle"', 'text-anchor="end"', 'font-weight="600"'
# Method, label, colour, width of the line, dashes, and how far the label is moved down.
CURVES = [
    ("none", "plain training, EWC, SI", "#c2410c", 2, "", 0),
    ("owm", "OWM", "#8a8f98", 2, "", 13),
    ("if2net", "IF2Net, keeps no data", "#3949ab", 6, "", 5),
    ("joint", "all data at once", "#facc15", 2, "7 7", -12),
]

# Yellow is hard to read as text.
TEXT = {"joint": "#6b7280"}


def first_task(runs: list[dict], method: str) -> list[float]:
    """Return the mean accuracy on the first task after each task."""
    curves = [[row[0] for row in run["R"]] for run in runs if run["method"] == method]
    return [fmean(values) for values in zip(*curves, strict=True)]


def place(task: int, accuracy: float, tasks: int) -> tuple[float, float]:
    """Return the point of the drawing for an accuracy after a task."""
    return LEFT + (RIGHT - LEFT) * task / (tasks - 1), BOTTOM - (BOTTOM - TOP) * accuracy


def text(x: float, y: float, words: str, colour: str = "#3f444d", size: int = 13, more: str = "") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" fill="{colour}" font-size="{size}" {more}>{words}</text>'


def draw(runs: list[dict]) -> str:
    """Return the picture as SVG."""
    curves = {method: first_task(runs, method) for method, *_ in CURVES}
    tasks = len(curves["if2net"])
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif" role="img">',
        f"<title>{TITLE}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        text(
            LEFT,
            28,
            "Accuracy on the first two digits while eight more are learned",
            "#111827",
            17,
            'font-weight="600"',
        ),
    ]
    for percent in (0, 50, 100):
        _, y = place(0, percent / 100, tasks)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{RIGHT}" stroke="#e5e7eb"/>')
        parts.append(text(LEFT - 10, y + 4, f"{percent} %", "#6b7280", 12, END))
    for task in range(tasks):
        x, _ = place(task, 0, tasks)
        parts.append(text(x, BOTTOM + 20, str(2 * (task + 1)), "#6b7280", 12, MIDDLE))
    parts.append(
        text((LEFT + RIGHT) / 2, BOTTOM + 40, "digits learned so far", "#6b7280", 12, 'text-anchor="middle"')
    )
    for method, label, colour, width, dashes, shift in CURVES:
        points = [place(task, accuracy, tasks) for task, accuracy in enumerate(curves[method])]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(
            f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="{width}" stroke-linejoin="round" '
            f'stroke-linecap="round" stroke-dasharray="{dashes}"/>'
        )
        x, y = points[-1]
        weight = BOLD if method == "if2net" else ""
        parts.append(
            text(
                x + 12,
                y + 4 + shift,
                f"{label}: {100 * curves[method][-1]:.0f} %",
                TEXT.get(method, colour),
                13,
                weight,
            )
        )
    parts.append(text(LEFT, HEIGHT - 6, "MNIST in five tasks, one head, mean of 5 class orders", "#9ca3af", 11))
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    (HERE / "picture.svg").write_text(draw(json.loads(RESULTS.read_text())["runs"]), encoding="utf-8")
