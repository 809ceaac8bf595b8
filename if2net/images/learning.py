"""Learning and predicting images: `learn_images` and `predict_images`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from if2net.classifier import Model, learner_of
from if2net.config import resolve_device
from if2net.errors import InputError
from if2net.images.backbones.registry import BESIDE, split
from if2net.images.folders import ImageFiles, ImageFolders, list_classes, list_images
from if2net.images.model_backbone import check_backbone, extractor_for
from if2net.learner import IF2Net
from if2net.progress import Show

PathLike = str | os.PathLike[str]
Paths = PathLike | Sequence[PathLike]
LOADING = "loading the backbone"

# The settings of a new model for images. Features of a backbone need no wide random layer: without it, the model
# takes a fraction of the time and of the file. On some features a wide layer is a few points more accurate.
IMAGE_SETTINGS: Mapping[str, Any] = MappingProxyType({"encoder": "linear"})
# Those for features on which it is worth three points (results/innate_folders.py).
WIDE_SETTINGS: Mapping[str, Any] = MappingProxyType({"encoder": "wide"})


def settings_for(backbone: str | None) -> Mapping[str, Any]:
    """Return the settings of a new model for images with this backbone.

    >>> settings_for(None)["encoder"], settings_for("innate,flip=no")["encoder"]
    ('linear', 'wide')
    """
    name, options = split(backbone or "")
    alone = not any(option.startswith(BESIDE) for option in options)
    return WIDE_SETTINGS if name == "innate" and alone else IMAGE_SETTINGS


@dataclass(frozen=True)
class LearnedImages:
    """The outcome of `learn_images`.

    Attributes
    ----------
    per_class : dict of str to int
        Number of images learned per class, by the name of the class.
    left_out : dict of Path to str
        Files and folders that could not be used, each with a sentence that says why.
    """

    per_class: dict[str, int]
    left_out: dict[Path, str]

    @property
    def samples(self) -> int:
        """Number of images learned."""
        return sum(self.per_class.values())

    @classmethod
    def of(cls, images: ImageFolders) -> LearnedImages:
        """Describe folders that have just been learned."""
        return cls(images.counts(), images.left_out)


@dataclass(frozen=True)
class PredictedImages:
    """The outcome of `predict_images`.

    Attributes
    ----------
    paths : list of Path
        Images that were predicted.
    predictions : ndarray of shape (n_images,)
        Predicted class of each image.
    probabilities : ndarray of shape (n_images, n_classes)
        Calibrated probabilities. The columns are in the order of the model's classes.
    left_out : dict of Path to str
        Files that could not be used, each with a sentence that says why.
    """

    paths: list[Path]
    predictions: np.ndarray
    probabilities: np.ndarray
    left_out: dict[Path, str]


def learn_images(
    model: Model, folders: Paths, *, backbone: str | None = None, device: str = "auto", show: Show | None = None
) -> LearnedImages:
    """Learn folders of images that have one sub-folder per class.

    A frozen backbone turns each image into a vector of features, which the model learns as one task. The features are
    computed once and kept in the cache. The model remembers its backbone, in its file too. If anything is wrong, the
    model is unchanged.

    Parameters
    ----------
    model : IF2NetClassifier or IF2Net
        A new model, or one that has learned images before. For a new one, ``encoder="linear"`` is recommended: on
        the features of a backbone it is much faster and smaller than the default encoder, which can be a few points
        more accurate. With the backbone ``"innate"``, the default encoder is recommended.
    folders : path or sequence of paths
        Folders with one sub-folder per class. The name of the sub-folder is the label.
    backbone : str, optional
        The network that computes the features: ``"efficientnet-lite0"``, ``"timm:NAME"``, ``"FILE.if2"``,
        ``"FILE.onnx"`` or ``"pixels"``, with options after commas. The default is ``"efficientnet-lite0"`` for a new
        model, else the backbone of the model. If the model comes from a file, a backbone that is not part of if2net
        must be named again, because the file may come from somebody else.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where the backbone computes.
    show : callable, optional
        Called as ``show(done, total, text)`` when the backbone is loaded and while features are computed. The text
        says what is being done, or is empty.

    Returns
    -------
    LearnedImages
        The number of images learned per class, and the files that could not be used.

    Examples
    --------
    >>> import tempfile
    >>> from PIL import Image
    >>> from if2net import IF2NetClassifier, learn_images, predict_images
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name in ("red", "blue"):
    ...     (folder / "train" / name).mkdir(parents=True)
    ...     for size in range(20, 30):
    ...         Image.new("RGB", (size, size), name).save(folder / "train" / name / f"{size}.png")
    >>> classifier = IF2NetClassifier(encoder="linear", device="cpu", random_state=0)
    >>> learned = learn_images(classifier, folder / "train", backbone="pixels,size=8", device="cpu")
    >>> learned.per_class
    {'blue': 10, 'red': 10}
    >>> Image.new("RGB", (40, 30), "darkred").save(folder / "new.png")
    >>> predict_images(classifier, folder / "new.png", device="cpu").predictions
    array(['red'], dtype='<U4')
    """
    net = learner_of(model)
    net.check_learns()
    check_backbone(net, backbone)
    labels, left_out = list_classes(_paths(folders))
    if show is not None:
        show(0, len(labels), LOADING)
    extractor, record = extractor_for(net, backbone, resolve_device(device))
    images = ImageFolders(labels, extractor, show, left_out)
    if isinstance(model, IF2Net):
        before, model.backbone = model.backbone, record  # first, so that the model is never without it
        try:
            model.learn(images)
        except BaseException:
            model.backbone = before
            raise
    else:
        model.partial_fit(images)
        model.learner_.backbone = record
    return LearnedImages.of(images)


def predict_images(
    model: Model, paths: Paths, *, backbone: str | None = None, device: str = "auto", show: Show | None = None
) -> PredictedImages:
    """Predict the class of images with a model that has learned images.

    Parameters
    ----------
    model : IF2NetClassifier or IF2Net
        A model that has learned images.
    paths : path or sequence of paths
        Image files, or folders: all images inside a folder are predicted.
    backbone : str, optional
        The model's backbone, as in `learn_images`.
    device, show
        As for `learn_images`.

    Returns
    -------
    PredictedImages
        Paths, predictions and probabilities, and the files that could not be used.

    See Also
    --------
    learn_images : Learn folders of images; has an example of both functions.
    """
    net = learner_of(model)
    if not len(net.classes):
        raise InputError("The model has learned nothing yet; call learn_images first.")
    net = net.predicting_copy()  # one model for all blocks, even if another thread learns
    images = images_to_predict(net, _paths(paths), backbone, device, show)
    predicted: list[Path] = []
    probabilities: list[np.ndarray] = []
    for block, X in images:
        predicted += block
        probabilities.append(net.probabilities(X).cpu().numpy())
    table = np.concatenate(probabilities)
    return PredictedImages(predicted, net.classes[table.argmax(axis=1)], table, images.left_out)


def images_to_predict(
    net: IF2Net, paths: Sequence[Path], backbone: str | None = None, device: str = "auto", show: Show | None = None
) -> ImageFiles:
    """Return all images in files and folders, with their features for this model."""
    check_backbone(net, backbone)
    files, left_out = list_images(paths)
    if show is not None:
        show(0, len(files), LOADING)
    extractor, _ = extractor_for(net, backbone, resolve_device(device))
    return ImageFiles(files, extractor, show, left_out)


def _paths(paths: Paths) -> list[Path]:
    try:
        listed = [Path(path) for path in ([paths] if isinstance(paths, str | bytes | os.PathLike) else paths)]
    except TypeError as error:
        raise InputError(f"Paths must be strings or Path objects, and {paths!r:.100} is not; correct it.") from error
    if not listed:
        raise InputError("No path was given; give at least one folder or file.")
    return listed
