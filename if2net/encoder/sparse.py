"""The L1 tweak of Algorithm 1: W̃_j = argmin (1/2N)‖D_j W̃_j − [V 1]‖² + λ‖W̃_j‖₁, for every block j.

Only Z = DᵀD/N (s×s per block) and q = Dᵀ[V 1]/N are needed. They are summed over batches, so N is not limited by
memory. All blocks are then solved as one batched problem, in float64. Two solvers stop at the same optimality (KKT)
residual: "fista", the default, and "projection", the paper's discrete-time projection network.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice

import torch
from torch import Tensor

from if2net.encoder.blocks import Blocks
from if2net.errors import ConfigurationError, NumericalError

POLISHING_ROUNDS = 20
# The largest violation of the optimality conditions in a solution, and the iterations after which it is given up.
TOLERANCE, MOST_ITERATIONS = 1e-5, 20_000


class TweakStatistics:
    """Z and q of each block of a layer, summed over batches."""

    def __init__(self, blocks: Blocks, inputs: int, device: torch.device | str = "cpu") -> None:
        self.blocks = blocks
        n, s = blocks.groups, blocks.nodes
        self.samples = 0
        self._gram = torch.zeros(n, s, s, dtype=torch.float64, device=device)
        self._cross = torch.zeros(n, s, inputs, dtype=torch.float64, device=device)

    def add(self, drifted: Tensor, target: Tensor) -> None:
        """Count a batch: the drifted response D and the layer's input with ones, [V 1]."""
        n, s = self.blocks.groups, self.blocks.nodes
        by_block = drifted.double().reshape(len(drifted), n, s).permute(1, 2, 0)
        self._gram += by_block @ by_block.transpose(1, 2)
        self._cross += (drifted.double().T @ target.double()).reshape(n, s, -1)
        self.samples += len(drifted)

    @property
    def Z(self) -> Tensor:
        return self._gram / max(self.samples, 1)

    @property
    def q(self) -> Tensor:
        return self._cross / max(self.samples, 1)


def soft_threshold(x: Tensor, threshold: Tensor) -> Tensor:
    return torch.sign(x) * torch.clamp(x.abs() - threshold, min=0)


def kkt_residual(Z: Tensor, q: Tensor, x: Tensor, strength: float) -> Tensor:
    """Return the largest violation of the optimality conditions by each column of x, blocks × columns.

    Zx − q + λ·sign(x) = 0 where x ≠ 0, and |Zx − q| ≤ λ where x = 0.
    """
    gradient = Z @ x - q
    off_support = torch.clamp(gradient.abs() - strength, min=0)
    on_support = (gradient + strength * torch.sign(x)).abs()
    return torch.where(x == 0, off_support, on_support).amax(dim=1)


def fista(Z: Tensor, q: Tensor, strength: float) -> Iterator[tuple[Tensor, Tensor]]:
    """Fast iterative shrinkage-thresholding, restarted whenever its momentum points uphill."""
    lipschitz = _lipschitz(Z)
    x = torch.zeros_like(q)
    ahead, momentum = x, 1.0
    while True:
        new = soft_threshold(ahead - (Z @ ahead - q) / lipschitz, strength / lipschitz)
        if bool(((ahead - new) * (new - x)).sum() > 0):
            momentum = 1.0
        following = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
        ahead = new + (momentum - 1) / following * (new - x)
        x, momentum = new, following
        yield x, torch.sign(x)


def projection_network(Z: Tensor, q: Tensor, strength: float) -> Iterator[tuple[Tensor, Tensor]]:
    """The paper's iteration: x ← x − γ(Zx − q + λ·g(y + cx)), y ← g(y + cx), g the projection onto [−1, 1].

    The paper misplaces a bracket and has c = 1. The solutions of y = g(y + cx) are the same for each c > 0, and
    c = λmax(Z)/λ makes the two steps equally fast. γ = 0.4 is only safe where the largest eigenvalue of Z is 1, so
    it is divided by the Lipschitz constant of the whole step, λmax(Z) + λc.
    """
    lipschitz = _lipschitz(Z)
    gain = lipschitz / strength
    step = 0.4 / (2 * lipschitz)
    x, y = torch.zeros_like(q), torch.zeros_like(q)
    while True:
        x = x - step * (Z @ x - q + strength * torch.clamp(y + gain * x, -1, 1))
        y = torch.clamp(y + gain * x, -1, 1)
        # Where the subgradient is inside (−1, 1), x is zero; the iterate is only nearly zero.
        signs = torch.where(y.abs() < 1, torch.zeros_like(y), y)
        yield x * signs.abs(), signs


