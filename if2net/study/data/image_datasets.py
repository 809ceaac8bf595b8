"""The image data sets by name: where each is looked for, its publisher, and its licence."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from if2net.errors import ConfigurationError, IF2NetError, InputError, unknown
from if2net.images.backbones import registry
from if2net.study.data import hub, layouts
from if2net.study.data.datasets import DATASETS, data_folder, named_folders
from if2net.study.data.image_files import ImageDataset
from if2net.study.data.unpacked import cifar_binary, unpacked

FOLDER = "folder:"
HUB = "hub:"


@dataclass(frozen=True)
class ImageSource:
    """The description of an image data set, known before it is loaded."""

    summary: str
    licence: str
    page: str  # of the publisher
    layout: str  # the content of its folder, in words
    read: tuple[layouts.Layout, ...]
    hub_name: str | None = None
    of_imagenet: bool = False  # a backbone trained on ImageNet has seen these classes
    backbone: str = registry.DEFAULT  # unless the user names another one


def is_image_dataset(name: str) -> bool:
    """Return whether a data set of this name holds images rather than rows of numbers."""
    return name in IMAGE_DATASETS or name.startswith((FOLDER, HUB))


def default_backbone(name: str) -> str:
    """Return the backbone of an image data set: the innate network for small pictures, else that of new models."""
    return IMAGE_DATASETS[name].backbone if name in IMAGE_DATASETS else registry.DEFAULT


def has_pictures(name: str) -> bool:
    """Return whether a backbone can see the samples of a data set: images, or rows of pixels such as mnist."""
    return is_image_dataset(name) or (name in DATASETS and DATASETS[name].image_shape is not None)


def load_images(name: str, folder: str | os.PathLike[str] | None = None) -> ImageDataset:
    """Load an image data set by name from `folder` or IF2NET_DATA, from a user's own folder, or from the hub."""
    if name.startswith(FOLDER):
        return layouts.any_folder(Path(name.removeprefix(FOLDER)).expanduser())
    if name.startswith(HUB):
        return hub.download(name, name.removeprefix(HUB))
    if name not in IMAGE_DATASETS and has_pictures(name):
        return unpacked(name, None if folder is None else Path(folder))
    if name not in IMAGE_DATASETS:
        raise unknown("image data set", name, IMAGE_DATASETS)
    source = IMAGE_DATASETS[name]
    for candidate in named_folders(name, data_folder(folder)):
        if candidate.is_dir() and (images := _read(name, source, candidate)) is not None:
            return images
    if source.hub_name is not None and hub.is_installed():
        return hub.download(name, source.hub_name)
    raise ConfigurationError(_how_to_get(name, source))


def _read(name: str, source: ImageSource, folder: Path) -> ImageDataset | None:
    try:
        return next((images for read in source.read if (images := read(name, folder)) is not None), None)
    except IF2NetError:
        raise
    except (ValueError, LookupError) as error:  # a line with too few words, an unknown number, another encoding
        raise InputError(f"A list in {folder} is damaged ({error}); unpack {name} again.") from error


def _how_to_get(name: str, source: ImageSource) -> str:
    by_name = f" Or `pip install 'if2net[hub]'` to download {source.hub_name}." if source.hub_name else ""
    return (
        f"The images of {name} were not found. Get them from {source.page}, put {source.layout} into a folder "
        f"DIR/{name}, and give DIR as the data folder or set IF2NET_DATA=DIR.{by_name} Licence: {source.licence}."
    )


SMALL_PICTURES = "innate"  # the backbone for pictures of at most 64×64 pixels
PAIR = "train/CLASS/* and test/CLASS/*"
CIFAR_LICENCE = "none stated; the authors ask to cite Krizhevsky 2009"
IMAGENET_LICENCE = "ImageNet's terms: non-commercial research and teaching"
RESEARCH = "for non-commercial research and teaching; the images belong to their photographers"

IMAGE_DATASETS: dict[str, ImageSource] = {
    "cifar100": ImageSource(
        "60,000 images of 32×32 pixels, 100 classes; the official split",
        CIFAR_LICENCE,
        "https://www.cs.toronto.edu/~kriz/cifar.html",
        f"cifar-100-binary (the binary version, unpacked), or {PAIR},",
        (layouts.train_and_test, cifar_binary),
        "uoft-cs/cifar100",
        backbone=SMALL_PICTURES,
    ),
    "cifar10": ImageSource(
        "60,000 images of 32×32 pixels, 10 classes; the official split",
        CIFAR_LICENCE,
        "https://www.cs.toronto.edu/~kriz/cifar.html",
        PAIR,
        (layouts.train_and_test,),
        "uoft-cs/cifar10",
        backbone=SMALL_PICTURES,
    ),
    "cub200": ImageSource(
        "11,788 photographs of birds, 200 classes (CUB-200-2011); the official split",
        RESEARCH,
        "https://www.vision.caltech.edu/datasets/cub_200_2011/",
        f"CUB_200_2011 with its lists, or {PAIR},",
        (layouts.caltech_birds, layouts.train_and_test),
        "bentrevett/caltech-ucsd-birds-200-2011",
    ),
    "stanford-dogs": ImageSource(
        "20,580 photographs of dogs, 120 classes; our own fixed split, 100 training images per class",
        RESEARCH,
        "http://vision.stanford.edu/aditya86/ImageNetDogs/",
        "Images/CLASS/*",
        (layouts.unsplit(100, "Images", "images/Images"),),
        of_imagenet=True,
    ),
    "tiny-imagenet": ImageSource(
        "110,000 images of 64×64 pixels, 200 classes (Tiny-ImageNet-200, not ImageNet-Subset); tested on val",
        IMAGENET_LICENCE,
        "http://cs231n.stanford.edu/tiny-imagenet-200.zip",
        "tiny-imagenet-200",
        (layouts.tiny_imagenet, layouts.train_and_test),
        "zh-plus/tiny-imagenet",
        of_imagenet=True,
        backbone=SMALL_PICTURES,
    ),
    "caltech101": ImageSource(
        "8,677 photographs, 101 classes without the background; our own fixed split, 30 training images per class",
        "CC BY 4.0",
        "https://data.caltech.edu/records/mzrjq-6wc02",
        "101_ObjectCategories/CLASS/*",
        (layouts.unsplit(30, "101_ObjectCategories", without=("BACKGROUND_Google",)),),
    ),
    "imagenet100": ImageSource(
        "100 classes of your own copy of ImageNet, listed in classes.txt; tested on val",
        IMAGENET_LICENCE,
        "https://image-net.org/download.php",
        "ImageNet's train/CLASS/* and val/CLASS/* and a list classes.txt, one class per line,",
        (layouts.listed_classes,),
        of_imagenet=True,
    ),
}
