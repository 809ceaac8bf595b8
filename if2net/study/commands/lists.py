"""`if2net methods` and `if2net datasets`: the names that the other commands take."""

from __future__ import annotations

import typer


def methods() -> None:
    """List the methods that can be compared."""
    from if2net.study.methods import METHODS

    for name, method in METHODS.items():
        typer.echo(f"{name:16} {method.summary}")


def datasets() -> None:
    """List the data sets that scenarios are made of."""
    from if2net.study.data import DATASETS, IMAGE_DATASETS

    facts = [(name, source.summary, source.licence) for name, source in DATASETS.items()]
    facts += [(name, source.summary, source.licence) for name, source in IMAGE_DATASETS.items()]
    for name, summary, licence in facts:
        typer.echo(f"{name:14} {summary} ({licence})")
    typer.echo("folder:PATH    your own images, one sub-folder per class")
    typer.echo("hub:OWNER/NAME images of the Hugging Face hub")
