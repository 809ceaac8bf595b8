"""Datasets, and scenarios: streams of tasks written DATASET-C/T."""

from if2net.data.datasets import DATASETS, Dataset, load_dataset
from if2net.data.scenario import Scenario, Task, parse_scenario

__all__ = ["DATASETS", "Dataset", "Scenario", "Task", "load_dataset", "parse_scenario"]
