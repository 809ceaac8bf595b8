"""learn and predict, given images: a backbone turns them into rows, each of them once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from if2net.commands.model import Samples
    from if2net.images.folders import ImageFiles, ImageFolders
    from if2net.learner import IF2Net

COLUMNS = ("file",)
# What a backbone has found is told apart without a wide layer, in a fraction of the time and of the file.
SETTINGS = ("encoder=linear",)


def are_images(paths: Sequence[Path]) -> bool:
    """Whether these are images or folders with images, and not tables.

    Among images may be what is neither: it is named at the end, with what cannot be read.
    """
    from if2net.errors import InputError
    from if2net.images.read import SUFFIXES
    from if2net.tables.formats import FORMATS

    others = [path for path in paths if not (path.is_dir() or path.suffix.lower() in SUFFIXES)]
    if missing := [path for path in others if not path.exists()]:
        raise InputError(f"There is no file or folder {missing[0]}; check the path.")
    tables = [path for path in others if path.name.lower().endswith(tuple(FORMATS))]
    if tables and len(others) < len(paths):
        raise InputError(f"{tables[0]} is no image, but others here are; give tables or images, not both at once.")
    return len(others) < len(paths)


def learn_images(
    net: IF2Net, folders: Sequence[Path], backbone: str | None, device: str, console: Console
) -> ImageFolders:
    """They know what in them could not be used."""
    from if2net.commands.messages import refuse_held_out
    from if2net.config import resolve_device
    from if2net.images.files import passed_over
    from if2net.images.folders import ImageFolders
    from if2net.images.remembered import extractor_for
    from if2net.progress import progress

    refuse_held_out(backbone)
    extractor, remembered = extractor_for(net, backbone, resolve_device(device))
    with progress("features", console) as show:
        images = ImageFolders(folders, extractor, show)
        net.learn(images)
    net.backbone = remembered
    _name_afterwards(folders, passed_over, console)
    return images


def learn_images_on(
    address: str, net: IF2Net, folders: Sequence[Path], backbone: str | None, workers: int | None, console: Console
) -> ImageFolders:
    """On the cluster at this address; otherwise as `learn_images`."""
    from if2net import cluster
    from if2net.commands.messages import refuse_held_out
    from if2net.images.files import passed_over
    from if2net.progress import progress

    refuse_held_out(backbone)
    cluster.connect(address)
    with progress("images", console) as show:
        images = cluster.learn_images(net, folders, backbone, workers=workers, show=show)
    _name_afterwards(folders, passed_over, console)
    return images


def images_to_predict(
    net: IF2Net, paths: Sequence[Path], backbone: str | None, device: str, console: Console
) -> Samples:
    """Every image that can be used, with its place: COLUMNS. The others are named at the end."""
    from if2net.commands.messages import refuse_held_out
    from if2net.config import resolve_device
    from if2net.images import folders as folder
    from if2net.images.files import unknown_under
    from if2net.images.remembered import extractor_for
    from if2net.progress import progress

    refuse_held_out(backbone)
    extractor, _ = extractor_for(net, backbone, resolve_device(device))
    with progress("features", console) as show:
        images = folder.images_to_predict(paths, extractor, show)
        for _ in images:  # into the cache, since a bar and the predictions do not go together on a screen
            pass
    images.show = None
    _name_afterwards([path for path in paths if path.is_dir()], unknown_under, console)
    return _told(images, console)


def _name_afterwards(folders: Sequence[Path], not_used: Callable[[Path], dict[Path, str]], console: Console) -> None:
    """What lies in the folders and was not looked at is named when the command is over."""
    from if2net.commands.messages import AFTERWARDS, summarise_others

    others = {path: reason for folder in folders for path, reason in not_used(folder).items()}
    AFTERWARDS.callback(summarise_others, others, console)


def _told(images: ImageFiles, console: Console) -> Samples:
    from if2net.commands.messages import summarise

    for paths, X in images:
        yield [(path,) for path in paths], X
    summarise(images.refused, len(images), console)
