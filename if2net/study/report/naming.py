"""What scenarios of images are called in tables and figures."""

from __future__ import annotations

from if2net.study.data import parse_scenario

DATASETS = {
    "cifar100": "CIFAR",
    "tiny-imagenet": "Tiny-ImageNet",
    "cub200": "CUB",
    "stanford-dogs": "Stanford Dogs",
}
# The paper's protocol, a backbone that was trained on the other classes, goes without saying; another one never does.
FEATURES = (
    "features: of a ResNet that was trained on the classes that are not learned, unless another backbone is named"
)
BACKBONES = {"held-out": "", "efficientnet-lite0": "EfficientNet-Lite0, ImageNet weights"}


def title(scenario: str) -> str:
    """
    >>> title("cifar100-60/10@held-out"), title("cub200-100/10@efficientnet-lite0")
    ('CIFAR-60/10', 'CUB-100/10, EfficientNet-Lite0, ImageNet weights')
    """
    found = parse_scenario(scenario)
    backbone = BACKBONES.get(found.backbone or "held-out", found.backbone)
    stream = f"{DATASETS.get(found.dataset, found.dataset)}-{found.classes}/{found.tasks}"
    return f"{stream}, {backbone}" if backbone else stream
