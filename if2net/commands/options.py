"""Arguments and options that several commands have in common."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from if2net.errors import ConfigurationError, InputError, ModelFileError, NumericalError, OutputError, unknown
from if2net.files import check_writable

if TYPE_CHECKING:
    from if2net.learner import IF2Net

# Bytes at the beginning of a file that show its kind.
LONGEST_START = 4096
# The parameters that errors name and that are options of commands, too.
PARAMETER = re.compile(r"`(label|weight|backbone|rows|read_only|host|port)`")
TABLES = "Tables (.csv, .tsv, .parquet, .npz, .npy)"

ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file, such as birds.if2.")]
LABELLED = f"{TABLES}, or folders of images with one sub-folder per class."
LabelledArgument = Annotated[list[Path], typer.Argument(metavar="SAMPLES", help=LABELLED)]
LabelOption = Annotated[
    str | None,
    typer.Option(
        help="Column of the labels. Default: the column named label, class, target or y, else the last one. "
        "For .npy files, the .npy file of the labels."
    ),
]
WeightOption = Annotated[
    str | None,
    typer.Option(help="Column of the weights of the rows. For .npy files, the .npy file of the weights."),
]
OwnBackboneOption = Annotated[
    str | None, typer.Option(help="The model's backbone, if it is timm:NAME or a file. `if2net info` names it.")
]
BackboneOption = Annotated[
    str | None,
    typer.Option(
        help="Network that computes the features of images: efficientnet-lite0, innate, innate-large, timm:NAME, "
        "FILE.if2, FILE.onnx or pixels, with options after commas."
    ),
]
DeviceOption = Annotated[str, typer.Option(help="Where to compute: auto, cpu or cuda.")]

NoWaitOption = Annotated[
    bool, typer.Option("--no-wait", help="Fail at once if another process uses the output, instead of waiting.")
]
NoUndoOption = Annotated[
    bool, typer.Option("--no-undo", help="Keep no copy of the previous model, which `if2net undo` needs.")
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace the output even if it is something else.")]
ReplaceOption = Annotated[bool, typer.Option("--force", help="Replace the file OUT if it exists.")]


def check_output(
    path: Path, ours: bytes, inputs: Iterable[Path] = (), *, option: str = "--out", force: bool = False
) -> None:
    """Raise an error, before any work, if the file cannot be written, or is an input or of another kind.

    `ours` is a regular expression that the beginning of a file matches if this command has written it.
    """
    check_writable(path)
    if force or not path.exists() or path.stat().st_size == 0:
        return
    if any(one.exists() and path.samefile(one) for one in inputs):
        raise OutputError(f"{path} is an input of this command; choose another {option}, or replace it with --force.")
    if not begins_with(ours, path):
        raise OutputError(
            f"{path} exists and does not look like a file of this command; choose another {option}, or replace it "
            "with --force."
        )


def check_new(path: Path, force: bool) -> None:
    """Raise an error if the file exists, unless it may be replaced."""
    if path.exists() and not force:
        raise OutputError(f"{path} exists; choose another name, or replace it with --force.")


def begins_with(start: bytes, path: Path) -> bool:
    """Return whether the beginning of a file matches this regular expression."""
    if not path.is_file():
        return False
    with open(path, "rb") as file:
        return re.match(start, file.read(LONGEST_START), re.DOTALL) is not None


def check_order(model: Path, command: str) -> None:
    """Raise an error if the model is a folder, which is most likely one of the samples."""
    if model.is_dir():
        raise InputError(f"{model} is a folder; the model comes first: if2net {command} MODEL SAMPLES.")


def load_to_predict(path: Path, device: str) -> IF2Net:
    """Load a model, or raise an error if it has no classes: it is a fork, or has forgotten everything."""
    from if2net.learner import IF2Net

    try:
        net = IF2Net.load(path, device)
    except ModelFileError as error:
        if path.suffix == ".onnx" and path.is_file():
            raise ModelFileError(
                f"{path} is not a model file; an exported .onnx file runs in an ONNX runtime, and this command takes "
                "the .if2 file that it was exported from."
            ) from error
        raise
    if not len(net.classes):
        raise InputError(f"{path} has no classes; learn something first.")
    return net


@contextmanager
def changing(path: Path, no_wait: bool) -> Iterator[None]:
    """Let this process alone change a model file, or raise an error, before any work, if it cannot be written."""
    from if2net.locks import locked

    check_writable(path)
    with locked(path, wait=not no_wait):
        yield


def save_solved(net: IF2Net, path: Path, *, keep_old: bool = False) -> None:
    """Save a model that predicts at once when it is loaded. A model that cannot be solved is saved, too."""
    if len(net.classes):
        with suppress(NumericalError):
            net.solve()
    net.save(path, keep_old=keep_old)


def known_classes(net: IF2Net, names: Sequence[str]) -> list[Any]:
    """Return the classes with these names, which are text on the command line, or raise an error."""
    known = {str(name): name for name in net.classes.tolist()}
    for place, name in enumerate(names):
        if name not in known:
            raise unknown("class", name, known)
        if name in names[:place]:
            raise InputError(f"The class {name!r} is named twice; name it once.")
    return [known[name] for name in names]


def as_options(text: str) -> str:
    """Replace the names of Python parameters by those of command-line options.

    >>> as_options("Set `label` to choose another.")
    'Set --label to choose another.'
    """
    return PARAMETER.sub(lambda name: f"--{name[1].replace('_', '-')}", text)


def refuse(kind: str, **options: object) -> None:
    """Raise an error if one of these options, which are for another kind of samples, was given."""
    if given := [name for name, value in options.items() if value is not None]:
        raise ConfigurationError(f"--{given[0]} is for {kind} only. Leave it out.")
