"""OWM: orthogonal weights modification (Zeng et al., 2019)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from if2net.decision.projector import RecursiveProjector, healthy
from if2net.errors import ConfigurationError, NumericalError
from if2net.study.methods.common.network import (
    Network,
    append_ones,
    gradient,
    linear_layers,
    run_layers,
    set_gradient,
)
from if2net.study.methods.common.trainer import Trainer, TrainerSettings

LARGEST_NORM = 10.0  # the gradient of a layer is clipped to this norm before it is projected


@dataclass(frozen=True)
class OWMSettings(TrainerSettings):
    """The authors' values for MNIST, with 400 nodes, not their 800. Within a task α falls to `alpha · decay`."""

    classes: int = 10  # rows of the head from the start; a stream with more classes adds them as they come
    depth: int = 2
    epochs: int = 20
    batch_size: int = 40
    rate: float = 0.2  # the projector shrinks gradients, so that 0.01 would learn too little
    input_alpha: float = 0.9
    input_decay: float = 0.001
    hidden_alpha: float = 1.0
    hidden_decay: float = 0.1
    output_alpha: float = 0.6

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scope != "seen":
            raise ConfigurationError("The loss of OWM is over all rows of the head; leave its scope at `seen`.")


class OWM(Trainer):
    """Project the gradient of each layer onto the directions that its past inputs do not use.

    The loss is plain cross-entropy over all rows of the head, including those of classes to come, as in the authors'
    code; its gradient g in each layer becomes gP (`before_step`). Every step updates P ← P − kkᵀ/(α + x̄ᵀk) with
    k = Px̄, where x̄ is the mean input of the batch with a 1 appended for the bias. Momentum acts on projected
    gradients. The network and one P per layer are kept between tasks.
    """

    name = "owm"
    summary = "gradients are projected away from the mean inputs of all earlier batches"
    Settings = OWMSettings
    graph_safe = True

    def build(self, classes: int) -> Network:
        return super().build(max(classes, self.settings.classes))

    def begin(self, X: Tensor, y: Tensor) -> None:
        self.state["seen"] = y.max() + 1
        self.steps = self.batches(len(X)) * self.epochs(len(X))
        self.steps_done = torch.zeros((), dtype=torch.float64, device=self.device)
        self.projectors = []
        for place, layer in enumerate(linear_layers(self.network)):
            projector = RecursiveProjector(
                layer.in_features + 1, alpha=1.0, batch_mean=True, checked=False, device=self.device
            )
            projector.P = self.state.get(f"P.{place}", projector.P).clone()
            self.projectors.append(projector)

    def loss(self, X: Tensor, y: Tensor) -> Tensor:
        """CE. The inputs and outputs of the layers are kept for `before_step`."""
        inputs, self.layer_outputs = run_layers(self.network, X)
        self.layer_inputs = append_ones(inputs)
        for output in self.layer_outputs:
            output.retain_grad()
        return self.cross_entropy(self.layer_outputs[-1], y)

    @torch.no_grad()
    def before_step(self, X: Tensor, y: Tensor) -> None:
        """Update P with the inputs X of this batch, then g ← gP.

        For the gradient D of the outputs, g = DᵀX, and gP = Dᵀ(XP) takes fewer operations: a batch has fewer rows
        than a layer has nodes.
        """
        alphas = self.alphas(progress=self.steps_done / self.steps)
        self.steps_done += 1
        for layer, projector, alpha, rows, outputs in zip(
            linear_layers(self.network), self.projectors, alphas, self.layer_inputs, self.layer_outputs, strict=True
        ):
            projector.alpha = alpha
            projector.update(rows)
            assert outputs.grad is not None
            projected = outputs.grad.T @ (rows.double() @ projector.P).float()
            set_gradient(layer, (LARGEST_NORM / gradient(layer).norm()).clamp(max=1.0) * projected)
        del self.layer_inputs, self.layer_outputs  # a method keeps no samples between batches

    def alphas(self, progress: Tensor) -> list[float | Tensor]:
        """α of each layer. A smaller α protects old knowledge more."""
        settings = self.settings
        hidden = settings.hidden_alpha * settings.hidden_decay**progress
        return [
            settings.input_alpha * settings.input_decay**progress,
            *[hidden] * (settings.depth - 1),
            settings.output_alpha,
        ]

    def scores(self, X: Tensor) -> Tensor:
        """The logits of the classes seen so far."""
        return super().scores(X)[:, : int(self.state["seen"])]

    def finish(self, X: Tensor, y: Tensor) -> None:
        for place, projector in enumerate(self.projectors):
            if not healthy(projector.P):
                raise NumericalError(
                    "The projector of OWM is no longer positive definite: training has diverged, or α is too small. "
                    "Set a smaller rate, or larger values of input_alpha and hidden_alpha."
                )
            self.state[f"P.{place}"] = projector.P
