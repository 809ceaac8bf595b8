"""`if2net undo`: take back the last `if2net learn`, `rename` or `merge-models`."""

from __future__ import annotations

from if2net.commands.answer import SENTENCES, Output, contents, counted, model_values
from if2net.commands.options import DeviceOption, ModelArgument, NoWaitOption, changing
from if2net.errors import InputError, ModelFileError
from if2net.files import kept_file, take_back


def undo(
    model: ModelArgument,
    device: DeviceOption = "auto",
    output: Output = SENTENCES,
    no_wait: NoWaitOption = False,
) -> None:
    """Take back the last `if2net learn`, `rename` or `merge-models`.

    Each of them keeps the previous model as a hidden file beside MODEL. `if2net forget` cannot be taken back: it
    removes the hidden file, which would still hold the forgotten samples.
    """
    from if2net import modelfile
    from if2net.learner import IF2Net

    with changing(model, no_wait):
        kept, now = kept_file(model), IF2Net.load(model, device)
        if kept is None:
            raise InputError(
                f"There is nothing to take back: no earlier model is kept beside {model}. `if2net learn`, `rename` "
                "and `merge-models` keep one, if the model existed. `forget` and every other change remove it, "
                "because it could still hold forgotten samples. Use a backup copy, or learn the samples again."
            )
        net = IF2Net.load(kept, device)
        identities = [modelfile.read_header(path)["identity"] for path in (kept, model)]
        if identities[0] not in (None, identities[1]):
            raise ModelFileError(
                f"{kept} is not an earlier state of {model}, which another model has replaced; remove the former."
            )
        if now.log is not None and now.log != net.log:
            raise InputError(
                f"{model} was last changed by `if2net serve`, whose log would make the changes again. Start the "
                "server, and take them back there."
            )
        take_back(model, kept)
    taken_back = now.samples - net.samples
    columns = zip(now.labels.known, net.labels.known, strict=False)  # `now` may have more classes
    renamed = [(new, old) for new, old in columns if new != old]
    lines = [f"Renamed {new} back to {old}." for new, old in renamed]
    if not renamed:
        lines.append(f"Took back {counted(taken_back, 'sample')}.")
    lines.append(f"{model} now has {contents(net)}.")
    values = {"taken_back": taken_back, "renamed": renamed}
    output.answer(lines, model_values(model, net) | values, written=model)
