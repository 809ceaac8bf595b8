"""The paper's ablations and two of ours, by the names that `if2net reproduce` has for them; one file each."""

from __future__ import annotations

from if2net.study.ablations import ingredients, rademacher, stability, table_blocks, table_init, table_layers, tsne
from if2net.study.ablations.ablation import Ablation, Measurements, carry_out, write_ablation

ABLATIONS: dict[str, Ablation] = {
    module.ABLATION.name: module.ABLATION
    for module in (table_init, table_blocks, table_layers, rademacher, tsne, ingredients, stability)
}

__all__ = ["ABLATIONS", "Ablation", "Measurements", "carry_out", "write_ablation"]
