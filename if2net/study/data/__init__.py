"""Data sets and scenarios: streams of tasks, written DATASET-C/T."""

from if2net.study.data.datasets import DATASETS, Dataset, load_dataset
from if2net.study.data.image_datasets import IMAGE_DATASETS, is_image_dataset, load_images
from if2net.study.data.image_files import ImageDataset
from if2net.study.data.scenario import Scenario, Task, parse_scenario

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
