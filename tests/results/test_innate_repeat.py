"""results/innate_repeat.py: an innate network that is trained twice has the same bits."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

SCRIPT = Path(__file__).parents[2] / "results" / "innate_repeat.py"
on_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


@pytest.mark.parametrize(
    ("device", "size", "steps", "batch"),
    [
        ("cpu", "small", 2, 8),
        pytest.param("cuda", "small", 50, 512, marks=on_gpu),
        pytest.param("cuda", "large", 50, 512, marks=on_gpu),
    ],
)
def test_an_innate_network_trained_twice_has_the_same_bits(device, size, steps, batch, tmp_path):
    """Each training has an empty compile cache, so that it chooses its kernels anew."""
    settings = {"device": device, "size": size, "steps": steps, "batch": batch, "times": 2}
    words = [f"--{name}={value}" for name, value in settings.items()]
    subprocess.run([sys.executable, SCRIPT, *words, f"--out={tmp_path / 'repeat.jsonl'}"], check=True)
    first, row = map(json.loads, (tmp_path / "repeat.jsonl").read_text().splitlines())
    assert first["environment"]["processor"]
    assert row["same_bits"]
    assert len(row["hashes"]) == 2
    assert row["steps"] == steps
