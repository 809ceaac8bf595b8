"""`if2net methods` and `if2net datasets`: the names that the other commands take."""

from __future__ import annotations

from if2net.commands.answer import SENTENCES, Output


def methods(output: Output = SENTENCES) -> None:
    """List the methods that can be compared."""
    from if2net.study.methods import METHODS

    summaries = {name: method.summary for name, method in METHODS.items()}
    output.answer((f"{name:16} {text}" for name, text in summaries.items()), summaries)


def datasets(output: Output = SENTENCES) -> None:
    """List the data sets that scenarios are made of."""
    from if2net.study.data import DATASETS, IMAGE_DATASETS

    summaries = {name: f"{source.summary} ({source.licence})" for name, source in DATASETS.items()}
    summaries |= {name: f"{source.summary} ({source.licence})" for name, source in IMAGE_DATASETS.items()}
    summaries["folder:PATH"] = "your own images, one sub-folder per class"
    summaries["hub:OWNER/NAME"] = "images of the Hugging Face hub"
    output.answer((f"{name:14} {text}" for name, text in summaries.items()), summaries)
