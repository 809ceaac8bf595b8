"""Samples of unknown classes: our novelty beside max-softmax, energy and Mahalanobis distance on the same features.

A model learns the known classes with the default settings for pictures: the small innate encoder for those of MNIST,
FashionMNIST and CIFAR, and features of EfficientNet-Lite0 with ImageNet weights for half of the classes of CUB. All
scores come from that model. `auroc` is the probability that an unknown sample has a higher score than a known one.
`false_accepts` is the share of unknown samples that are accepted at the limit that rejects 5 % of the known ones.
`rejected` is the share of known and unknown test samples that `predict(X, unknown=0.05)` rejects. `known rejected` is
the share of known samples with 0.01, 0.05 and 0.1.

The pairs of `held back` are training samples only. The settings of the novelty were chosen on them. `weights` is the
AUROC with other weights of the winner's score; with `inf`, the distance does not count. `with far term` is the AUROC
if samples that are farther from every class than 99 % of the known ones get a higher novelty.

usage: python results/novelty.py --data DIR --images DIR [--out FILE]
DIR of --data holds mnist/ and fashion-mnist/, DIR of --images CIFAR-10/, CIFAR-100/ and CUB-200-2011/, each with
train/CLASS/* and test/CLASS/*.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from sklearn.metrics import roc_auc_score
from torch import Tensor

from if2net import IF2Net
from if2net.decision.novelty import WINNER, Novelty
from if2net.decision.ridge import absolute_ridge
from if2net.encoder.rowwise import RowwiseFactor
from if2net.files import write_text
from if2net.images.extraction import extract
from if2net.images.extractor import load_extractor
from if2net.images.folders import class_folders
from if2net.images.learning import IMAGE_SETTINGS
from if2net.study.bench.environment import environment
from if2net.study.data.datasets import load_dataset
from if2net.study.methods.common.moments import class_means, within_covariance

# Samples to learn and to test with of each data set of small pictures, and images per class of CUB.
LEARNED, TESTED, PER_CLASS = 10_000, 5_000, 20
SHARE = 0.05
SHARES = (0.01, 0.05, 0.1)
WEIGHTS = (0.0, 0.5, 1.0, 2.0, 4.0, math.inf)
FAR, FARTHEST = 0.5, 0.01  # the weight of the far term, and the share of known samples that it concerns

Data = tuple[np.ndarray, np.ndarray]  # samples and labels
Pair = tuple[Data, np.ndarray, np.ndarray]  # known samples to learn, and known and unknown ones to test with


# ---------------------------------------------------------------------- scores, higher for unknown samples


def max_softmax(net: IF2Net, V: Tensor) -> Tensor:
    return -torch.softmax(_scores(net, V) / _layer(net).temperature, dim=1).amax(dim=1)


def energy(net: IF2Net, V: Tensor) -> Tensor:
    tau = _layer(net).temperature
    return -tau * torch.logsumexp(_scores(net, V) / tau, dim=1)


def mahalanobis(net: IF2Net, V: Tensor) -> Tensor:
    """Return the distance to the nearest class mean, under one covariance with the relative ridge of the model."""
    statistics = _layer(net).total
    covariance = within_covariance(statistics)
    covariance.diagonal().add_(absolute_ridge(covariance, _layer(net).ridge))
    lower = torch.linalg.cholesky(covariance)
    # Centred, so that the distances are not lost in rounding.
    mean = statistics.Q.sum(dim=1) / statistics.samples
    rows = torch.cat([V, class_means(statistics)]) - mean
    white = torch.linalg.solve_triangular(lower, rows.T, upper=False).T.double()
    return torch.cdist(white[: len(V)], white[len(V) :]).amin(dim=1)


def _layer(net: IF2Net) -> Any:
    return net.decision


def _scores(net: IF2Net, V: Tensor) -> Tensor:
    return (V @ _layer(net).beta).double()


COMPARED: dict[str, Callable[[IF2Net, Tensor], Tensor]] = {
    "max-softmax": max_softmax,
    "energy": energy,
    "Mahalanobis": mahalanobis,
}


def variants(novelty: Novelty, V: Tensor, scores: Tensor, target: np.ndarray) -> dict[str, dict[str, float]]:
    """Return the AUROC with each weight of the winner's score, without and with the far term.

    The term is max(f − q, 0)/σ for the squared Mahalanobis distance f to the nearest class mean. q and σ are those of
    the known samples of the pair, which is more than a model knows.
    """
    u = novelty.times_root(V[:, novelty.features] - novelty.distance.mean.to(V.dtype)).double()
    squares, z = u.square().sum(dim=1), novelty.times_sides(u)
    of_distance, of_winner = novelty.scales
    distances = novelty.distance.value(squares, z, novelty.times_shrinking) * of_distance
    winners = scores.amax(dim=1).clamp(max=novelty.most) * of_winner / WINNER
    f = squares + (novelty.distance.sides.square().sum(dim=1) - 2 * z).amin(dim=1)
    known = f[target == 0]
    far = FAR * (f - torch.quantile(known, 1 - FARTHEST)).clamp(min=0) / known.std()

    def aurocs(term: Tensor | float) -> dict[str, float]:
        forms = {w: (-winners if math.isinf(w) else distances - w * winners) + term for w in WEIGHTS}
        return {str(weight): float(roc_auc_score(target, form.numpy())) for weight, form in forms.items()}

    return {"weights": aurocs(0.0), "with far term": aurocs(far)}


def measure(pair: Pair, with_variants: bool, **settings: Any) -> dict[str, Any]:
    (X, y), known, unknown = pair
    net = IF2Net(device="cpu", **settings).learn(X, y)
    novelty = _layer(net).novelty(RowwiseFactor)
    report: dict[str, Any] = {"samples": {"learned": len(y), "known": len(known), "unknown": len(unknown)}}
    inside, outside = net.represent(known), net.represent(unknown)
    scores: dict[str, Callable[[IF2Net, Tensor], Tensor]] = {
        "novelty": lambda net, V: novelty(V, V @ _layer(net).beta),
        **COMPARED,
    }
    V, target = torch.cat([inside, outside]), np.repeat([0, 1], [len(inside), len(outside)])
    for name, score in scores.items():
        low, high = score(net, V).split([len(inside), len(outside)])
        report[name] = {
            "auroc": float(roc_auc_score(target, torch.cat([low, high]).numpy())),
            "false_accepts": float((high <= torch.quantile(low, 1 - SHARE)).double().mean()),
        }
    if with_variants:
        report |= variants(novelty, V, V @ _layer(net).beta, target)
    parts = {"known": inside, "unknown": outside}
    values = {name: novelty(V, V @ _layer(net).beta) for name, V in parts.items()}
    report["rejected"] = {name: float((values[name] > novelty.limit(SHARE)).double().mean()) for name in values}
    report["known rejected"] = {
        str(share): float((values["known"] > novelty.limit(share)).double().mean()) for share in SHARES
    }
    return report


# ---------------------------------------------------------------------- data


def pictures(name: str, part: str, data: Path, images: Path, count: int) -> Data:
    """Return this many pictures of a data set, drawn with a fixed seed."""
    random = np.random.default_rng(0)
    if name in ("mnist", "fashion-mnist"):
        loaded = load_dataset(name, data)
        X, y = (loaded.train_X, loaded.train_y) if part == "train" else (loaded.test_X, loaded.test_y)
        chosen = random.permutation(len(y))[:count]
        return np.asarray(X[chosen]).reshape(-1, 28, 28), np.asarray(y[chosen])
    files = [(path, label) for label, paths in class_folders(images / name / part).items() for path in paths]
    some = [files[place] for place in random.permutation(len(files))[:count]]
    return np.stack([np.asarray(Image.open(path)) for path, _ in some]), np.array([label for _, label in some])


def against(known: str, unknown: str, data: Path, images: Path) -> Pair:
    train = pictures(known, "train", data, images, LEARNED)
    tests = (pictures(name, "test", data, images, TESTED)[0] for name in (known, unknown))
    return train, *tests


def against_in_training(known: str, unknown: str, data: Path, images: Path) -> Pair:
    """Return a pair of training samples of two data sets: half of LEARNED to learn, a quarter each to test with."""
    X, y = pictures(known, "train", data, images, LEARNED * 3 // 4)
    others = pictures(unknown, "train", data, images, LEARNED // 4)[0]
    return (X[: LEARNED // 2], y[: LEARNED // 2]), X[LEARNED // 2 :], others


def birds(images: Path) -> Pair:
    """Return features of half of CUB's classes, in a random order, and of the other half to test with."""
    folders = {part: class_folders(images / "CUB-200-2011" / part) for part in ("train", "test")}
    names = sorted(folders["train"])
    order = [names[place] for place in np.random.default_rng(0).permutation(len(names))]
    half = len(order) // 2
    extractor = load_extractor("efficientnet-lite0")

    def features(part: str, classes: list[str]) -> Data:
        labels = {path: label for label in classes for path in folders[part][label][:PER_CLASS]}
        extracted = extract(list(labels), extractor)
        return extracted.X, np.array(list(labels.values()))[extracted.kept]

    return features("train", order[:half]), features("test", order[:half])[0], features("test", order[half:])[0]


