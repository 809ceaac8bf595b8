"""The CIFAR-style ResNet-18 and ResNet-56: a 3×3 stem and no pooling before the last stage, for small images."""

from __future__ import annotations

from torch import Tensor, nn

# Channels of the stages, and residual blocks in each.
ARCHITECTURES = {"resnet18": ((64, 128, 256, 512), 2), "resnet56": ((16, 32, 64), 9)}


class Block(nn.Module):
    """Two 3×3 convolutions beside a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.first_norm = nn.BatchNorm2d(outputs)
        self.second = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.second_norm = nn.BatchNorm2d(outputs)
        self.shortcut: nn.Module = nn.Identity()
        if stride > 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x: Tensor) -> Tensor:
        inner = self.first_norm(self.first(x)).relu()
        return (self.second_norm(self.second(inner)) + self.shortcut(x)).relu()


class ResNet(nn.Module):
    """Images in, the last map out; `taps` names the stages."""

    def __init__(self, architecture: str) -> None:
        super().__init__()
        widths, blocks = ARCHITECTURES[architecture]
        self.outputs = widths[-1]
        self.taps = tuple(f"stages.{number}" for number in range(len(widths)))
        self.stem = nn.Sequential(nn.Conv2d(3, widths[0], 3, 1, 1, bias=False), nn.BatchNorm2d(widths[0]), nn.ReLU())
        stages = []
        inputs = widths[0]
        for number, width in enumerate(widths):
            strides = [1 if number == 0 else 2] + [1] * (blocks - 1)
            stages.append(
                nn.Sequential(*(Block(inputs if i == 0 else width, width, s) for i, s in enumerate(strides)))
            )
            inputs = width
        self.stages = nn.Sequential(*stages)

    def forward(self, x: Tensor) -> Tensor:
        return self.stages(self.stem(x))
