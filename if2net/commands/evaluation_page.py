"""The HTML page of `if2net evaluate`: one file, with the wrong predictions as images or rows."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from if2net.commands.answer import percent
from if2net.evaluation import CALIBRATION_ERROR, Evaluation, Mistake
from if2net.version import __version__

# The beginning of a page, as a regular expression.
START = rb"<!doctype html>\n<!-- if2net evaluate -->"
# Pixels per side of an image, and columns of a row of a table.
THUMBNAIL = 160
COLUMNS = 6
# Confusions and files that are listed.
CONFUSIONS, FILES = 50, 20


def evaluation_page(
    model: Path, sources: Sequence[Path], evaluation: Evaluation, names: Sequence[str] | None, left_out: Sequence[str]
) -> str:
    """Return the page. `names` are the features where the samples are rows of tables, and None for images."""
    low, high = evaluation.accuracy_interval
    figures = {
        f"accuracy, {percent(low)} to {percent(high)} with 95 % confidence": evaluation.accuracy,
        "balanced accuracy: the mean recall of the classes": evaluation.balanced_accuracy,
        f"calibration error: {CALIBRATION_ERROR}": evaluation.calibration_error,
    }
    wrong, shown = evaluation.samples - evaluation.right, len(evaluation.mistakes)
    remarks = [f"{name!r} is not a class of the model; its samples count as wrong." for name in evaluation.unknown]
    remarks += [f"Left out: {reason}" for reason in left_out[:FILES]]
    remarks += [f"{len(left_out) - FILES:,} more files were left out."] if len(left_out) > FILES else []
    middle = " Only the middle of an image is shown." if names is None else ""
    confusions = [
        (str(name), str(prediction), count) for name, prediction, count in evaluation.confusions[:CONFUSIONS]
    ]
    classes = [
        (str(one.name), one.samples, percent(one.recall), percent(one.precision)) for one in evaluation.worst_first
    ]
    template = Template(Path(__file__).with_name("evaluation.html").read_text(encoding="utf-8"))
    return template.substitute(
        model=escape(str(model)),
        samples=f"{evaluation.samples:,}",
        sources=escape(", ".join(map(str, sources))),
        version=__version__,
        figures="".join(f"<li><b>{percent(value)}</b>{escape(text)}</li>" for text, value in figures.items()),
        remarks="".join(f"<p>{escape(remark)}</p>" for remark in remarks),
        mistakes_remark=f"{shown:,} of {wrong:,}, the surest first.{middle}" if wrong else "None.",
        mistakes=_images(evaluation.mistakes) if names is None else _rows(evaluation.mistakes, names),
        confusions=_table(("class", "predicted as", "samples"), confusions),
        classes=_table(("class", "samples", "recall", "precision"), classes),
    )


def _images(mistakes: Iterable[Mistake]) -> str:
    figures = []
    for mistake in mistakes:
        path = mistake.sample[0]
        prediction, label, name = map(_breakable, (mistake.prediction, mistake.label, path.name))
        figures.append(
            f'<figure><img src="{_thumbnail(path)}" alt=""><figcaption>{prediction}, {percent(mistake.probability)}'
            f"<br>is {label}<br>"
            f'<small title="{escape(str(path))}">{name}</small></figcaption></figure>'
        )
    return f'<div class="pictures">{"".join(figures)}</div>'


def _breakable(name: Any) -> str:
    """Return a name that a browser breaks between its words first, also where no spaces separate them."""
    return re.sub(r"([_-])(?=.)", r"\1<wbr>", escape(str(name)))


def _thumbnail(path: Path) -> str:
    """Return the middle of an image as a data URI."""
    from PIL import Image

    from if2net.images.read import Framing, read_image

    content = io.BytesIO()
    Image.fromarray(read_image(path, Framing(THUMBNAIL, THUMBNAIL))).save(content, "JPEG", quality=80)
    return f"data:image/jpeg;base64,{base64.b64encode(content.getvalue()).decode()}"


def _rows(mistakes: Iterable[Mistake], names: Sequence[str]) -> str:
    header = ("prediction", "probability", "label", "file", "row", *names[:COLUMNS])
    rows = [
        (str(one.prediction), percent(one.probability), str(one.label), str(one.sample[0]), *one.sample[1:])
        for one in mistakes
    ]
    return _table(header + (("…",) if len(names) > COLUMNS else ()), rows) if rows else ""


def _table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return an HTML table. Numbers are set to the right."""

    def cell(value: Any) -> str:
        is_number = not isinstance(value, str) or value.endswith((" %", "–"))
        text = value if isinstance(value, str) else f"{value:,}" if isinstance(value, int) else f"{value:.6g}"
        return f'<td class="number">{escape(text)}' if is_number else f"<td>{escape(text)}"

    head = "".join(f"<th>{escape(name)}" for name in header)
    body = "".join(f"<tr>{''.join(map(cell, row))}" for row in rows)
    return f'<div class="scroll"><table><tr>{head}{body}</table></div>'
