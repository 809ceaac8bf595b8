"""An output layer without statistics: it predicts, and never changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from if2net.decision.layer import DecisionLayer, Report, RuleConfig, Task
from if2net.decision.statistics import MOST_SAMPLES
from if2net.errors import InputError
from if2net.tensor_specs import TensorSpec, TensorSpecs

PREDICTS_ONLY = (
    "This model only predicts: it was exported without the statistics that learning, forgetting, merging and "
    "recognising unknown samples need. "
    "Use the model that it was exported from."
)


class Fixed(DecisionLayer):
    """β and the temperature of another layer. G, by far the largest part of a wide model, is not kept."""

    learns = False

    def __init__(self, width: int, config: RuleConfig, dtype: torch.dtype, device: torch.device | str) -> None:
        super().__init__(width, config, dtype, device)
        self._beta = torch.zeros(width, 0, dtype=dtype, device=device)

    @property
    def beta(self) -> Tensor:
        return self._beta

    def learn(self, task: Task, commit: Callable[[DecisionLayer], None], report: Report | None = None) -> None:
        raise InputError(PREDICTS_ONLY)

    def free_share(self) -> float:
        raise InputError(PREDICTS_ONLY)

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        return fixed_tensors(self, self.dtype)

    @classmethod
    def tensor_specs(cls, width: int, classes: int, config: RuleConfig, dtype: torch.dtype) -> TensorSpecs:
        return {
            "beta": TensorSpec((width, classes), dtype),
            "counts": TensorSpec((classes,), torch.int64, least=0, most=MOST_SAMPLES),
            "temperature": TensorSpec((1,), torch.float64, least=torch.finfo(torch.float64).tiny),
        }

    def restore(self, tensors: dict[str, Tensor]) -> None:
        self.grow(tensors["beta"].shape[1])
        self.total.counts = tensors["counts"]
        self._beta, self._temperature = tensors["beta"], float(tensors["temperature"])


def fixed_tensors(layer: DecisionLayer, dtype: torch.dtype) -> Iterator[tuple[str, Tensor]]:
    """Yield β, the temperature and the number of samples per class of a layer, by name."""
    yield "beta", layer.beta.to(dtype)
    yield "counts", layer.total.counts.clone()  # learning changes them in place
    yield "temperature", torch.tensor([layer.temperature], dtype=torch.float64)
