"""`if2net export`: ONNX graphs and files that only predict."""

import json

import numpy as np
import pytest
from command_line import if2net, json_answer
from sklearn.datasets import load_digits

from if2net import load
from if2net.errors import ConfigurationError, InputError, ModelFileError, OutputError
from if2net.images.read import Framing, read_image

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")


@pytest.fixture
def folder(tmp_path, new_classifier):
    """A model of digits and the table of its samples."""
    frame = load_digits(as_frame=True).frame
    frame.to_csv(tmp_path / "digits.csv", index=False)
    new_classifier().fit(frame.drop(columns="target"), frame.target).save(tmp_path / "digits.if2")
    return tmp_path


def test_a_model_becomes_an_onnx_graph(folder):
    answer = json_answer("model", "export", folder / "digits.if2", folder / "digits.onnx")
    assert answer["bytes"] == (folder / "digits.onnx").stat().st_size
    X = load_digits().data.astype(np.float32)
    predicted = onnxruntime.InferenceSession(folder / "digits.onnx").run(["label"], {"X": X})[0]
    assert predicted.tolist() == load(folder / "digits.if2").predict(load_digits(as_frame=True).data).tolist()
    assert if2net("export", folder / "digits.if2", folder / "digits.onnx", "--quiet") == ""  # replaces its own kind


@pytest.mark.parametrize("int8", [[], ["--int8"]])
def test_a_small_model_predicts_and_is_described_but_does_not_learn(int8, folder):
    small = folder / "small.if2"
    output = if2net("export", folder / "digits.if2", small, "--predict-only", *int8)
    assert f"{small} has {small.stat().st_size / 1e3:.0f} kB, and {folder / 'digits.if2'} has " in output
    if2net("export", folder / "digits.if2", small, "--predict-only", *int8, "--quiet")
    described = json_answer("model", "info", small)
    assert (described["predicts_only"], described["unused"], described["samples"]) == (True, None, 1797)
    assert "only predicts" in if2net("info", small)
    evaluated = json.loads(if2net("evaluate", small, folder / "digits.csv", "--json", "--quiet"))
    assert evaluated["accuracy"] > 0.9
    assert if2net("predict", small, folder / "digits.csv", "--label", "target").count("\n") == 1798
    before = small.read_bytes()
    for words in (["learn", small, folder / "digits.csv"], ["forget", small, folder / "digits.csv"]):
        with pytest.raises(InputError, match="only predicts"):
            if2net(*words)
    with pytest.raises(InputError, match="only predicts"):
        if2net("merge-models", folder / "all.if2", folder / "digits.if2", small)
    assert small.read_bytes() == before


def test_a_model_of_images_becomes_a_graph_and_a_small_model(pictures, tmp_path, own_cache):
    model, image = tmp_path / "colours.if2", pictures / "red" / "0.png"
    if2net("learn", model, pictures, "--backbone", "pixels,size=8", "--device", "cpu")
    if2net("export", model, tmp_path / "colours.onnx")
    pixels = read_image(image, Framing(8, 8))[None]
    assert onnxruntime.InferenceSession(tmp_path / "colours.onnx").run(["label"], {"X": pixels})[0] == ["red"]
    if2net("export", model, tmp_path / "small.if2", "--predict-only", "--int8")
    assert if2net("predict", tmp_path / "small.if2", image).splitlines()[1].startswith(f"{image},red,")


def test_a_graph_is_no_model_file(folder):
    if2net("export", folder / "digits.if2", folder / "digits.onnx")
    for command in ("predict", "evaluate"):
        with pytest.raises(ModelFileError, match=r"digits\.onnx is not a model file; .* ONNX runtime"):
            if2net(command, folder / "digits.onnx", folder / "digits.csv")


@pytest.mark.parametrize(("name", "more"), [("x.onnx", []), ("x.if2", ["--predict-only"])])
def test_other_files_are_replaced_only_by_force(name, more, folder):
    for content in (b"notes", (folder / "digits.if2").read_bytes()):
        (folder / name).write_bytes(content)
        with pytest.raises(OutputError, match="does not look like a file of this command; choose another OUT"):
            if2net("export", folder / "digits.if2", folder / name, *more)
        assert (folder / name).read_bytes() == content
    if2net("export", folder / "digits.if2", folder / name, *more, "--force")
    assert (folder / name).read_bytes() != content


@pytest.mark.parametrize(
    "words",
    [["m.if2"], ["m.onnx", "--predict-only"], ["m.onnx", "--int8"], ["m.if2", "--predict-only", "--backbone", "x"]],
)
def test_options_that_do_not_fit_write_nothing(words, folder):
    before = sorted(folder.iterdir())
    with pytest.raises(ConfigurationError):
        if2net("export", folder / "digits.if2", folder / words[0], *words[1:])
    assert sorted(folder.iterdir()) == before
