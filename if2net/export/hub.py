"""Models on the Hugging Face Hub: a safetensors file and a model card. No downloaded code is executed."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any

from if2net.classifier import IF2NetClassifier, Model, learner_of, load
from if2net.errors import ConfigurationError, IF2NetError
from if2net.extras import require
from if2net.files import write_text
from if2net.images.backbones.registry import licence_of
from if2net.learner import IF2Net
from if2net.version import __version__

# The Hub shows the tensors of files with this suffix.
FILE, CARD = "model.safetensors", "README.md"
# Classes that a card lists.
LISTED = 100
# The figures of `if2net evaluate --json` in a card.
FIGURES = ("samples", "accuracy", "balanced_accuracy", "calibration_error")
OF_IMAGES = 'if2net.predict_images(model, "unknown/").predictions'
TEMPLATE = """\
---
library_name: if2net
pipeline_tag: {kind}-classification
tags: [if2net, continual-learning]{license}
---

# {title}

A classifier of {classes:,} classes, learned from {samples:,} samples. {ability}

```python
import if2net
from if2net.export import from_hub

model = from_hub("{repository}")
{use}
```

| | |
|---|---|
{facts}
| class | samples |
|---|---|
{counts}"""


def push_to_hub(
    model: Model,
    repo_id: str,
    *,
    predict_only: bool = False,
    licence: str | None = None,
    evaluation: Mapping[str, Any] | None = None,
    private: bool | None = None,
    token: str | None = None,
) -> str:
    """Upload a model with a model card to the Hugging Face Hub, and return the address of its page.

    The repository is created if it does not exist; its former model and card are replaced.

    Parameters
    ----------
    model : IF2NetClassifier or IF2Net
        A model that has learned something.
    repo_id : str
        The name on the Hub, such as ``"ornithologist/birds"``.
    predict_only : bool, default=False
        Upload a model that only predicts. A whole model can go on learning. It also holds the sum of the encoded
        samples of each class, which for a class with one sample is that sample.
    licence : str, optional
        The licence of the model, by its name on the Hub, such as ``"apache-2.0"``.
    evaluation : mapping, optional
        The object that ``if2net evaluate --json`` prints, for the card.
    private : bool, optional
        Whether only you can see a new repository.
    token : str, optional
        The token of your account. The default is the one that ``hf auth login`` has stored.

    Returns
    -------
    str
        The address of the page of the model.
    """
    net = learner_of(model)
    small = net.predictor()  # raises an error if nothing has been learned
    net = small if predict_only else net
    with _explained(repo_id) as hub, tempfile.TemporaryDirectory() as folder:
        net.save(Path(folder, FILE))
        write_text(Path(folder, CARD), model_card(net, repo_id, licence, evaluation))
        api = hub.HfApi(token=token)
        url = api.create_repo(repo_id, private=private, exist_ok=True)
        api.upload_folder(
            repo_id=repo_id, folder_path=folder, commit_message=f"Upload a model of if2net {__version__}"
        )
    return str(url)


def from_hub(
    repo_id: str, *, revision: str | None = None, device: str = "auto", token: str | None = None
) -> IF2NetClassifier:
    """Download a model that `push_to_hub` has uploaded.

    Only a safetensors file is read, and it is checked like every model file. No code of the repository is executed.

    Parameters
    ----------
    repo_id : str
        The name on the Hub, such as ``"ornithologist/birds"``.
    revision : str, optional
        A branch, a tag or a commit. The default is the newest one.
    device : str, default="auto"
        "cpu", "cuda" or "auto".
    token : str, optional
        The token of your account, for private models.

    Returns
    -------
    IF2NetClassifier
    """
    with _explained(repo_id) as hub:
        path = hub.hf_hub_download(repo_id, FILE, revision=revision, token=token)
    return load(path, device)


@contextmanager
def _explained(repo_id: str) -> Iterator[Any]:
    """Give the package huggingface_hub, and turn its errors into a sentence."""
    hub = require("huggingface_hub", "hub", "The Hugging Face Hub needs the package huggingface_hub")
    try:
        yield hub
    except IF2NetError:
        raise
    except Exception as error:  # the package and the network raise many kinds
        reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
        raise ConfigurationError(
            f"The model {repo_id} cannot be downloaded or uploaded ({reason}); check its name, which is OWNER/MODEL, "
            "the internet connection and your token."
        ) from error


def model_card(
    net: IF2Net, repo_id: str, licence: str | None = None, evaluation: Mapping[str, Any] | None = None
) -> str:
    """Return the model card: the classes of the model, how to load it, and its licence."""
    assert net.encoder is not None
    assert net.decision is not None
    of_images, backbone = net.config.shape is not None, net.backbone and net.backbone["text"]
    figures = {name: value for name, value in (evaluation or {}).items() if name in FIGURES}
    facts = {
        "library": f"if2net {__version__}",
        "encoder": f"{net.config.encoder}, {net.encoder.inputs:,} features, width {net.encoder.width:,}",
        "backbone": backbone,
        "licence of the backbone": backbone and licence_of(backbone),
        "licence of the model": licence or "not stated",
        **{f"test {name.replace('_', ' ')}": _figure(value) for name, value in figures.items()},
    }
    counts, columns = net.decision.total.counts.tolist(), net.labels.sorted_columns
    more = f"\nAnd {len(columns) - LISTED:,} more.\n" if len(columns) > LISTED else ""
    return TEMPLATE.format(
        kind="image" if of_images or backbone else "tabular",
        license=f"\nlicense: {_plain(licence)}" if licence else "",
        title=_plain(repo_id.rpartition("/")[2]),
        classes=len(columns),
        samples=net.samples,
        ability="It only predicts." if net.predicts_only else "It can go on learning: new classes need no old data.",
        repository=_plain(repo_id),
        use=OF_IMAGES if backbone else "model.predict(X)",
        facts=_rows({name: fact for name, fact in facts.items() if fact}),
        counts=_rows({net.labels.known[place]: f"{counts[place]:,}" for place in columns[:LISTED]}) + more,
    )


def _rows(table: Mapping[Any, Any]) -> str:
    return "".join(f"| {_plain(name)} | {_plain(value)} |\n" for name, value in table.items())


def _figure(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def _plain(value: object) -> str:
    """Return a text without markup and line breaks: names of classes may come from anywhere."""
    return re.sub(r"[\s\x00-\x1f\x7f-\x9f]+", " ", escape(str(value), quote=False)).replace("|", "&#124;")
