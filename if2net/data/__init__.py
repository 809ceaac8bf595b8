"""Datasets, and scenarios: streams of tasks written DATASET-C/T."""

from if2net.data.datasets import DATASETS, Dataset, load_dataset
from if2net.data.files import ImageDataset
from if2net.data.image_datasets import IMAGE_DATASETS, is_image_dataset, load_images
from if2net.data.scenario import Scenario, Task, parse_scenario

__all__ = [
    "DATASETS",
    "IMAGE_DATASETS",
    "Dataset",
    "ImageDataset",
    "Scenario",
    "Task",
    "is_image_dataset",
    "load_dataset",
    "load_images",
    "parse_scenario",
]
