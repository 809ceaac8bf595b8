"""The paper's own rules: β ← β − ηP∇, and the same with the EWC penalty (IF2Net-EWC).

P is positive definite, so with enough steps these rules reach the optimum of the new task alone and forget. The step
and the number of epochs set how much. Prefer the analytic rule; these rules reproduce the paper.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.nn.functional import pad

from if2net.decision.layer import DecisionLayer, Report, RuleConfig, Task
from if2net.decision.projector import RecursiveProjector, free_share, projector
from if2net.decision.statistics import one_hot
from if2net.errors import ConfigurationError
from if2net.tensor_specs import TensorSpec, TensorSpecs

PROJECTORS = ("exact", "recursive", "batch-mean")
INITIALISATIONS = ("analytic", "random")


def closed_form(V: Tensor, Y: Tensor, mu: float) -> Tensor:
    """Return β₁* of Remark 1: (VᵀV + μI)⁻¹VᵀY where N ≥ S, and Vᵀ(VVᵀ + μI)⁻¹Y where N < S."""
    V64, Y64 = V.double(), Y.double()
    tall = len(V) >= V.shape[1]
    system = V64.T @ V64 if tall else V64 @ V64.T
    right = V64.T @ Y64 if tall else Y64
    rounding = torch.finfo(system.dtype).eps * float(system.diagonal().sum())
    system.diagonal().add_(mu)
    lower, failed = torch.linalg.cholesky_ex(system)
    if failed.item() or mu < 1e3 * rounding:
        # μ = 2⁻³⁰ is below the rounding of VᵀV, but seldom below that of V: solve by its singular values.
        samples, values, features = torch.linalg.svd(V64, full_matrices=False)
        values = torch.where(values > values[0] * max(V.shape) * torch.finfo(values.dtype).eps, values, 0.0)
        beta = features.T @ ((values / (values.square() + mu)).unsqueeze(1) * (samples.T @ Y64))
    else:
        solved = torch.cholesky_solve(right, lower)
        beta = solved if tall else V64.T @ solved
    return beta.to(V.dtype)


class Gradient(DecisionLayer):
    """The paper's rule. It needs the whole task at once and makes `epochs` passes over it."""

    def __init__(self, width: int, config: RuleConfig, dtype: torch.dtype, device: torch.device | str) -> None:
        if not 0 < config.step < 2:
            raise ConfigurationError(f"The step is a share of 1/λmax and must be between 0 and 2, not {config.step}.")
        # α = 0.1 is far below the rounding of a float32 G, and P amplifies that rounding: some float32 runs diverge.
        # So these rules compute in float64, whatever the precision of the encoder.
        super().__init__(width, config, torch.float64, device)
        self._beta = torch.zeros(width, 0, dtype=torch.float64, device=device)
        self.tasks = 0
        self.recursion: RecursiveProjector | None = None
        if config.projector != "exact":
            self.recursion = RecursiveProjector(
                width, config.alpha, batch_mean=config.projector == "batch-mean", device=device
            )

    @property
    def beta(self) -> Tensor:
        if self.class_weight is None:
            return self._beta
        # For a ridge solution β = (G + αI)⁻¹Q, this is the one of the reweighted statistics; β is close to one.
        counts = self.total.counts.double()
        sizes = self._weights() * counts
        sizes = sizes * (counts.sum() / sizes.sum())
        share = (sizes - counts)[:, None] * ((self.total.Q / counts).T @ self._beta / counts)
        share.diagonal().add_(1)
        return self._beta / counts @ torch.linalg.solve(share, sizes.diag())

    def grow(self, classes: int) -> None:
        super().grow(classes)
        self._beta = pad(self._beta, (0, classes - self._beta.shape[1]))

    def learn(self, task: Task, commit: Callable[[DecisionLayer], None], report: Report | None = None) -> None:
        """Learn one task in a copy of this layer."""
        V, y, held = (torch.cat(parts) for parts in zip(*(block[:3] for block in task.blocks()), strict=True))
        task.check()
        learned = copy.deepcopy(self)
        learned.grow(task.classes)
        learned.learn_task(V, y, held, report)
        commit(learned)

    def learn_task(self, V: Tensor, y: Tensor, held: Tensor, report: Report | None = None) -> None:
        """Learn one task in place, then add its representations to those that must not be disturbed."""
        generator = torch.Generator().manual_seed(self.config.seed * 1_000_003 + self.tasks)
        V = V.double()
        Y = one_hot(y, self.classes, V.dtype)
        if self.tasks == 0:
            self._beta = self._initial(V, Y, generator)
        self._descend(V, Y, generator, report)
        self._finish_task(V, Y, generator)
        self.add(V, y, held)
        self.tasks += 1

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        yield from super().tensors()
        yield "beta", self._beta
        yield "tasks", torch.tensor([self.tasks])
        if self.recursion is not None:
            yield "P", self.recursion.P

    @classmethod
    def tensor_specs(cls, width: int, classes: int, config: RuleConfig, dtype: torch.dtype) -> TensorSpecs:
        specs = super().tensor_specs(width, classes, config, torch.float64)
        specs |= {
            "beta": TensorSpec((width, classes), torch.float64),
            "tasks": TensorSpec((1,), torch.int64, least=0, most=2**40),
        }
        return specs if config.projector == "exact" else specs | {"P": TensorSpec((width, width), torch.float64)}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        super().restore(tensors)
        self._beta = tensors["beta"]
        self.tasks = int(tensors["tasks"])
        if self.recursion is not None:
            self.recursion.P = tensors["P"]

    def free_share(self) -> float:
        return free_share(self._projector())

    def _projector(self) -> Tensor:
        return projector(self.total.G, self.config.alpha) if self.recursion is None else self.recursion.P

    def _initial(self, V: Tensor, Y: Tensor, generator: torch.Generator) -> Tensor:
        if self.config.initialisation == "random":
            drawn = torch.randn(self._beta.shape, generator=generator, dtype=torch.float64)
            return (drawn / self.width**0.5).to(self._beta)
        few = torch.randperm(len(V), generator=generator)[: self.config.initial_samples].to(V.device)
        return closed_form(V[few], Y[few], self.config.mu)

    def _descend(self, V: Tensor, Y: Tensor, generator: torch.Generator, report: Report | None) -> None:
        P = self._projector()
        VP = V @ P  # P is fixed during a task, so P∇ = (VP)ᵀ(Vβ − Y)/B needs no product with P in each step
        free = free_share(P)
        anchor = self._beta.clone()
        step = self.config.step / self._curvature(V, VP, generator)
        for epoch in range(self.config.epochs):
            loss = torch.zeros((), dtype=torch.float64, device=V.device)  # read once per epoch, since reading waits
            for batch in self._mini_batches(len(V), generator):
                residual = V[batch] @ self._beta - Y[batch]
                moved = self._beta - step / len(batch) * (VP[batch].T @ residual)  # the paper's (OBP)
                self._beta = anchor + self._hold(moved - anchor, step * P.diagonal())
                loss += residual.square().sum()
            if report is not None:
                report({"task": self.tasks, "epoch": epoch, "loss": float(loss) / len(V), "free": free})

    def _mini_batches(self, samples: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        order = torch.randperm(samples, generator=generator).to(self.total.G.device)
        return order.split(self.config.batch_size)

    def _curvature(self, V: Tensor, VP: Tensor, generator: torch.Generator) -> float:
        """Return the largest λmax of P·VᵀV/B over the mini-batches of one epoch.

        The small matrix VPVᵀ/B has the same eigenvalues. All mini-batches count: a single distant sample is enough
        to make a larger step diverge.
        """
        largest = 1e-12
        for batch in self._mini_batches(len(V), generator):
            small = VP[batch] @ V[batch].T / len(batch)
            largest = max(largest, float(torch.linalg.eigvalsh((small + small.T) / 2)[-1]))
        return largest

    def _hold(self, moved: Tensor, steps: Tensor) -> Tensor:
        """Return the part of a movement away from the old β that the penalty allows, given each row's ηP."""
        return moved

    def _finish_task(self, V: Tensor, Y: Tensor, generator: torch.Generator) -> None:
        if self.recursion is not None:
            for batch in self._mini_batches(len(V), generator):
                self.recursion.update(V[batch])


class ElasticGradient(Gradient):
    """IF2Net-EWC: the penalty μ·ΣF_t⊙(β − β_{T−1})², one term anchored at the latest β (Remark 2).

    An explicit step along the penalty diverges once ημF > 2, and a step small enough for the largest F learns
    nothing. So the penalty's step is implicit, with the projector's diagonal in place of P: the projected step is
    divided by 1 + ημ·diag(P)·F.
    """

    def __init__(self, width: int, config: RuleConfig, dtype: torch.dtype, device: torch.device | str) -> None:
        super().__init__(width, config, dtype, device)
        self.fisher = self._beta.clone()

    def grow(self, classes: int) -> None:
        super().grow(classes)
        self.fisher = pad(self.fisher, (0, classes - self.fisher.shape[1]))

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        yield from super().tensors()
        yield "fisher", self.fisher

    @classmethod
    def tensor_specs(cls, width: int, classes: int, config: RuleConfig, dtype: torch.dtype) -> TensorSpecs:
        fisher = TensorSpec((width, classes), torch.float64, least=0.0)
        return super().tensor_specs(width, classes, config, dtype) | {"fisher": fisher}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        super().restore(tensors)
        self.fisher = tensors["fisher"]

    def _hold(self, moved: Tensor, steps: Tensor) -> Tensor:
        return moved / (1 + steps.unsqueeze(1) * self.config.fisher * self.fisher)

    def _finish_task(self, V: Tensor, Y: Tensor, generator: torch.Generator) -> None:
        super()._finish_task(V, Y, generator)
        # The diagonal Fisher information of a Gaussian likelihood: E[(v ⊗ (vβ − y))²], entry by entry.
        residual = V @ self._beta - Y
        self.fisher = self.fisher + V.square().T @ residual.square() / len(V)
