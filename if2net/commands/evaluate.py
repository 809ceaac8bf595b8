"""`if2net evaluate`: how good a model is on samples with labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from if2net.commands.answer import SENTENCES, Output, percent, printable
from if2net.commands.images import print_left_out
from if2net.commands.labelled import labelled_samples
from if2net.commands.options import (
    DeviceOption,
    ForceOption,
    LabelledArgument,
    LabelOption,
    ModelArgument,
    OwnBackboneOption,
    check_order,
    check_output,
    load_to_predict,
)
from if2net.files import write_text

if TYPE_CHECKING:
    from if2net.evaluation import Evaluation

# Classes and confusions on the screen, the worst first.
SHOWN, CONFUSIONS = 20, 10


def evaluate(
    model: ModelArgument,
    samples: LabelledArgument,
    label: LabelOption = None,
    backbone: OwnBackboneOption = None,
    html: Annotated[Path | None, typer.Option(help="HTML file for the figures and the wrong predictions.")] = None,
    device: DeviceOption = "auto",
    output: Output = SENTENCES,
    force: ForceOption = False,
) -> None:
    """Measure how good a model is on samples that it has not learned.

    The samples have labels, as for `if2net learn`. Samples of classes that the model does not know count as wrong.
    """
    from if2net.commands.evaluation_page import COLUMNS, START, evaluation_page
    from if2net.evaluation import Evaluation

    check_order(model, "evaluate")
    console = output.screen()
    if html is not None:
        check_output(html, START, [model, *samples], option="--html", force=force)
    net = load_to_predict(model, device)
    blocks, left_out = labelled_samples(net, samples, label, backbone, device, console)
    evaluation = Evaluation(net.classes)
    for places, X, y, _ in blocks:
        net.labels.extended(y)  # labels of another kind would all be wrong
        values = X[:, :COLUMNS].tolist() if net.backbone is None else [()] * len(X)
        named = [(*place, *row) for place, row in zip(places, values, strict=True)]
        evaluation.add(named, y, net.probabilities(X).cpu().numpy())
    if html is not None:
        names = net.feature_names or [f"x{place}" for place in range(X.shape[1])]
        reasons = list(left_out.values())
        page = evaluation_page(model, samples, evaluation, names if net.backbone is None else None, reasons)
        write_text(html, page)
    output.answer(_lines(evaluation), _values(model, evaluation, left_out.values()))
    if html is not None:
        console.print(f"The page is {printable(str(html))}.", highlight=False)
    print_left_out(left_out, console)


def _lines(evaluation: Evaluation) -> Iterator[str]:
    from if2net.evaluation import CALIBRATION_ERROR

    low, high = (percent(bound) for bound in evaluation.accuracy_interval)
    yield f"accuracy           {percent(evaluation.accuracy)}, {evaluation.right:,} of {evaluation.samples:,} samples"
    yield f"                   {low} to {high} with 95 % confidence"
    yield f"balanced accuracy  {percent(evaluation.balanced_accuracy)}, the mean recall of the classes"
    yield f"calibration error  {percent(evaluation.calibration_error)}, {CALIBRATION_ERROR}"
    for name in evaluation.unknown:
        yield f"{name!r} is not a class of the model; its samples count as wrong."
    tested = [one for one in evaluation.worst_first if one.recall is not None]
    width = max(5, *(len(str(one.name)) for one in tested[:SHOWN]))
    yield ""
    yield f"{'class':{width}} samples   recall precision"
    for one in tested[:SHOWN]:
        yield f"{one.name!s:{width}} {one.samples:7,} {percent(one.recall):>8} {percent(one.precision):>9}"
    if len(tested) > SHOWN:
        yield f"and {len(tested) - SHOWN:,} classes with a higher recall; --json and --html list all."
    if evaluation.confusions:
        yield ""
        yield "Most frequent confusions:"
    for name, prediction, count in evaluation.confusions[:CONFUSIONS]:
        yield f"  {name} predicted as {prediction}: {count:,}"


def _values(model: Path, evaluation: Evaluation, left_out: Iterable[str]) -> dict[str, Any]:
    """Return the content of the JSON object; docs/guides/model-files.md describes it."""
    per_class = [
        {"class": one.name, "samples": one.samples, "recall": one.recall, "precision": one.precision}
        for one in evaluation.per_class
    ]
    confusions = [
        {"class": name, "prediction": prediction, "samples": count}
        for name, prediction, count in evaluation.confusions
    ]
    return {
        "model": str(model),
        "samples": evaluation.samples,
        "accuracy": evaluation.accuracy,
        "accuracy_interval": evaluation.accuracy_interval,
        "balanced_accuracy": evaluation.balanced_accuracy,
        "calibration_error": evaluation.calibration_error,
        "unknown_classes": evaluation.unknown,
        "classes": per_class,
        "confusions": confusions,
        "left_out": list(left_out),
    }
