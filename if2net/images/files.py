"""Which images lie in a folder: by class, and what was passed over."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from if2net.images.read import SUFFIXES

# Names of folders that hold test images rather than a class.
TESTING = ("test", "val", "valid", "validation")
# Endings of what often lies among images and is none; nobody misses it.
NO_IMAGES = (".txt", ".md", ".json", ".xml", ".csv", ".ini", ".db")


def class_folders(folder: Path) -> dict[str, list[Path]]:
    """The images under every sub-folder, by the sub-folder's name; sorted, so that every machine sees one order."""
    return {part.name: images for part in _sub_folders(folder) if (images := images_under(part))}


def without_images(folder: Path) -> list[Path]:
    """The sub-folders that hold files, none of which is an image of a known kind."""
    parts = [part for part in _sub_folders(folder) if not images_under(part)]
    return [part for part in parts if any(_files_under(part))]


def passed_over(folder: Path) -> dict[Path, str]:
    """Files that no class takes in, and why: images beside the classes' folders, and unknown kinds inside them."""
    beside = [path for path in sorted(folder.iterdir()) if path.is_file() and _is_image(path)]
    found = {path: f"{path} lies in no class's folder; put it into one." for path in beside}
    for part in _sub_folders(folder):
        if images_under(part):
            found |= unknown_under(part)
    return found


def unknown_under(folder: Path) -> dict[Path, str]:
    """Files that may be images, but of no kind that can be read; and a sentence on each."""
    unknown = [path for path in _files_under(folder) if path.suffix.lower() not in (*SUFFIXES, *NO_IMAGES)]
    return {
        path: f"{path} has no ending of an image that can be read; rename or convert it." for path in sorted(unknown)
    }


def _sub_folders(folder: Path) -> list[Path]:
    return [child for child in sorted(folder.iterdir()) if child.is_dir() and not child.name.startswith(".")]


def images_under(folder: Path) -> list[Path]:
    """All images in a folder and the folders inside it, also where these are links; without what is hidden."""
    return sorted(path for path in _files_under(folder) if _is_image(path))


def _is_image(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES and not path.name.startswith(".")


def _files_under(folder: Path) -> Iterator[Path]:
    start = folder.resolve()
    followed: set[Path] = set()

    def leads_on(path: Path) -> bool:
        """A link is followed once, and never to where one comes from: that would have no end."""
        if not path.is_symlink():
            return True
        target = path.resolve()
        known = target in followed or start.is_relative_to(target)
        followed.add(target)
        return not known

    for place, folders, files in os.walk(folder, followlinks=True):
        folders[:] = [name for name in sorted(folders) if name[0] != "." and leads_on(Path(place, name))]
        yield from (Path(place, name) for name in files if name[0] != ".")
