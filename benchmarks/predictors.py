"""Size and accuracy of whole model files, of files that only predict, and of files in eight bits.

usage: IF2NET_DATA=DIR python benchmarks/predictors.py [--datasets digits,mnist] [--samples 10000] [--out FILE]
"""

import tempfile
from pathlib import Path

import numpy as np
from recording import options, record

from if2net import IF2Net, load
from if2net.export import to_onnx, to_predictor
from if2net.study.bench.environment import environment
from if2net.study.data import load_dataset

WRITERS = {
    "whole": lambda net, path: net.save(path),
    "predict-only": to_predictor,
    "int8": lambda net, path: to_predictor(net, path, int8=True),
}


def measure(name: str, samples: int) -> dict[str, dict[str, float]]:
    """Learn the first samples of a data set; return bytes, accuracy and changed predictions of each kind of file."""
    data = load_dataset(name)
    net = IF2Net(seed=0, device="cpu").learn(data.train_X[:samples], data.train_y[:samples])
    expected = net.predict(data.test_X)
    report: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for kind, write in WRITERS.items():
            path = Path(folder, f"{kind}.if2")
            write(net, path)
            predicted = load(path, "cpu").predict(data.test_X)
            report[kind] = {
                "bytes": path.stat().st_size,
                "accuracy": float(np.mean(predicted == data.test_y)),
                "changed predictions": float(np.mean(predicted != expected)),
            }
        to_onnx(net, Path(folder, "model.onnx"))
        report["onnx"] = {"bytes": Path(folder, "model.onnx").stat().st_size}
    return report


def main() -> None:
    parser = options(__file__, __doc__)
    parser.add_argument("--datasets", default="digits,mnist")
    parser.add_argument("--samples", type=int, default=10_000, help="training samples, the first ones")
    arguments = parser.parse_args()
    measured = {name: measure(name, arguments.samples) for name in arguments.datasets.split(",")}
    report = {"samples": arguments.samples, "environment": environment("cpu"), "datasets": measured}
    record(arguments.out, report)


if __name__ == "__main__":
    main()
