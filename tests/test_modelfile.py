"""Model files: a loaded model equals the saved one, damage is detected, and saving is all or nothing."""

import json
import pickle
import stat
import struct

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from sklearn.datasets import load_iris

from if2net import IF2Net, load, modelfile
from if2net.decision import analytic
from if2net.errors import InputError, ModelFileError
from if2net.version import __version__

MODELS = {
    "wide": {},
    "wide, float64": {"dtype": "float64", "ridge": 1e-3},
    "linear": {"encoder": "linear"},
    "linear, tweaked": {"encoder": "linear", "tweaked": True},
    "paper": {"encoder": "paper", "width": 60},
    "paper-25x4": {"encoder": "paper-25x4", "width": 60},
    "gradient": {"rule": "gradient", "epochs": 2},
    "gradient, recursive projector": {"rule": "gradient", "epochs": 2, "projector": "recursive"},
    "gradient, batch-mean projector": {"rule": "gradient", "epochs": 2, "projector": "batch-mean"},
    "ewc": {"rule": "ewc", "epochs": 2},
    "a tweak per task": {"encoder": "paper", "layers": "5x5,10x5", "width": None, "representation": "per-task"},
    "no tweak per task": {"representation": "per-task"},
}


@pytest.fixture(scope="module")
def small_file(tmp_path_factory):
    """The bytes of a model file of a few kilobytes."""
    X, y = load_iris(return_X_y=True)
    path = tmp_path_factory.mktemp("model") / "iris.if2"
    IF2Net(encoder="linear", device="cpu").learn(X, y).save(path)
    return path.read_bytes()


def assert_refused(path, message=None):
    """Check that the file is refused with a full sentence, and stays as it is."""
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(ModelFileError, match=message) as caught:
        IF2Net.load(path)
    assert str(caught.value).endswith(".")
    assert before is None or path.read_bytes() == before


# ---------------------------------------------------------------------- saving and loading


def round_trip(learner, folder):
    learner.save(folder / "model.if2")
    return IF2Net.load(folder / "model.if2", device="cpu")


