"""Files of innate encoders: what is written is read, and nothing else is."""

import pytest
import torch

from if2net import modelfile
from if2net.encoder.innate import weights
from if2net.encoder.innate.drawings import Drawings, Recipe
from if2net.encoder.innate.network import Network, fold
from if2net.encoder.innate.training import train
from if2net.errors import ModelFileError, NumericalError, OutputError


@pytest.fixture(scope="module")
def network(plan, course):
    return train(plan, course, Drawings(course.seed), torch.device("cpu"))


@pytest.fixture
def file(network, course, tmp_path):
    path = tmp_path / "tiny.if2"
    weights.write(path, network, Recipe(), course)
    return path


def test_a_file_gives_the_folded_network_in_float16_precision(file, network):
    read, expected = weights.read(file), fold(network)
    for name, values in expected.state_dict().items():
        assert torch.equal(read.state_dict()[name], values.half().float())
    pictures = torch.rand(3, 3, 20, 20)
    torch.testing.assert_close(read.features(pictures), expected.features(pictures), rtol=0.01, atol=0.01)
    assert not read.training
    assert read.stages[1][0].first.kernel.weight.is_contiguous(memory_format=torch.channels_last)


def test_the_header_says_how_to_make_the_file_again(file, network, course, tmp_path):
    tensors, header = modelfile.read(file)
    assert {values.dtype for values in tensors.values()} == {torch.float16}
    assert header["kind"] == "innate"
    assert header["plan"]["widths"] == [4, 6, 8]
    assert header["recipe"]["jitter"] == 1.0
    assert (header["training"]["seed"], header["training"]["steps"]) == (course.seed, course.steps)
    again = tmp_path / "again.if2"
    assert weights.write(again, network, Recipe(), course) == header["hash"]
    assert all(torch.equal(values, tensors[name]) for name, values in modelfile.read(again)[0].items())


@pytest.mark.parametrize("place", [-1, -100, 200])
def test_a_damaged_file_is_refused(file, place):
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)
    with pytest.raises(ModelFileError):
        weights.read(file)


def test_weights_that_were_exchanged_are_refused(file):
    tensors, header = modelfile.read(file)
    modelfile.write(file, {name: values + 1 for name, values in tensors.items()}, header)
    with pytest.raises(ModelFileError, match="do not have the right hash"):
        weights.read(file)


def test_weights_that_do_not_fit_the_plan_are_refused(file):
    tensors, header = modelfile.read(file)
    header["plan"]["widths"][0] = 5
    modelfile.write(file, tensors, header)
    with pytest.raises(ModelFileError, match="do not fit its plan"):
        weights.read(file)


def test_a_plan_takes_no_memory_before_the_weights_are_known_to_fit(file, monkeypatch):
    def build(*arguments, **options):
        built.append(Network(*arguments, **options))
        return built[-1]

    built = []
    monkeypatch.setattr(weights, "Network", build)
    tensors, header = modelfile.read(file)
    header["plan"]["widths"][0] = 1000
    modelfile.write(file, tensors, header)
    with pytest.raises(ModelFileError, match="do not fit its plan"):
        weights.read(file)
    assert all(parameter.is_meta for parameter in built[0].parameters())


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_not_read(file, value):
    tensors, header = modelfile.read(file)
    tensors["mean"][0] = value
    modelfile.write(file, tensors, header | {"hash": weights._digest(tensors)})
    with pytest.raises(ModelFileError, match="holds NaN"):
        weights.read(file)


def test_a_damaged_file_of_the_package_asks_for_a_new_installation(tmp_path, monkeypatch):
    monkeypatch.setattr(weights, "__file__", str(tmp_path / "weights.py"))
    (tmp_path / "small.if2").write_bytes(b"damaged")
    with pytest.raises(ModelFileError, match="install if2net again"):
        weights.shipped.__wrapped__("small", torch.device("cpu"))


def test_a_file_of_another_kind_is_neither_read_nor_replaced(network, course, tmp_path):
    model, notes = tmp_path / "model.if2", tmp_path / "notes.txt"
    modelfile.write(model, {"beta": torch.zeros(2)}, {"config": {}})
    notes.write_text("mine")
    with pytest.raises(ModelFileError, match="does not hold an innate encoder"):
        weights.read(model)
    for path in (model, notes):
        before = path.read_bytes()
        with pytest.raises(OutputError, match="is not an innate encoder"):
            weights.write(path, network, Recipe(), course)
        assert path.read_bytes() == before


def test_weights_that_are_not_finite_are_not_written(network, course, tmp_path):
    network.stem.kernel.weight.data[0, 0, 0, 0], before = torch.inf, network.stem.kernel.weight[0, 0, 0, 0].item()
    try:
        with pytest.raises(NumericalError, match="diverged"):
            weights.write(tmp_path / "new.if2", network, Recipe(), course)
    finally:
        network.stem.kernel.weight.data[0, 0, 0, 0] = before
    assert not list(tmp_path.iterdir())
