"""`if2net export`: a model as an ONNX graph, or as a small file that only predicts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from if2net.commands.answer import SENTENCES, Output, file_size, model_values
from if2net.commands.options import (
    ForceOption,
    ModelArgument,
    OwnBackboneOption,
    check_output,
    load_to_predict,
    refuse,
)
from if2net.errors import ConfigurationError

# The beginnings of the files, as regular expressions.
ONNX = rb"\x08.\x12\x06if2net"
PREDICTOR = rb'.{8}\{"__metadata__":\{"format":"\d+","if2net":"\{\\"predicts_only\\": true'


def export(
    model: ModelArgument,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="File to write: .onnx, or .if2 with --predict-only.")],
    predict_only: Annotated[
        bool, typer.Option("--predict-only", help="Write a small model file that cannot learn any more.")
    ] = False,
    int8: Annotated[bool, typer.Option("--int8", help="With --predict-only: round the weights to 8 bits.")] = False,
    backbone: OwnBackboneOption = None,
    output: Output = SENTENCES,
    force: ForceOption = False,
) -> None:
    """Write a model for programs and machines that only predict.

    OUT.onnx is one graph from samples to classes, for any ONNX runtime. With --predict-only, OUT is a model file
    for if2net without the statistics that learning needs, which are most of a model.
    """
    from if2net.export import to_onnx, to_predictor

    if predict_only == (out.suffix == ".onnx"):
        raise ConfigurationError("OUT must end in .onnx; for a model file that only predicts, add --predict-only.")
    if int8 and not predict_only:
        raise ConfigurationError("--int8 needs --predict-only. Leave it out for an ONNX file.")
    check_output(out, PREDICTOR if predict_only else ONNX, [model], option="OUT", force=force)
    net = load_to_predict(model, "cpu")
    before = file_size(model)
    if predict_only:
        refuse("ONNX files", backbone=backbone)
        to_predictor(net, out, int8=int8)
    else:
        to_onnx(net, out, backbone=backbone)
    values = {"out": str(out), "bytes": out.stat().st_size}
    line = f"{out} has {file_size(out)}, and {model} has {before}."
    output.answer([line], model_values(model, net) | values, written=out)