SOLVERS = {"fista": fista, "projection": projection_network}


def solve(Z: Tensor, q: Tensor, strength: float, solver: str = "fista") -> Tensor:
    """Return the minimiser of ½xᵀZx − qᵀx + λ‖x‖₁ for each block and column.

    The iteration only needs to find the zero entries and the signs of the others: given these, the optimum solves a
    linear system (`_polish`). A column is finished as soon as either candidate meets the conditions.
    """
    if strength <= 0:
        raise ConfigurationError(f"The strength λ of the tweak must be positive, not {strength}.")
    best = torch.zeros_like(q)
    residual = kkt_residual(Z, q, best, strength)
    for iteration, (x, signs) in enumerate(islice(SOLVERS[solver](Z, q, strength), MOST_ITERATIONS), 1):
        if iteration % 50 == 0:
            open_columns = (residual > TOLERANCE).nonzero(as_tuple=True)
            for candidate in (x, _polish(Z, q, x, signs, strength, open_columns)):
                new_residual = kkt_residual(Z, q, candidate, strength)
                better = new_residual < residual
                best = torch.where(better.unsqueeze(1), candidate, best)
                residual = torch.where(better, new_residual, residual)
        if bool((residual <= TOLERANCE).all()):
            return best
    raise NumericalError(
        f"The sparse tweak is still {float(residual.max()):.1e} away from its optimum after {MOST_ITERATIONS} "
        "iterations; use a larger strength (λ) or smaller blocks."
    )


def tweak(statistics: TweakStatistics, strength: float, solver: str = "fista") -> Tensor:
    """Return the tweaked weights W̃ᵀ of a layer, (inputs + 1) × width, for [V 1] W̃ᵀ.

    The paper omits the transpose; the shapes require it, and they put the bias b̃ in the last row.
    """
    solution = solve(statistics.Z, statistics.q, strength, solver)
    return solution.reshape(statistics.blocks.width, -1).T.contiguous()


def _polish(Z: Tensor, q: Tensor, x: Tensor, signs: Tensor, strength: float, columns: tuple[Tensor, ...]) -> Tensor:
    """Solve Z_AA x_A = q_A − λ·sign_A exactly for the given columns, where A is the set of non-zero signs.

    A guess that is wrong in a few entries is corrected: an entry whose sign changes leaves A, and one that violates
    its condition enters it.
    """
    block, column = columns
    gram, target, chosen = Z[block], q[block, :, column], signs[block, :, column]
    jitter = 1e-14 * gram.diagonal(dim1=1, dim2=2).amax(dim=1, keepdim=True)
    for _ in range(POLISHING_ROUNDS):
        active = chosen.abs()
        # Inactive rows and columns become those of the identity, so that all systems have one shape.
        system = gram * active.unsqueeze(1) * active.unsqueeze(2)
        system.diagonal(dim1=1, dim2=2).add_((1 - active) + jitter)
        right = (active * (target - strength * chosen)).unsqueeze(2)
        solution = torch.nan_to_num(torch.linalg.solve_ex(system, right)[0]).squeeze(2) * active
        gradient = (gram @ solution.unsqueeze(2)).squeeze(2) - target
        entering = torch.where((active == 0) & (gradient.abs() > strength), -torch.sign(gradient), 0.0)
        staying = torch.where(torch.sign(solution) == chosen, chosen, 0.0)
        if torch.equal(staying + entering, chosen):
            break
        chosen = staying + entering
    polished = x.clone()
    polished[block, :, column] = solution
    return polished


def _lipschitz(Z: Tensor) -> Tensor:
    """Return λmax of each block; at least a tiny number, so that a block that never responds stays at zero."""
    return torch.linalg.eigvalsh(Z)[:, -1].clamp(min=1e-12).view(-1, 1, 1)
