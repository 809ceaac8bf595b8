"""results.json: every run with its matrix R, and the summary over seeds."""

from __future__ import annotations

import json
import os
import platform
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from if2net.errors import ConfigurationError, NumericalError
from if2net.study.bench import metrics
from if2net.version import __version__

SUMMARISED = ("acc", "bwt", "fwt", "average_incremental", "forgetting")


def new_results(scenario: str, protocol: str, device: str) -> dict[str, Any]:
    return {
        "scenario": scenario,
        "protocol": protocol,
        "environment": environment(device),
        "settings": {},
        "runs": [],
        "summary": {},
    }


def environment(device: str) -> dict[str, Any]:
    import numpy
    import torch

    return {
        "if2net": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": numpy.__version__,
        "platform": f"{platform.system()} {platform.machine()}",
        "processor": processor(),
        "threads": torch.get_num_threads(),
        "device": device_name(device),
    }


def processor() -> str:
    """Its name: Linux has it in a file, other systems tell it when asked."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "not known"


def device_name(device: str) -> str:
    import torch

    return torch.cuda.get_device_name() if device.startswith("cuda") else "cpu"


def finished_run(
    method: str,
    variant: str,
    seed: int,
    class_order: list[int],
    R: metrics.Matrix,
    independent: Sequence[float],
    seconds: dict[str, float],
    costs: dict[str, Any],
) -> dict[str, Any]:
    """One entry of "runs": R, the metrics from it, and what it cost."""
    return {
        "method": method,
        "variant": variant,
        "seed": seed,
        "class_order": class_order,
        "R": [list(row) for row in R],
        "independent": list(independent),
        "acc": metrics.acc(R),
        "bwt": metrics.bwt(R),
        "fwt": metrics.fwt(R, independent),
        "average_incremental": metrics.average_incremental(R),
        "forgetting": metrics.forgetting(R),
        "seconds": seconds,
        **costs,
    }


def label(run: dict[str, Any]) -> str:
    """The name of a method in tables: with its variant, where the protocol has more than one."""
    return f"{run['method']} ({run['variant']})" if run.get("variant") else run["method"]


def trained_on(results: dict[str, Any]) -> str:
    """What the backbones of the runs have seen, to be said beside the numbers; empty where there is nothing to say.

    >>> trained_on({"runs": [{"backbone": {"identity": "1f", "pretrained_on": "ImageNet"}}, {}]})
    'ImageNet'
    """
    said = [(run.get("backbone") or {}).get("pretrained_on") for run in results["runs"]]
    return "; ".join(dict.fromkeys(text for text in said if text))


def summarise(results: dict[str, Any]) -> None:
    """Mean and standard deviation over seeds of each method, in the order of the runs."""
    summary: dict[str, dict[str, float]] = {}
    for name in dict.fromkeys(label(run) for run in results["runs"]):
        runs = [run for run in results["runs"] if label(run) == name]
        entry: dict[str, float] = {"runs": len(runs)}
        for key in SUMMARISED:
            values = [run[key] for run in runs]
            entry[f"{key}_mean"] = fmean(values)
            entry[f"{key}_std"] = stdev(values) if len(values) > 1 else 0.0
        entry["learn_seconds_mean"] = fmean(run["seconds"]["learn"] for run in runs)
        for key in ("state_bytes", "exemplars", "parameters"):
            entry[key] = max(run[key] for run in runs)
        summary[name] = entry
    results["summary"] = summary


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write under a temporary name, then rename: a crash leaves the old file whole."""
    try:
        text = readable(content)
    except ValueError as error:
        raise NumericalError(
            f"{path} was not written, since a number in it would be infinite or not a number, which JSON has no word "
            "for. A class without test samples gives such numbers, or a training that diverged; leave that one out."
        ) from error
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    with os.fdopen(handle, "w") as file:
        file.write(text)
    os.replace(temporary, path)


def readable(content: dict[str, Any]) -> str:
    """JSON with a line for each row of a matrix. Its strings hold no bare line breaks, so none of them is touched.

    >>> print(readable({"R": [[1.0, None], [0.5, 0.9]]}))
    {
     "R": [
      [1.0, null],
      [0.5, 0.9]
     ]
    }
    """
    text = json.dumps(content, indent=1, allow_nan=False)
    return re.sub(r"\[\n *([^\[\]{}]*?)\n *\]", lambda row: "[" + re.sub(r"\n *", " ", row[1]) + "]", text)


def read_results(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text())
        _ = content["scenario"], content["protocol"], content["runs"]
    except (OSError, json.JSONDecodeError, KeyError, TypeError) as error:
        raise ConfigurationError(f"{path} is not a results file of if2net ({error}); move it away.") from error
    return content


def result_files(folder: Path) -> list[Path]:
    """The results file in a folder, or those in the folders inside it."""
    direct = folder / "results.json"
    files = [direct] if direct.exists() else sorted(folder.glob("*/results.json"))
    if not files:
        raise ConfigurationError(f"{folder} holds no results.json; give folders that `if2net run` has written.")
    return files