def halves(data: Data) -> Pair:
    """Return training samples as a pair: half of the classes are unknown, and the test has a third of the others."""
    X, y = data
    random = np.random.default_rng(0)
    classes = random.permutation(np.unique(y))
    known, learned = np.isin(y, classes[: len(classes) // 2]), random.permutation(len(y)) % 3 > 0
    return (X[known & learned], y[known & learned]), X[known & ~learned], X[~known]


def pairs(data: Path, images: Path) -> Iterator[tuple[str, str, Pair, dict[str, Any]]]:
    """Yield the kind, the name, the samples and the settings of each pair."""
    where = (data, images)
    sets = (
        ("mnist", "fashion-mnist", "MNIST, FashionMNIST"),
        ("fashion-mnist", "mnist", "FashionMNIST, MNIST"),
        ("CIFAR-100", "CIFAR-10", "CIFAR-100, CIFAR-10"),
    )
    for known, unknown, name in sets:
        yield "test", name, against(known, unknown, *where), {}
    whole = birds(images)
    yield "test", "CUB, half of its classes", whole, dict(IMAGE_SETTINGS)
    for known, unknown, name in sets:
        yield "held back", name, against_in_training(known, unknown, *where), {}
    for known, name in (("mnist", "MNIST"), ("fashion-mnist", "FashionMNIST"), ("CIFAR-100", "CIFAR-100")):
        yield "held back", f"half of {name}'s classes", halves(pictures(known, "train", *where, LEARNED)), {}
    yield "held back", "a quarter of CUB's classes", halves(whole[0]), dict(IMAGE_SETTINGS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--images", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "novelty" / "pairs.json")
    arguments = parser.parse_args()
    report: dict[str, Any] = {"environment": environment("cpu"), "test": {}, "held back": {}}
    for kind, name, pair, settings in pairs(arguments.data, arguments.images):
        report[kind][name] = measure(pair, kind == "held back", **settings)
        print(kind, name, json.dumps(report[kind][name]), flush=True)
    arguments.out.parent.mkdir(exist_ok=True)
    write_text(arguments.out, json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
