"""`if2net info`: the classes, the samples and the settings of a model."""

from __future__ import annotations

from if2net.commands.answer import SENTENCES, Output, counted, file_size, model_values
from if2net.commands.options import DeviceOption, ModelArgument


def info(
    model: ModelArgument,
    device: DeviceOption = "auto",
    output: Output = SENTENCES,
) -> None:
    """Show the classes and the settings of a model, and check its file."""
    from if2net import modelfile
    from if2net.learner import IF2Net

    net = IF2Net.load(model, device)
    library = modelfile.read_header(model)["library"]
    assert net.encoder is not None
    assert net.decision is not None
    unused = None if net.predicts_only else net.free_share() if len(net.classes) else 1.0
    counts = net.decision.total.counts.tolist()
    per_class = [(net.labels.known[column], int(counts[column])) for column in net.labels.sorted_columns]
    facts = {
        "model": f"{model}, {file_size(model)}, checksum ok",
        "version": f"if2net {library}, format {modelfile.FORMAT}",
        "encoder": f"{net.config.encoder}, {net.encoder.inputs:,} features, {net.config.dtype}",
        "width": f"{net.encoder.width:,}",
        **(_backbone(net.backbone["text"], net.backbone["identity"]) if net.backbone else {}),
        "rule": net.config.rule,
        "tasks": f"{net.tasks:,}",
        "unused": "unknown: this model only predicts"
        if unused is None
        else f"{100 * unused:.0f} % of the width, left for samples unlike those learned so far",
        "samples": f"{net.samples:,}",
    }
    nameless = net.decision.total.nameless
    if nameless:
        facts["forgotten"] = (
            f"{counted(nameless, 'sample')} of classes that were forgotten without their samples; only their scatter "
            "is left"
        )
    facts["classes"] = f"{len(net.classes):,}"
    lines = [f"{name:9} {value}" for name, value in facts.items()]
    lines += [f"  {name}: {counted(count, 'sample')}" for name, count in per_class]
    values = {
        "samples_per_class": [count for _, count in per_class],
        "nameless": nameless,
        "bytes": model.stat().st_size,
        "version": library,
        "encoder": net.config.encoder,
        "features": net.encoder.inputs,
        "width": net.encoder.width,
        "dtype": net.config.dtype,
        "backbone": net.backbone["text"] if net.backbone else None,
        "rule": net.config.rule,
        "tasks": net.tasks,
        "unused": unused,
        "predicts_only": net.predicts_only,
    }
    output.answer(lines, model_values(model, net) | values)


def _backbone(text: str, identity: str) -> dict[str, str]:
    """Return the lines on the backbone. Its weights have a licence of their own."""
    from if2net.images.backbones.registry import licence_of

    licence = licence_of(text)
    return {"backbone": f"{text} ({identity[:8]})"} | (
        {"licence": f"{licence} (weights of the backbone)"} if licence else {}
    )
