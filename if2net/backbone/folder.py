"""A user's own images as samples to learn or to predict: a folder with a sub-folder for each class, or bare files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

from if2net.backbone.extraction import Features, Show, extract
from if2net.backbone.extractor import Extractor
from if2net.backbone.registry import load_extractor
from if2net.data.files import class_folders, images_under
from if2net.errors import ConfigurationError, InputError

# Images in a piece. A learner that is new takes the scale of its inputs from the first one.
PIECE = 4096


@dataclass
class ImageFolder:
    """Going over it gives (X, y) in pieces, the same ones every time; y holds the names of the sub-folders.

    What cannot be read is left out and named in `refused`.
    """

    path: Path
    extractor: Extractor
    show: Show | None = None
    refused: dict[Path, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.path.is_dir():
            raise InputError(f"The folder {self.path} does not exist; check the path.")
        classes = class_folders(self.path)
        if not classes:
            raise InputError(
                f"{self.path} has no sub-folders with images; put the images of each class into one of its own."
            )
        if again := sorted(set(classes).intersection(self.extractor.backbone.seen_classes)):
            raise ConfigurationError(
                f"{self.extractor.backbone.name} was trained on {again[0]!r}, which may not be learned again; "
                "leave this class out, or choose another backbone."
            )
        self._files = [(path, name) for name, paths in classes.items() for path in paths]

    def __len__(self) -> int:
        return len(self._files)

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for start in range(0, len(self._files), PIECE):
            piece = self._files[start : start + PIECE]
            found = extract([path for path, _ in piece], self.extractor, show=self._shown(start))
            self.refused |= found.refused
            if found.kept.any():
                yield found.X, np.array([name for _, name in piece])[found.kept]

    def _shown(self, start: int) -> Show | None:
        show = self.show
        return None if show is None else lambda done, _: show(start + done, len(self._files))


def image_features(paths: Sequence[Path], extractor: Extractor, show: Show | None = None) -> Features:
    """The features of files to predict; of a folder, all images in it."""
    files = [file for path in paths for file in (images_under(path) if path.is_dir() else [path])]
    if not files:
        raise InputError("There are no images to predict; give files, or folders with images in them.")
    return extract(files, extractor, show=show)


def same_extractor(text: str, identity: str, device: torch.device | str = "cpu") -> Extractor:
    """The extractor that a model was made with; another one's features would mean nothing to it."""
    extractor = load_extractor(text, device)
    if extractor.identity != identity:
        raise ConfigurationError(
            f"The backbone {text} is not the one that the model has learned with: its weights or its preprocessing "
            "differ. Use the version it was made with, or learn a new model."
        )
    return extractor
