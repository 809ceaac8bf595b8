"""table-blocks: 100 nodes in FC1 as n₁ blocks of s₁ nodes."""

from __future__ import annotations

from functools import partial
from typing import Any

from if2net.config import Config
from if2net.study.ablations.cells import Ablation, Bench, Entry, Results
from if2net.study.ablations.reading import REPRESENTATIONS, follow, readings_of
from if2net.study.ablations.tables import BESIDE, beside, printed, seeds_of
from if2net.study.bench.display import markdown
from if2net.study.methods.if2net import IF2NetMethod

ABOVE = "10x10,50x10"  # FC2 and FC3
# Found on validation data: results/searched/tune/fashion-mnist-transductive-analytic-paper.json. Elsewhere it is
# chosen on held-out statistics.
RIDGES = {"transductive": 1.0}


def run(cell: str, seed: int, bench: Bench) -> list[Entry]:
    """The analytic rule, which has no learning rate to favour one of the pairs."""
    entries = []
    for protocol, representation in REPRESENTATIONS.items():
        layers: dict[str, Any] = {"layers": f"{cell},{ABOVE}", "representation": representation}
        settings = Config.of(encoder="paper", ridge=RIDGES.get(protocol), **layers)
        fresh = partial(IF2NetMethod, bench.inputs, seed, bench.device, settings)
        entries += follow(fresh, bench.stream(seed), readings_of(protocol))
    return entries


def table(results: Results) -> str:
    rows = [
        [*entry["cell"].split("x"), entry["protocol"], *beside(entry, printed("table-blocks")[entry["cell"]])]
        for entry in results["summary"]
    ]
    headings = ["n₁", "s₁", "protocol", *BESIDE]
    return f"{results['scenario']}, {seeds_of(results)}.\n\n{markdown(headings, rows, words=3)}"


ABLATION = Ablation(
    "table-blocks",
    "pairs of node blocks (n, s) with 100 nodes in FC1",
    "fashion-mnist-10/5",
    tuple(printed("table-blocks")),
    run,
    table,
)
