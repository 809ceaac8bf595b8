"""ResNet-18 and ResNet-56 in the style for CIFAR: without pooling before the last stage, for small images."""

from __future__ import annotations

from torch import Tensor, nn

# The channels of each stage, and the residual blocks per stage.
ARCHITECTURES = {"resnet18": ((64, 128, 256, 512), 2), "resnet56": ((16, 32, 64), 9)}


class Block(nn.Module):
    """Two 3×3 convolutions with a shortcut around them."""

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
        outer: Tensor = self.second_norm(self.second(inner)) + self.shortcut(x)
        return outer.relu()


class ResNet(nn.Module):
    """A network for images of about `size` × `size` pixels that returns its last map.

    `taps` names modules that return the map of each stage, normalised to mean 0 and deviation 1 per channel over the
    images of the pre-training. A linear layer can learn from these features directly.
    """

    def __init__(self, architecture: str, size: int = 32) -> None:
        super().__init__()
        widths, blocks = ARCHITECTURES[architecture]
        self.outputs = widths[-1]
        self.taps = tuple(f"normals.{number}" for number in range(len(widths)))
        stride = max(1, size // 32)  # the stem reduces larger images to about 32×32, so the cost stays the same
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
            normal(x.detach())  # only for its running mean and for `taps`; the output is not used here
        return x
