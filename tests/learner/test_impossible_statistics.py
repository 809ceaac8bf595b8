"""A file whose checksum is right but whose statistics no samples can have is refused; so is a merge out of bounds."""

import numpy as np
import pytest
import torch

from if2net import IF2Net, modelfile
from if2net.errors import InputError, ModelFileError


@pytest.fixture(scope="module", params=["float32", "float64"])
def saved(request, tmp_path_factory):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(300, 8)) + 3 * np.arange(300)[:, None] % 2, np.arange(300) % 2
    net = IF2Net(device="cpu", width=30, dtype=request.param).learn(X, y)
    path = tmp_path_factory.mktemp("models") / "model.if2"
    net.save(path)
    return path


def with_entry(tensor, place, value):
    changed = tensor.clone()
    changed.view(-1)[place] = value
    return changed


# Changes of single tensors, as functions of the tensors. The last entry of G belongs to the ones.
IMPOSSIBLE = {
    "a huge entry of G": lambda t: {"total.G": with_entry(t["total.G"], 1, 1e30)},
    "a huge diagonal entry": lambda t: {"total.G": with_entry(t["total.G"], 0, torch.finfo(t["total.G"].dtype).max)},
    "a negative diagonal entry": lambda t: {"total.G": with_entry(t["total.G"], 0, -1e6)},
    "negative G": lambda t: {"total.G": -t["total.G"]},
    "NaN in G": lambda t: {"total.G": with_entry(t["total.G"], 0, torch.nan)},
    "infinity in Q": lambda t: {"total.Q": with_entry(t["total.Q"], 0, torch.inf)},
    "a huge entry of Q": lambda t: {"total.Q": with_entry(t["total.Q"], 0, 1e20)},
    "ones that are too many": lambda t: {"total.G": with_entry(t["total.G"], -1, 1e5)},
    "ones of a class that are too many": lambda t: {"total.Q": with_entry(t["total.Q"], -1, 1e5)},
    "too many samples": lambda t: {name: t[name] * 1000 for name in ("total.counts", "members.counts")},
    "too few samples": lambda t: {"total.counts": t["total.counts"] - 1},
    "held-out samples larger than all": lambda t: {"held.G": t["total.G"] * 100},
    "a huge entry of the held-out Q": lambda t: {"held.Q": with_entry(t["held.Q"], 0, 1e20)},
    "members that do not fit": lambda t: {"members.counts": with_entry(t["members.counts"], 0, 2**31 - 1)},
    "members without samples": lambda t: {"members.counts": with_entry(t["members.counts"], 0, 0)},
    "members outside the table": lambda t: {"members.places": with_entry(t["members.places"], 0, 2**20)},
    "members twice": lambda t: {"members.places": with_entry(t["members.places"], 0, t["members.places"][1])},
    "weights that do not fit": lambda t: {
        "weights": torch.stack([torch.cat([t[f"{part}.counts"] * 1e5, torch.zeros(1)]) for part in ("total", "held")])
    },
}


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_impossible_statistics_are_refused(saved, case, tmp_path):
    tensors, header = modelfile.read(saved)
    changed = tensors | IMPOSSIBLE[case](tensors)
    modelfile.write(
        tmp_path / "bad.if2", {name: part.to(tensors.get(name, part).dtype) for name, part in changed.items()}, header
    )
    with pytest.raises(ModelFileError, match="does not hold a whole if2net model"):
        IF2Net.load(tmp_path / "bad.if2", device="cpu")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_model_that_has_forgotten_nearly_everything_is_read(dtype, tmp_path):
    """The rounding errors that stay behind are large beside the few samples left."""
    random = np.random.default_rng(0)
    few, many = random.normal(size=(40, 6)), random.normal(size=(2_000, 6)) * 5
    few[:, 3:], many[:, :3] = 0, 0
    net = IF2Net(device="cpu", encoder="linear", dtype=dtype, check_inputs=False).learn(few, np.arange(40) % 2)
    for part in np.array_split(many, 7):
        net.learn(part, np.arange(len(part)) % 3)
    for part in np.array_split(many, 7):
        net.forget(part, np.arange(len(part)) % 3)
    net.save(tmp_path / "m.if2")
    loaded = IF2Net.load(tmp_path / "m.if2", device="cpu")
    assert (loaded.samples, loaded.predict(few).tolist()) == (40, net.predict(few).tolist())


@pytest.mark.parametrize("what", ["samples", "values", "members"])
def test_a_merge_that_a_file_could_not_hold_is_refused(saved, unchanged, what):
    net = IF2Net.load(saved, device="cpu")
    other = net.fork().learn(np.random.default_rng(1).normal(size=(200, 8)), np.arange(200) % 2)
    if what == "samples":
        other.decision.total.counts.fill_(2**40)
    elif what == "values":
        other.decision.total.G[0, 0] = torch.finfo(other.decision.dtype).max / 2
    else:
        other._state.members.fill_(torch.iinfo(torch.int32).max)
    with unchanged(net), pytest.raises(InputError, match="more samples or larger values"):
        net.merge(other)
