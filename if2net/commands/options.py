"""Arguments and options that several commands have in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import numpy as np

    # The values that identify each sample in the output, and the features of the samples, some at a time.
    Samples = Iterator[tuple[list[tuple[Any, ...]], np.ndarray]]

TABLES = "Tables (.csv, .tsv, .parquet, .npz, .npy)"

BackboneOption = Annotated[
    str | None,
    typer.Option(
        help="Network that computes the features of images: efficientnet-lite0, timm:NAME, FILE.if2, FILE.onnx "
        "or pixels, with options after commas."
    ),
]
DeviceOption = Annotated[str, typer.Option(help="Where to compute: auto, cpu or cuda.")]


def refuse(kind: str, **options: object) -> None:
    """Raise an error if one of these options, which are for another kind of samples, was given."""
    from if2net.errors import ConfigurationError

    if given := [name for name, value in options.items() if value is not None]:
        raise ConfigurationError(f"--{given[0]} is for {kind} only. Leave it out.")
