"""Files of innate encoders: folded weights in float16, and everything needed to make them again."""

from __future__ import annotations

import hashlib
import os
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from if2net import modelfile
from if2net.encoder.innate.drawings import Recipe
from if2net.encoder.innate.network import Network, Plan, fold, for_inference
from if2net.encoder.innate.training import Course, diverged
from if2net.errors import ModelFileError, OutputError
from if2net.files import check_writable
from if2net.tensor_specs import TensorSpec, check

KIND = "innate"
# The hashes of the weights that are part of the package.
HASHES = {
    "small": "b88fb61ab26d10cbc0aa20e7cd8c9ac236b777acbe8a7185a5b95407f9c78ce9",
    "large": "9a630d1f9db183f29edbe9aa41f52c5a3855b426b13b61a72e14b3e6c943abb1",
}


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
    return save(path, network, {"recipe": asdict(recipe), "training": asdict(course)})


def save(path: str | os.PathLike[str], network: Network, facts: dict[str, Any]) -> str:
    """Write a network as `write` does, with other facts in the header of the file; return the hash of its weights."""
    check_target(path)
    tensors = {name: values.half().cpu() for name, values in fold(network).state_dict().items()}
    if not all(bool(values.isfinite().all()) for values in tensors.values()):
        raise diverged("a weight is not finite")
    digest = _digest(tensors)
    modelfile.write(path, tensors, {"kind": KIND, "plan": asdict(network.plan), **facts, "hash": digest})
    return digest


def check_target(path: str | os.PathLike[str]) -> None:
    """Raise an error if an innate encoder cannot be written there, or would replace a file of another kind."""
    check_writable(path)
    target = Path(path)
    if target.exists():
        try:
            kind = modelfile.read(target)[1].get("kind")
        except ModelFileError:
            kind = None
        if kind != KIND:
            raise OutputError(f"{target} exists and is not an innate encoder; remove it, or choose another name.")


@cache
def shipped(size: str, device: torch.device) -> Network:
    """Return the network of this size that is part of the package. It is read once."""
    path = Path(__file__).with_name(f"{size}.if2")
    try:
        return read(path, device, HASHES[size])
    except ModelFileError as error:
        raise ModelFileError(
            f"The file {path}, which is part of if2net, cannot be used; install if2net again."
        ) from error


def read(path: str | os.PathLike[str], device: torch.device | str = "cpu", digest: str | None = None) -> Network:
    """Return the network of a file, ready for `Network.features`, in float32.

    Parameters
    ----------
    path : path
        A file that `write` has written.
    device : torch.device or str
        Where to put it.
    digest : str, optional
        The hash that the weights must have. The default is the one in the header of the file.

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
    if _digest(tensors) != (digest or header.get("hash")):
        raise ModelFileError(f"The weights in {path} do not have the right hash. Use a backup copy.")
    try:
        plan: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in header["plan"].items()}
        with torch.device("meta"):  # takes no memory before the tensors are known to fit
            network = Network(Plan(**plan), folded=True)
        check(
            tensors, {name: TensorSpec(tuple(one.shape), torch.float16) for name, one in network.state_dict().items()}
        )
        network.load_state_dict({name: values.float() for name, values in tensors.items()}, assign=True)
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
