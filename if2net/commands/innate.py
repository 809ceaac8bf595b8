"""`if2net innate`: the drawings of the innate encoder, and its training."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from if2net.commands.answer import SENTENCES, Output, with_output_options
from if2net.commands.help import Command, Group
from if2net.commands.options import DeviceOption, ForceOption, check_output
from if2net.errors import OutputError
from if2net.extras import require
from if2net.files import replacing
from if2net.progress import progress

innate = typer.Typer(
    name="innate",
    cls=Group,
    no_args_is_help=True,
    help="Make the encoder for small pictures again, from drawings alone.",
)
# How a PNG file of `draw` begins.
DRAWN = rb"\x89PNG.*tEXtSoftware\x00if2net"


@innate.command(cls=Command)
@with_output_options
def draw(
    out: Annotated[Path, typer.Option(help="PNG file to write.")] = Path("drawings.png"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the drawings.")] = 0,
    classes: Annotated[int, typer.Option(min=1, max=1000, help="Number of classes, one per row.")] = 10,
    each: Annotated[int, typer.Option(min=1, max=1000, help="Number of drawings per class.")] = 16,
    size: Annotated[int, typer.Option(min=1, max=1024, help="Height and width of a drawing in pixels.")] = 32,
    force: ForceOption = False,
    output: Output = SENTENCES,
) -> None:
    """Write a sheet of example drawings."""
    from if2net.config import check_seed
    from if2net.encoder.innate.drawings import Drawings, sheet

    check_seed(seed)
    if out.suffix.lower() != ".png":
        raise OutputError(f"{out} is not the name of a PNG file; give --out a name that ends in .png.")
    check_output(out, DRAWN, force=force)
    image = require("PIL.Image", "images", "Writing a PNG file needs Pillow")
    text = require("PIL.PngImagePlugin", "images", "Writing a PNG file needs Pillow").PngInfo()
    text.add_text("Software", "if2net")
    picture = image.fromarray(sheet(Drawings(seed), classes, each, size).numpy())
    with replacing(out) as temporary:
        picture.save(temporary, "PNG", optimize=True, pnginfo=text)
    line = f"Wrote {classes * each:,} drawings of {classes:,} classes to {out}."
    output.answer([line], {"out": str(out), "drawings": classes * each}, written=out)


@innate.command(cls=Command)
@with_output_options
def train(
    out: Annotated[Path, typer.Option(help="Model file to write, such as small.if2.")],
    size: Annotated[str, typer.Option(help="Size of the network: small or large.")] = "small",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the drawings and of the first weights.")] = 0,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Number of updates. Default: 60,000 for small, 27,000 for large.")
    ] = None,
    batch: Annotated[int | None, typer.Option(min=1, help="Number of drawings per update. Default: 512.")] = None,
    device: DeviceOption = "auto",
    output: Output = SENTENCES,
) -> None:
    """Train an innate encoder on drawings and write its weights.

    The small network also learns to predict the maps of the large one, which is part of the package. No kernel is
    chosen by timing, so that the same command on the same machine gives the same weights; on a CPU, with the same
    number of threads. The defaults are for a GPU; a CPU takes many hours.
    """
    from if2net.config import check_seed, resolve_device
    from if2net.encoder.innate import training, weights
    from if2net.encoder.innate.drawings import Drawings

    check_seed(seed)
    plan, course = training.plan_and_course(size, seed, steps, batch)
    weights.check_target(out)
    place = resolve_device(device)
    drawings = Drawings(seed, compiled=place.type == "cuda")
    with progress("steps", output.screen()) as show:
        teacher = weights.shipped(course.teacher, place) if course.teacher else None
        network = training.train(plan, course, drawings, place, show, teacher)
    digest = weights.write(out, network, drawings.recipe, course)
    line = f"Wrote the {size} encoder, {out.stat().st_size / 1e6:.1f} MB, to {out}. Its hash is {digest[:16]}."
    output.answer([line], {"out": str(out), "hash": digest}, written=out)
