"""methods and datasets: what there is."""

from __future__ import annotations

import typer


def methods() -> None:
    """List the methods."""
    from if2net.study.methods import METHODS

    for name, method in METHODS.items():
        typer.echo(f"{name:16} {method.summary}")


def datasets() -> None:
    """List the datasets."""
    from if2net.study.data import DATASETS, IMAGE_DATASETS

    facts = [(name, source.summary, source.licence) for name, source in DATASETS.items()]
    facts += [(name, source.summary, source.licence) for name, source in IMAGE_DATASETS.items()]
    for name, summary, licence in facts:
        typer.echo(f"{name:14} {summary} ({licence})")
    typer.echo("folder:PATH    your own images, a sub-folder for each class")
    typer.echo("hub:OWNER/NAME images of the Hugging Face hub")
