"""table-blocks: 100 nodes in FC1 as n₁ blocks of s₁ nodes."""

from __future__ import annotations

from functools import partial
from typing import Any

from if2net.config import Config
from if2net.study.ablations.ablation import BESIDE, Ablation, Bench, Entry, Measurements
from if2net.study.ablations.readings import REPRESENTATIONS, follow, readings_of
from if2net.study.bench.display import markdown
from if2net.study.bench.paper import paper_figures
from if2net.study.methods.if2net import IF2NetMethod

ABOVE = "10x10,50x10"  # FC2 and FC3
# The best on held-back training data: results/search/earlier/fashion-mnist-transductive-analytic-paper.json.
# Under the other protocols, the learner chooses the ridge on held-out samples.
RIDGES = {"transductive": 1.0}


def run(cell: str, seed: int, bench: Bench) -> list[Entry]:
    """Measure the analytic rule, which has no learning rate that could favour one of the pairs."""
    entries = []
    for protocol, representation in REPRESENTATIONS.items():
        layers: dict[str, Any] = {"layers": f"{cell},{ABOVE}", "representation": representation}
        settings = Config.of(encoder="paper", ridge=RIDGES.get(protocol), **layers)
        fresh = partial(IF2NetMethod, bench.inputs, seed, bench.device, settings)
        entries += follow(fresh, bench.stream(seed), readings_of(protocol))
    return entries


def table(results: Measurements) -> str:
    """Ours beside the paper's, by blocks and protocol."""
    rows = [
        [*entry.cell.split("x"), entry.protocol, *entry.beside(paper_figures("table-blocks")[entry.cell])]
        for entry in results.summary
    ]
    headings = ["n₁", "s₁", "protocol", *BESIDE]
    return f"{results.scenario}, {results.seeds}.\n\n{markdown(headings, rows, words=3)}"


ABLATION = Ablation(
    "table-blocks",
    "pairs of node blocks (n, s) with 100 nodes in FC1",
    tuple(paper_figures("table-blocks")),
    run,
    table,
)
