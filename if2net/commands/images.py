"""learn and predict, given images: the functions of `if2net.images.learning` with progress and messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from if2net.commands.answer import printable
from if2net.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from if2net.commands.options import Samples
    from if2net.images.folders import ImageFiles
    from if2net.images.learning import LearnedImages
    from if2net.learner import IF2Net

COLUMNS = ("file",)
# The most files that are named on a screen. In a log, all are named.
NAMED = 20


def are_images(paths: Sequence[Path]) -> bool:
    """Return whether these are images or folders of images rather than tables.

    Other files among images are allowed here; they are named at the end, with the images that cannot be read.
    """
    from if2net.images.read import SUFFIXES
    from if2net.tables import FORMATS

    others = [path for path in paths if not (path.is_dir() or path.suffix.lower() in SUFFIXES)]
    if missing := [path for path in others if not path.exists()]:
        raise InputError(f"There is no file or folder {missing[0]}; check the path.")
    tables = [path for path in others if path.name.lower().endswith(tuple(FORMATS))]
    if tables and len(others) < len(paths):
        raise InputError(f"{tables[0]} is a table, but others here are images; give either tables or images.")
    return len(others) < len(paths)


def learn_images(
    net: IF2Net, folders: Sequence[Path], backbone: str | None, device: str, console: Console
) -> LearnedImages:
    """Learn folders of images on this machine."""
    from if2net.images import learning
    from if2net.progress import progress

    with progress("features", console) as show:
        return learning.learn_images(net, folders, backbone=backbone, device=device, show=show)


def learn_images_on(
    address: str, net: IF2Net, folders: Sequence[Path], backbone: str | None, workers: int | None, console: Console
) -> LearnedImages:
    """Learn folders of images on the cluster at this address."""
    from if2net import cluster
    from if2net.progress import progress

    console.print(f"Connecting to Ray ({address}).", highlight=False)
    cluster.connect(address)
    with progress("images", console) as show:
        return cluster.learn_images(net, folders, backbone, workers=workers, show=show)


def images_to_predict(
    net: IF2Net, paths: Sequence[Path], backbone: str | None, device: str, console: Console
) -> Samples:
    """Return all images that can be used, with their COLUMNS. The others are named after the last one."""
    from if2net.images import learning
    from if2net.progress import progress

    with progress("features", console) as show:
        images = learning.images_to_predict(net, paths, backbone, device, show)
        for _ in images:  # fills the cache first, because a progress bar would mix with the predictions on a screen
            pass
    return _samples(images, console)


def _samples(images: ImageFiles, console: Console) -> Samples:
    for paths, X in images:
        yield [(path,) for path in paths], X
    print_left_out(images.left_out, console)


def print_left_out(left_out: Mapping[Path, str], console: Console) -> None:
    """Name the files and folders that could not be used, with the reasons."""
    if not left_out:
        return
    console.print(f"Left out ({len(left_out):,}):", style="yellow", highlight=False)
    shown = NAMED if console.is_terminal else len(left_out)
    for reason in list(left_out.values())[:shown]:
        console.print(f"  {printable(reason)}", soft_wrap=True, highlight=False, markup=False)
    if len(left_out) > shown:
        redirection = "2> FILE" if console.stderr else "> FILE"
        console.print(f"  and {len(left_out) - shown:,} more; {redirection} writes all of them", highlight=False)
