"""OWM: orthogonal weights modification (Zeng et al., 2019)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from if2net.decision.projector import RecursiveProjector, healthy
from if2net.errors import NumericalError
from if2net.study.methods.layers import gradient, layers, recorded, set_gradient, with_ones
from if2net.study.methods.settings import TrainerSettings
from if2net.study.methods.trainer import Trainer

LONGEST = 10.0  # a layer's gradient is cut to this norm before it is projected


@dataclass(frozen=True)
class OWMSettings(TrainerSettings):
    """The authors' values for MNIST, unless said. Within a task α falls from `alpha` to `alpha · decay`."""

    epochs: int = 10  # theirs: 20
    batch_size: int = 40
    rate: float = 0.2  # the projector shrinks gradients: 0.01 learns too little
    input_alpha: float = 0.9
    input_decay: float = 0.001
    hidden_alpha: float = 1.0
    hidden_decay: float = 0.1
    output_alpha: float = 0.6


class OWM(Trainer):
    """Each layer's gradient is projected off the inputs that the layer has seen, so that old answers stay.

    P ← P − kkᵀ/(α + x̄ᵀk) with k = Px̄ at every step, from the first one on: x̄ is the mean input of the batch with a
    1 appended for the bias. Momentum acts on projected gradients. The head grows with the classes, where the
    original has rows for all of them from the start.
    """

    name = "owm"
    summary = "gradients are projected off the mean inputs of all earlier batches"
    Settings = OWMSettings
    replays = True

    def begin(self, X: Tensor, y: Tensor) -> None:
        self.steps = self.batches(len(X)) * self.epochs(len(X))
        self.steps_done = torch.zeros((), dtype=torch.float64, device=self.device)
        self.projectors = []
        for place, layer in enumerate(layers(self.network)):
            projector = RecursiveProjector(
                layer.in_features + 1, alpha=1.0, batch_mean=True, checked=False, device=self.device
            )
            projector.P = self.state.get(f"P.{place}", projector.P).clone()
            self.projectors.append(projector)

    def loss(self, X: Tensor, y: Tensor) -> Tensor:
        given, gave = recorded(self.network, X)
        self.layer_inputs = with_ones(given)
        return self.cross_entropy(gave[-1], y)

    @torch.no_grad()
    def before_step(self, X: Tensor, y: Tensor) -> None:
        alphas = self.alphas(progress=self.steps_done / self.steps)
        self.steps_done += 1
        for layer, projector, alpha, rows in zip(
            layers(self.network), self.projectors, alphas, self.layer_inputs, strict=True
        ):
            projector.alpha = alpha
            projector.update(rows)
            g = gradient(layer)
            set_gradient(layer, (LONGEST / g.norm()).clamp(max=1.0) * g @ projector.P.float())

    def alphas(self, progress: Tensor) -> list[float | Tensor]:
        """α of each layer; the smaller, the more is held fast."""
        settings = self.settings
        hidden = settings.hidden_alpha * settings.hidden_decay**progress
        return [
            settings.input_alpha * settings.input_decay**progress,
            *[hidden] * (settings.depth - 1),
            settings.output_alpha,
        ]

    def finish(self, X: Tensor, y: Tensor) -> None:
        for place, projector in enumerate(self.projectors):
            if not healthy(projector.P):
                raise NumericalError(
                    "OWM's projector has lost positive-definiteness: training has diverged or α is too small. "
                    "Give a smaller rate (owm.rate=0.05), or larger values of input_alpha and hidden_alpha."
                )
            self.state[f"P.{place}"] = projector.P