def assert_same(one, other, X):
    assert (one.config, one.tasks, one.classes.tolist()) == (other.config, other.tasks, other.classes.tolist())
    for task in range(one.tasks):
        np.testing.assert_array_equal(one.scores(X, task=task), other.scores(X, task=task))
        probabilities = [model.probabilities(X, task=task) for model in (one, other)]
        np.testing.assert_allclose(*probabilities, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("model", MODELS)
def test_a_loaded_learner_equals_the_saved_one_and_learns_on_like_it(new_learner, digits, tmp_path, model):
    X, y = digits
    low, high = (y < 5).nonzero()[0][:150], (y >= 5).nonzero()[0][:150]
    learner = new_learner(**MODELS[model]).learn(X[low], y[low])
    loaded = round_trip(learner, tmp_path)
    assert_same(loaded, learner, X)
    for model in (learner, loaded):
        model.learn(X[high], y[high])
    assert_same(loaded, learner, X)
    assert_same(round_trip(loaded, tmp_path), learner, X)


@pytest.mark.parametrize("config", [{"epochs": 1}, {"rule": "gradient", "epochs": 1}])
def test_a_loaded_classifier_has_its_parameters_classes_and_probabilities(new_classifier, digits, tmp_path, config):
    X, y = digits
    classifier = new_classifier(random_state=5, config=config).fit(X[:200], y[:200].astype(str))
    classifier.save(tmp_path / "model.if2")
    loaded = load(tmp_path / "model.if2", device="cpu")
    assert loaded.get_params() == classifier.get_params() | {"encoder": "wide"}  # the one that "auto" has chosen
    assert loaded.n_features_in_ == 64
    np.testing.assert_array_equal(loaded.classes_, classifier.classes_)
    np.testing.assert_array_equal(loaded.decision_function(X), classifier.decision_function(X))
    np.testing.assert_allclose(loaded.predict_proba(X), classifier.predict_proba(X), rtol=1e-4, atol=1e-6)


def test_saving_does_not_change_later_predictions(new_learner, digits, tmp_path, monkeypatch):
    monkeypatch.setattr(analytic, "UPDATE_WIDTH", 10)
    X, y = digits
    learner = new_learner().learn(X[:1000], y[:1000])
    learner.learn(X[1000:1001], y[1000:1001]).predict(X[:1])
    learner.learn(X[1001:1002], y[1001:1002])  # updates β without solving again
    before, probabilities = learner.scores(X), learner.probabilities(X)
    learner.save(tmp_path / "model.if2")
    loaded = IF2Net.load(tmp_path / "model.if2", device="cpu")
    for model in (learner, loaded):
        assert torch.equal(model.scores(X), before)
        torch.testing.assert_close(model.probabilities(X), probabilities)
    assert loaded.decision.ridge == learner.decision.ridge


def test_a_loaded_model_predicts_without_solving_again(new_learner, digits, tmp_path, monkeypatch):
    X, y = digits
    learner = new_learner().learn(X[:200], y[:200])
    assert learner.solved_tensors() == {}
    scores, probabilities = learner.scores(X), learner.solve().probabilities(X)
    assert learner.solved_tensors().keys() == {"beta", "ridge", "temperature"}
    loaded = round_trip(learner, tmp_path)

    def refuse(*arguments):
        raise AssertionError("β was solved again")

    for name in ("solve", "choose_ridge", "temperature"):
        monkeypatch.setattr(analytic, name, refuse)
    np.testing.assert_array_equal(loaded.scores(X), scores)
    np.testing.assert_array_equal(loaded.probabilities(X), probabilities)


def test_a_model_saved_before_its_first_prediction_is_solved_after_loading(new_learner, digits, tmp_path):
    X, y = digits
    learner = new_learner().learn(X[:200], y[:200])
    loaded = round_trip(learner, tmp_path)
    assert loaded.solved_tensors() == {}
    np.testing.assert_array_equal(loaded.scores(X), learner.scores(X))


def test_a_fork_that_has_learned_nothing_can_be_saved(new_learner, digits, tmp_path):
    X, y = digits
    learner = new_learner().learn(X[:100], y[:100])
    learner.fork().save(tmp_path / "fork.if2")
    loaded = IF2Net.load(tmp_path / "fork.if2", device="cpu")
    assert len(loaded.classes) == 0
    np.testing.assert_array_equal(
        loaded.learn(X[:50], y[:50]).scores(X), learner.fork().learn(X[:50], y[:50]).scores(X)
    )


def test_a_fork_of_a_loaded_model_can_be_merged_into_the_original(new_classifier, digits, tmp_path):
    X, y = digits
    low, high = y < 5, y >= 5
    original = new_classifier(dtype="float64").fit(X[low], y[low])
    original.save(tmp_path / "model.if2")
    elsewhere = load(tmp_path / "model.if2", device="cpu").fork().partial_fit(X[high], y[high])
    both = new_classifier(dtype="float64").fit(X[low], y[low]).partial_fit(X[high], y[high])
    original.merge(elsewhere)
    np.testing.assert_allclose(original.decision_function(X), both.decision_function(X), rtol=1e-9, atol=1e-9)


def test_forgetting_after_loading_is_exact(new_learner, digits, tmp_path):
    X, y = digits
    learner = new_learner(dtype="float64", ridge=1e-2).learn(X[:200], y[:200])
    learner.save(tmp_path / "model.if2")
    loaded = IF2Net.load(tmp_path / "model.if2", device="cpu").forget(X[100:200], y[100:200])
    rest = learner.fork().learn(X[:100], y[:100])
    np.testing.assert_allclose(loaded.scores(X), rest.scores(X), rtol=1e-9, atol=1e-9)


def test_a_path_may_be_bytes(new_learner, digits, tmp_path):
    learner = new_learner().learn(digits[0][:50], digits[1][:50])
    learner.save(bytes(tmp_path / "model.if2"))
    assert IF2Net.load(bytes(tmp_path / "model.if2"), "cpu").samples == 50


def test_a_learner_without_data_has_nothing_to_save(new_learner, tmp_path):
    with pytest.raises(InputError, match="nothing to save"):
        new_learner().save(tmp_path / "model.if2")
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------------- the format


def test_the_header_describes_the_model(small_file, tmp_path):
    path = tmp_path / "iris.if2"
    path.write_bytes(small_file)
    with safe_open(path, framework="pt") as file:
        metadata = file.metadata()
    header = json.loads(metadata["if2net"])
    assert metadata["format"] == str(modelfile.FORMAT)
    assert len(metadata["checksum"]) == 64
    assert header["library"] == __version__
    assert header["classes"] == [0, 1, 2]
    assert header["config"]["encoder"] == "linear"


def test_the_header_is_read_without_the_tensors(small_file, tmp_path):
    path = tmp_path / "iris.if2"
    path.write_bytes(small_file)
    whole = modelfile.read(path)[1]
    with open(path, "r+b") as file:
        file.truncate(8 + int.from_bytes(small_file[:8], "little"))
    assert modelfile.read_header(path) == whole


def test_no_pickle_is_written_or_read(new_learner, digits, tmp_path, monkeypatch):
    X, y = digits
    learner = new_learner().learn(X[:50], y[:50])

    def refuse(*arguments, **options):
        raise AssertionError("pickle was used")

    for name in ("dump", "dumps", "load", "loads", "Pickler", "Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    monkeypatch.setattr(torch, "save", refuse)
    monkeypatch.setattr(torch, "load", refuse)
    learner.save(tmp_path / "model.if2")
    assert IF2Net.load(tmp_path / "model.if2", device="cpu").classes.tolist() == learner.classes.tolist()


def test_the_library_safetensors_reads_every_kind_of_tensor(tmp_path):
    random = torch.manual_seed(0)
    tensors = {
        name: torch.randint(0, 2, shape, generator=random).to(dtype)
        for name, dtype in modelfile._DTYPES.items()
        for shape in [(3, 5)]
    }
    tensors |= {"none": torch.zeros(0, 4), "scalar": torch.tensor(7.0), "turned": torch.rand(3, 4).T}
    modelfile.write(tmp_path / "a.if2", tensors, {"text": "β"})
    read, header = modelfile.read(tmp_path / "a.if2")
    assert header == {"text": "β"}
    with safe_open(tmp_path / "a.if2", "pt") as file:
        for name, tensor in tensors.items():
            assert torch.equal(file.get_tensor(name), tensor)
            assert torch.equal(read[name], tensor)


# ---------------------------------------------------------------------- whole or not at all


@pytest.mark.parametrize("exists", [True, False], ids=["over an old file", "as a new file"])
@pytest.mark.parametrize("failure", [OSError("No space left on device"), KeyboardInterrupt()], ids=repr)
def test_a_failed_save_leaves_the_folder_unchanged(new_learner, digits, tmp_path, monkeypatch, exists, failure):
    X, y = digits
    path = tmp_path / "model.if2"
    learner = new_learner().learn(X[:50], y[:50])
    if exists:
        learner.save(path)
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}

    def fail(checksum):  # when all but the checksum is written
        raise failure

    monkeypatch.setattr(modelfile, "_stored", fail)
    with pytest.raises(type(failure)):
        learner.learn(X[50:100], y[50:100]).save(path)
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_saving_again_replaces_the_file_and_leaves_no_other_file(new_learner, digits, tmp_path):
    X, y = digits
    path = tmp_path / "model.if2"
    learner = new_learner().learn(X[:50], y[:50])
    learner.save(path)
    learner.learn(X[50:100], y[50:100]).save(path)
    np.testing.assert_array_equal(IF2Net.load(path, device="cpu").scores(X), learner.scores(X))
    assert [file.name for file in tmp_path.iterdir()] == ["model.if2"]


def test_a_model_file_has_the_permissions_of_any_other_new_file(new_learner, digits, tmp_path):
    X, y = digits
    new_learner().learn(X[:50], y[:50]).save(tmp_path / "model.if2")
    (tmp_path / "other").touch()
    modes = {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
    assert len(modes) == 1


def test_saving_to_a_missing_folder_or_over_a_folder_is_refused(new_learner, digits, tmp_path):
    X, y = digits
    learner = new_learner().learn(X[:50], y[:50])
    with pytest.raises(ModelFileError, match="does not exist; create it"):
        learner.save(tmp_path / "missing" / "model.if2")
    with pytest.raises(ModelFileError, match="is a folder; give the name"):
        learner.save(tmp_path)
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------------- damaged and foreign files


def test_a_file_cut_short_is_refused(small_file, tmp_path):
    path = tmp_path / "cut.if2"
    (header,) = struct.unpack("<Q", small_file[:8])
    lengths = {0, 1, 7, 8, 9, header // 2, header + 7, header + 8, header + 9, len(small_file) - 1}
    for length in sorted(lengths | set(range(0, len(small_file), 1009))):
        path.write_bytes(small_file[:length])
        assert_refused(path)


def test_a_file_with_extra_bytes_is_refused(small_file, tmp_path):
    path = tmp_path / "long.if2"
    path.write_bytes(small_file + b"\0")
    assert_refused(path)


def test_a_file_with_one_flipped_bit_is_refused(small_file, tmp_path):
    path = tmp_path / "flipped.if2"
    (header,) = struct.unpack("<Q", small_file[:8])
    for position in [*range(8 + header), *range(8 + header, len(small_file), 211), len(small_file) - 1]:
        flipped = bytearray(small_file)
        flipped[position] ^= 1 << position % 8
        path.write_bytes(flipped)
        assert_refused(path)


@pytest.mark.parametrize(("step", "advice"), [(1, "upgrade if2net"), (-1, "learn the model again")])
def test_a_file_of_another_format_is_refused(new_learner, digits, tmp_path, monkeypatch, step, advice):
    X, y = digits
    path, other = tmp_path / "other.if2", modelfile.FORMAT + step
    with monkeypatch.context() as patch:
        patch.setattr(modelfile, "FORMAT", other)
        new_learner().learn(X[:50], y[:50]).save(path)
    assert_refused(path, rf"format {other}, .* reads format {modelfile.FORMAT}; {advice}")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a model file"),
        (b"Dear diary, today I saw a wren. " * 20, "not a model file"),
        (pickle.dumps({"a": 1}), "not a model file"),
        (b"\xff" * 100, "not a model file"),
    ],
    ids=["empty", "text", "pickle", "ones"],
)
def test_a_file_that_is_no_model_is_refused(tmp_path, content, message):
    path = tmp_path / "other.if2"
    path.write_bytes(content)
    assert_refused(path, message)


@pytest.mark.parametrize("metadata", [None, {"format": "pt"}], ids=["no metadata", "metadata of torch"])
def test_another_safetensors_file_is_refused(tmp_path, metadata):
    path = tmp_path / "other.safetensors"
    save_file({"weight": torch.zeros(3)}, path, metadata)
    assert_refused(path, "a safetensors file but not an if2net model")


@pytest.mark.parametrize(
    ("name", "hint"),
    [("", "is empty"), ("a\0b", "choose another name"), ("a\ud800", "choose another name"), ("x" * 300, "name")],
    ids=["empty", "NUL", "half of a surrogate pair", "too long"],
)
def test_a_name_that_no_file_can_have_is_refused(new_learner, digits, tmp_path, monkeypatch, name, hint):
    monkeypatch.chdir(tmp_path)
    net = new_learner().learn(*digits)
    for action in (net.save, IF2Net.load):
        with pytest.raises(ModelFileError, match=hint) as caught:
            action(name)
        str(caught.value).encode()  # can be printed
    assert not list(tmp_path.iterdir())


def test_a_path_without_a_file_is_refused(tmp_path):
    assert_refused(tmp_path / "missing.if2", "There is no model file at")
    assert_refused(tmp_path, "is a folder, not a model file")


def test_a_file_that_lacks_a_part_of_the_model_is_refused(tmp_path):
    path = tmp_path / "part.if2"
    modelfile.write(path, {"encoder.mean": torch.zeros(3)}, {"config": {}, "classes": [], "tasks": 0})
    assert_refused(path, "does not hold a whole if2net model")


@pytest.mark.parametrize(("kind", "words"), [("backbone", "a backbone"), ("innate", "an innate encoder")])
def test_a_file_of_another_kind_is_refused_as_a_model(tmp_path, kind, words):
    path = tmp_path / "other.if2"
    modelfile.write(path, {"weight": torch.zeros(3)}, {"kind": kind})
    assert_refused(path, f"holds {words}, not a model")


def test_a_file_that_is_replaced_while_it_is_read_is_read_whole(new_learner, digits, tmp_path, monkeypatch):
    X, y = digits
    path = tmp_path / "model.if2"
    old, new = new_learner().learn(X[:100], y[:100]), new_learner().learn(X, y)
    old.save(path)
    layout = modelfile._layout

    def replaced(*arguments):
        new.save(path)
        return layout(*arguments)

    monkeypatch.setattr(modelfile, "_layout", replaced)
    assert IF2Net.load(path, device="cpu").samples == 100
    monkeypatch.undo()
    assert IF2Net.load(path, device="cpu").samples == len(y)


def test_a_header_that_claims_more_than_the_file_has_takes_no_memory(tmp_path):
    header = {"__metadata__": {"if2net": "{}", "checksum": "0" * 64, "format": str(modelfile.FORMAT)}}
    header["G"] = {"dtype": "F32", "shape": [1 << 20, 1 << 20], "data_offsets": [0, 4 << 40]}
    raw = json.dumps(header, separators=(",", ":")).encode()
    path = tmp_path / "large.if2"
    path.write_bytes(len(raw).to_bytes(8, "little") + raw)
    assert_refused(path, "do not fill it")


# ---------------------------------------------------------------------- a right checksum and a wrong content


def resized(name, *shape):
    return lambda tensors, header: tensors.update({name: torch.zeros(shape, dtype=tensors[name].dtype)})


def with_value(name, value):
    return lambda tensors, header: tensors[name].view(-1)[:1].fill_(value)


def with_field(field, value):
    return lambda tensors, header: header.update({field: value})


def with_setting(name, value):
    return lambda tensors, header: header["config"].update({name: value})


SPOILED = {
    "a layer of 30,000": with_setting("layers", "30000"),
    "another encoder": with_setting("encoder", "paper"),
    "another rule": with_setting("rule", "ewc"),
    "another precision": with_setting("dtype", "float64"),
    "a billion representations": lambda tensors, header: (
        header["config"].update(representation="per-task"),
        header.update(tasks=10**9),
    ),
    "no seed": with_setting("seed", 2**70),
    "an unknown setting": with_setting("colour", "red"),
    "settings that are a list": with_field("config", []),
    "held.G of another length": resized("held.G", 7),
    "total.G of another length": resized("total.G", 7),
    "Q of another shape": resized("total.Q", 3, 5),
    "two values of encoder.clip": resized("encoder.clip", 2),
    "no features": resized("encoder.mean", 0),
    "a scale of zero": with_value("encoder.scale", 0.0),
    "NaN in G": with_value("total.G", float("nan")),
    "infinity in Q": with_value("total.Q", float("inf")),
    "a negative count": with_value("total.counts", -1),
    "more held out than learned": with_value("held.counts", 1000),
    "counts that are floats": lambda tensors, header: tensors.update({"total.counts": torch.ones(3)}),
    "a tensor too many": lambda tensors, header: tensors.update(other=torch.zeros(1)),
    "a tensor too few": lambda tensors, header: tensors.pop("held.Q"),
    "a class twice": with_field("classes", [0, 1, 1]),
    "classes of two kinds": with_field("classes", [0, 1, "2"]),
    "True and 1": with_field("classes", [0, 1, True]),
    "a class too many": with_field("classes", [0, 1, 2, 3]),
    "classes that are lists": with_field("classes", [[0], [1], [2]]),
    "classes that are text": with_field("classes", "abc"),
    "a class that is NaN": with_field("classes", [0, 1, float("nan")]),
    "a class beyond 64 bits": with_field("classes", [0, 1, 2**64]),
    "negative tasks": with_field("tasks", -1),
    "half a task": with_field("tasks", 0.5),
    "names that are numbers": with_field("feature_names", [1, 2, 3, 4]),
    "too few names": with_field("feature_names", ["a"]),
    "a backbone that is text": with_field("backbone", "resnet"),
    "no library": with_field("library", None),
}


@pytest.mark.parametrize("fault", SPOILED)
def test_a_wrong_content_under_a_right_checksum_is_refused(small_file, tmp_path, fault):
    path = tmp_path / "spoiled.if2"
    path.write_bytes(small_file)
    tensors, header = modelfile.read(path)
    SPOILED[fault](tensors, header)
    modelfile.write(path, tensors, header)
    assert_refused(path, "does not hold a whole if2net model")


@pytest.mark.parametrize("header", [[], None, "text", 3], ids=repr)
def test_a_header_that_is_not_an_object_is_refused(tmp_path, header):
    path = tmp_path / "spoiled.if2"
    modelfile.write(path, {"encoder.mean": torch.zeros(3)}, header)
    assert_refused(path)
