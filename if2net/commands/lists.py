"""methods and datasets: what there is."""

from __future__ import annotations

import typer


def methods() -> None:
    """List the methods."""
    from if2net.methods import METHODS

    for name, method in METHODS.items():
        typer.echo(f"{name:16} {method.summary}")


def datasets() -> None:
    """List the datasets."""
    from if2net.data import DATASETS

    for name, source in DATASETS.items():
        typer.echo(f"{name:14} {source.summary} ({source.licence})")
