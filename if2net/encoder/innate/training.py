"""Train the innate encoder: from a seed to weights, with drawings only."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from if2net.encoder.innate.compiling import repeatable
from if2net.encoder.innate.drawings import Drawings
from if2net.encoder.innate.network import Network, Plan
from if2net.errors import ConfigurationError, NumericalError, unknown

if TYPE_CHECKING:
    from if2net.progress import Show


@dataclass(frozen=True)
class Course:
    """The length and the rates of the training."""

    seed: int = 0  # of the drawings and of the first weights
    classes: int = 50_000  # of drawings to tell apart
    steps: int = 27_000
    batch: int = 512  # drawings per step
    size: int = 32  # height and width of a drawing in pixels
    rate: float = 0.2  # the largest; it rises over the first 15 % of the steps and falls to zero along a cosine
    momentum: float = 0.9  # Nesterov's
    decay: float = 1e-4  # of the weights
    average: float = 0.999  # share of the old weights kept in the running average per step; the average is the result
    teacher: str | None = None  # size of the trained network whose maps this one learns to predict beside the classes
    imitation: float = 10.0  # weight of the error of these predictions beside the loss of the classes

    def __post_init__(self) -> None:
        if min(self.classes, self.steps, self.batch, self.size) < 1:
            raise ConfigurationError("Classes, steps, batch and size must be 1 or more.")

    def rate_at(self, step: int) -> float:
        """Return the learning rate of a step."""
        rise = 0.15 * self.steps
        if step < rise:
            return self.rate * (0.04 + 0.96 * step / rise)
        return self.rate * 0.5 * (1 + math.cos(math.pi * (step - rise) / (self.steps - rise)))


# Side of the grid on which the maps of a teacher are predicted.
CELLS = 4
# Batches of drawings that give each feature its mean and spread.
CALIBRATION = 8

# Name → network and training. The small one is made for two CPU cores. It imitates the large one, which was better on
# held-back pictures after the same number of steps (results/innate_small.py).
SIZES = {
    "small": (Plan((32, 80, 160, 320), (0, 1, 1, 1)), Course(classes=20_000, steps=60_000, teacher="large")),
    "large": (Plan((128, 256, 512, 512), (1, 2, 1, 1)), Course()),
}


def plan_and_course(
    size: str, seed: int = 0, steps: int | None = None, batch: int | None = None
) -> tuple[Plan, Course]:
    """Return the network and the training of a size, with another seed, number of steps or batch where given."""
    if size not in SIZES:
        raise unknown("size", size, SIZES)
    plan, course = SIZES[size]
    return plan, replace(course, seed=seed, steps=steps or course.steps, batch=batch or course.batch)


def train(
    plan: Plan,
    course: Course,
    drawings: Drawings,
    device: torch.device,
    show: Show | None = None,
    teacher: Network | None = None,
) -> Network:
    """Train a network to tell classes of drawings apart, and to predict the maps of a teacher if there is one.

    The same arguments on the same machine give the same bits; on a CPU, with the same number of threads.

    Parameters
    ----------
    plan, course, drawings : Plan, Course, Drawings
        The network, the length and rates of its training, and the pictures.
    device : torch.device
        On a GPU, an update is recorded once and replayed, and computes in bfloat16.
    show : Show, optional
        Called with the number of steps done and the loss: after every step on a CPU, after every 100 on a GPU.
    teacher : Network, optional
        A trained network with as many stages, on `device`. It is not changed.

    Returns
    -------
    Network
        On `device`, in evaluation mode, with averaged weights.

    Raises
    ------
    NumericalError
        If the training diverges.
    """
    on_gpu = device.type == "cuda"
    with (
        torch.random.fork_rng(devices=[]),
        torch.backends.cudnn.flags(enabled=True, deterministic=True, benchmark=False),
    ):
        torch.manual_seed(course.seed)
        # On the CPU first: the same first weights on every device.
        model = _Classifier(plan, course, teacher.plan if teacher else None)
        model.train().to(device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        trainer = _Trainer(model, course, drawings, device, teacher)
        update = trainer.recorded() if on_gpu else trainer.update
        for done in range(1, course.steps + 1):
            trainer.rate.fill_(course.rate_at(done - 1))
            update()
            if not on_gpu or done % 100 == 0 or done == course.steps:
                loss = float(trainer.loss)
                if not math.isfinite(loss):
                    raise diverged(f"the loss is {loss} after {done:,} steps")
                if show:
                    show(done, course.steps, f"loss {loss:.3f}")
        with torch.no_grad():
            torch._foreach_copy_(trainer.state, trainer.average)
        network = model.network.eval()
        unseen = (trainer.drawn(batch)[0] for batch in range(course.steps, course.steps + CALIBRATION))
        network.calibrate(torch.cat([network.features(pictures) for pictures in unseen]))
    return network


def diverged(why: str) -> NumericalError:
    """Return the error for a training without a usable result."""
    return NumericalError(
        f"The training has diverged: {why}. "
        "Train with another seed or a larger batch, or from Python with a smaller rate."
    )


class _Classifier(nn.Module):
    """The network with a cosine softmax over the classes of drawings and, with a teacher, predictions of its maps.

    Only the network is kept in the end.
    """

    def __init__(self, plan: Plan, course: Course, teacher: Plan | None = None) -> None:
        super().__init__()
        self.network = Network(plan)
        self.prototypes = nn.Parameter(F.normalize(torch.randn(course.classes, plan.widths[-1]), dim=1))
        self.scale = nn.Parameter(torch.tensor(20.0))
        self.imitation = course.imitation
        pairs = zip(plan.widths, teacher.widths, strict=True) if teacher else ()
        self.predictions = nn.ModuleList(nn.Conv2d(own, taught, 1) for own, taught in pairs)

    def forward(self, pictures: Tensor, classes: Tensor, taught: list[Tensor]) -> Tensor:
        maps = self.network(pictures)
        features = F.normalize(maps[-1].mean((2, 3)), dim=1)
        loss = F.cross_entropy(self.scale * F.linear(features, F.normalize(self.prototypes, dim=1)), classes)
        if not taught:
            return loss
        cells = (F.adaptive_avg_pool2d(m, CELLS) for m in maps)
        triples = zip(self.predictions, cells, taught, strict=True)
        errors = [F.mse_loss(predict(own).float(), wanted) for predict, own, wanted in triples]
        return loss + self.imitation * torch.stack(errors).mean()


@torch.no_grad()
def _taught(teacher: Network, pictures: Tensor) -> list[Tensor]:
    """Return the maps of the teacher, averaged over cells. Each channel has mean 0 and variance 1 in the batch."""
    maps = [F.adaptive_avg_pool2d(m, CELLS).float() for m in teacher(pictures)]
    return [F.batch_norm(m, None, None, training=True) for m in maps]


class _Trainer:
    """Gradient descent with Nesterov momentum and a running average. All of it stays on the device."""

    def __init__(
        self,
        model: _Classifier,
        course: Course,
        drawings: Drawings,
        device: torch.device,
        teacher: Network | None = None,
    ) -> None:
        self.course, self.drawings, self.device = course, drawings, device
        prepared = repeatable if device.type == "cuda" else lambda function: function
        self.model: Callable[[Tensor, Tensor, list[Tensor]], Tensor] = prepared(model)
        self.teach: Callable[[Tensor], list[Tensor]] = lambda pictures: []
        if teacher:
            self.teach = prepared(partial(_taught, teacher))
        self.parameters = list(model.parameters())
        self.weights = [parameter.data for parameter in self.parameters]
        self.speed = [torch.zeros_like(weights) for weights in self.weights]
        self.state = self.weights + [buffer for buffer in model.buffers() if buffer.is_floating_point()]
        self.average = [values.clone() for values in self.state]
        self.rate, self.loss = torch.zeros(2, device=device)
        self.count = torch.zeros((), dtype=torch.int64, device=device)
        self.place = torch.arange(course.batch, device=device)

    def update(self) -> None:
        """Draw a batch and update the weights once."""
        course = self.course
        pictures, classes = self.drawn(self.count)
        pictures = pictures.contiguous(memory_format=torch.channels_last)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            loss = self.model(pictures, classes, self.teach(pictures))
        slopes = list(torch.autograd.grad(loss, self.parameters))
        with torch.no_grad():
            torch._foreach_add_(slopes, self.weights, alpha=course.decay)
            torch._foreach_mul_(self.speed, course.momentum)
            torch._foreach_add_(self.speed, slopes)
            torch._foreach_add_(slopes, self.speed, alpha=course.momentum)
            torch._foreach_mul_(slopes, self.rate)
            torch._foreach_sub_(self.weights, slopes)
            torch._foreach_lerp_(self.average, self.state, 1 - course.average)
            self.loss.copy_(loss)
            self.count.add_(1)

    def drawn(self, batch: int | Tensor) -> tuple[Tensor, Tensor]:
        """Return the pictures of a batch, given its number, and their classes."""
        numbers = batch * self.course.batch + self.place
        classes = self.drawings.pick(numbers, self.course.classes)
        return self.drawings.draw(classes, numbers, self.course.size), classes

    def recorded(self) -> Callable[[], None]:
        """Record one update as a CUDA graph and return its replay."""
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self.rehearse(3)  # compiles the code
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.update()
        return graph.replay

    def rehearse(self, updates: int) -> None:
        """Make this many updates, then restore the state."""
        state = [*self.state, *self.speed, *self.average]
        before = [values.clone() for values in state]
        for _ in range(updates):
            self.update()
        with torch.no_grad():
            torch._foreach_copy_(state, before)
            self.count.zero_()
