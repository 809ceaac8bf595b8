"""The CIFAR-style ResNet-18 and ResNet-56: no pooling before the last stage, for small images."""

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
    """Images of about `size` pixels in, the last map out.

    `taps` names modules that put out the map of every stage, each channel with mean 0 and deviation 1 over the images
    of the pre-training: features that a linear layer can learn from at once.
    """

    def __init__(self, architecture: str, size: int = 32) -> None:
        super().__init__()
        widths, blocks = ARCHITECTURES[architecture]
        self.outputs = widths[-1]
        self.taps = tuple(f"normals.{number}" for number in range(len(widths)))
        stride = max(1, size // 32)  # larger images become maps of about 32×32 at once, at the same cost
        kernel = max(3, 2 * stride - 1)
        first = nn.Conv2d(3, widths[0], kernel, stride, kernel // 2, bias=False)
        self.stem = nn.Sequential(first, nn.BatchNorm2d(widths[0]), nn.ReLU())
        stages = []
        inputs = widths[0]
        for number, width in enumerate(widths):
            strides = [1 if number == 0 else 2] + [1] * (blocks - 1)
            stages.append(
                nn.Sequential(*(Block(inputs if i == 0 else width, width, s) for i, s in enumerate(strides)))
            )
            inputs = width
        self.stages = nn.ModuleList(stages)
        self.normals = nn.ModuleList(nn.BatchNorm2d(width, affine=False) for width in widths)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        for stage, normal in zip(self.stages, self.normals, strict=True):
            x = stage(x)
            normal(x.detach())  # beside the path: it only follows the map, and is read through `taps`
        return x
