"""Files of innate encoders: folded weights in float16, and everything needed to make them again."""

from __future__ import annotations

import hashlib
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from if2net import modelfile
from if2net.encoder.innate.drawings import Recipe
from if2net.encoder.innate.network import Network, Plan, fold, for_inference
from if2net.encoder.innate.training import Course
from if2net.errors import ModelFileError, NumericalError, OutputError

KIND = "innate"


def write(path: str | os.PathLike[str], network: Network, recipe: Recipe, course: Course) -> str:
    """Write a trained network, folded and in float16.

    Parameters
    ----------
    path : path
        The file, such as ``small.if2``.
    network : Network
        The network that `train` has returned.
    recipe : Recipe
        The recipe of its drawings.
    course : Course
        Its training.

    Returns
    -------
    str
        The hash of the weights.

    Raises
    ------
    OutputError
        If there is a file of another kind at `path`.
    NumericalError
        If a weight is not finite in float16.
    """
    check_target(path)
    tensors = {name: values.half().cpu() for name, values in fold(network).state_dict().items()}
    if not all(bool(values.isfinite().all()) for values in tensors.values()):
        raise NumericalError("The training has diverged: a weight is not finite. Train with a smaller rate.")
    digest = _digest(tensors)
    settings = {"plan": asdict(network.plan), "recipe": asdict(recipe), "training": asdict(course)}
    modelfile.write(path, tensors, {"kind": KIND, **settings, "hash": digest})
    return digest


def check_target(path: str | os.PathLike[str]) -> None:
    """Raise an error if an innate encoder must not be written there: no folder, or a file of another kind."""
    target = Path(path)
    if not target.parent.is_dir():
        raise OutputError(f"The folder {target.parent} does not exist; create it first.")
    if target.exists():
        try:
            kind = modelfile.read(target)[1].get("kind")
        except ModelFileError:
            kind = None
        if kind != KIND:
            raise OutputError(f"{target} exists and is not an innate encoder; remove it, or choose another name.")


def read(path: str | os.PathLike[str], device: torch.device | str = "cpu") -> Network:
    """Return the network of a file, ready for `Network.features`, in float32.

    Raises
    ------
    ModelFileError
        If the file is missing, damaged or of another kind, or if its weights do not have the hash in its header.
    """
    tensors, header = modelfile.read(path)
    if header.get("kind") != KIND:
        raise ModelFileError(
            f"{path} does not hold an innate encoder; give a file that `if2net innate train` has written."
        )
    if _digest(tensors) != header.get("hash"):
        raise ModelFileError(f"The weights in {path} do not have the hash of its header. Use a backup copy.")
    try:
        plan: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in header["plan"].items()}
        network = Network(Plan(**plan), folded=True)
        network.load_state_dict(tensors)
    except (AttributeError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise ModelFileError(f"The weights in {path} do not fit its plan ({error}). Use a backup copy.") from error
    return for_inference(network.to(device))


def _digest(tensors: dict[str, Tensor]) -> str:
    """Return the SHA-256 digest of names, shapes and values."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        values = tensors[name].contiguous()
        digest.update(f"{name} {values.dtype} {tuple(values.shape)}\n".encode())
        digest.update(values.numpy().tobytes())
    return digest.hexdigest()
