"""Settings: misspelt names and unsuitable values are refused, and the classifier shares the defaults."""

import inspect
import json
import re
import subprocess
import sys
from dataclasses import fields

import numpy as np
import pytest

from if2net import Config, IF2Net, IF2NetClassifier
from if2net.config import resolve_device
from if2net.errors import ConfigurationError


def test_every_setting_is_described_with_its_default():
    for setting in fields(Config):
        default = setting.default if setting.name != "mu" else "2**-30"
        shown = f'"{default}"' if isinstance(default, str) and setting.name != "mu" else default
        assert re.search(rf"^    {setting.name} : .*, default={re.escape(str(shown))}$", Config.__doc__, re.MULTILINE)


@pytest.mark.parametrize(
    ("settings", "similar"),
    [
        ({"ridgee": 1.0}, "'ridge'"),
        ({"encoder": "wid"}, "'wide'"),
        ({"rule": "analytical"}, "'analytic'"),
        ({"representation": "per_task"}, "'per-task'"),
        ({"activation": "reluu"}, "'relu'"),
        ({"standardise": "features"}, "'feature'"),
        ({"solver": "fist"}, "'fista'"),
        ({"projector": "exakt"}, "'exact'"),
        ({"initialisation": "randum"}, "'random'"),
        ({"dtype": "float"}, "'float32' or 'float64'|'float64' or 'float32'"),
        ({"device": "cud"}, "'cuda'"),
    ],
    ids=str,
)
def test_a_misspelt_setting_is_refused_with_similar_names(settings, similar):
    with pytest.raises(ConfigurationError, match=f"did you mean ({similar})"):
        IF2Net(**settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"ridge": 0},
        {"ridge": -1.0},
        {"ridge": float("nan")},
        {"holdout": 1.0},
        {"holdout": -0.1},
        {"encoder": "wide", "width": 0},
        {"epochs": -1},
        {"batch_size": 0},
        {"rule": None},
        {"device": None},
    ],
    ids=str,
)
def test_a_value_out_of_range_is_refused(settings):
    with pytest.raises(ConfigurationError, match=r"\.$"):
        Config.of(**settings)


@pytest.mark.parametrize(
    "settings",
    [{"layers": "10by10"}, {"layers": "0x5"}, {"rule": "gradient", "step": 2.5}],
    ids=str,
)
def test_a_value_that_is_checked_while_learning_leaves_the_learner_unfitted(digits, new_learner, unchanged, settings):
    X, y = digits
    learner = new_learner(**settings)
    with unchanged(learner), pytest.raises(ConfigurationError, match=r"\.$"):
        learner.learn(X[:20], y[:20])


def test_a_configuration_and_single_settings_exclude_each_other():
    with pytest.raises(ConfigurationError, match="not both"):
        IF2Net(Config(), width=5)


def test_cuda_is_refused_where_there_is_none(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(ConfigurationError, match="choose device='cpu'"):
        Config(device="cuda").torch_device  # noqa: B018
    assert Config(device="auto").torch_device.type == "cpu"


def test_the_classifier_has_the_defaults_of_config():
    parameters = inspect.signature(IF2NetClassifier).parameters
    defaults = {field.name: field.default for field in fields(Config)}
    own = {name: parameter.default for name, parameter in parameters.items() if name in defaults}
    assert own == {name: defaults[name] for name in own}
    assert parameters.keys() - own.keys() == {"config", "random_state"}


def test_config_sets_what_is_no_parameter_of_the_classifier(digits):
    X, y = digits
    classifier = IF2NetClassifier(width=60, device="cpu", random_state=0, config={"activation": "tanh"})
    assert classifier.fit(X[:50], y[:50]).learner_.config.activation == "tanh"


@pytest.mark.parametrize(
    ("further", "message"),
    [
        ({"width": 10}, "'width' is a parameter of its own"),
        ({"seed": 1}, r"parameter of its own \(random_state\)"),
        ({"representation": "per-task"}, "predicts without a task"),
        ({"activatio": "tanh"}, "did you mean 'activation'"),
        (Config(), "config takes a dict"),
    ],
    ids=["a parameter", "the seed", "a representation per task", "a misspelt name", "a Config"],
)
def test_a_config_that_the_classifier_cannot_use_is_refused(digits, unchanged, further, message):
    classifier = IF2NetClassifier(config=further)
    with unchanged(classifier), pytest.raises(ConfigurationError, match=message):
        classifier.fit(*digits)


def test_a_configuration_can_be_restored_from_its_dictionary():
    config = Config(encoder="paper", ridge=0.5, seed=7)
    assert Config.of(**config.as_dict()) == config


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import if2net; dir(if2net); if2net.__version__", {"torch", "sklearn", "numpy", "safetensors"}),
        ("from if2net import Config, IF2Net, IF2NetError", {"sklearn", "pandas"}),
    ],
)
def test_imports_load_only_the_libraries_they_need(statement, absent):
    code = f"{statement}; import sys; print(*(set(sys.modules) & {absent}))"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.split() == []


def test_every_public_name_exists_and_no_other():
    import if2net

    assert all(getattr(if2net, name) is not None for name in if2net.__all__)
    assert set(if2net.__all__) == set(dir(if2net))
    with pytest.raises(AttributeError, match="no attribute 'IF2Nett'"):
        if2net.IF2Nett  # noqa: B018


@pytest.mark.parametrize(
    "setting", [{"width": 2.5}, {"ridge": "a"}, {"epochs": True}, {"tweaked": 1}, {"encoder": None}, {"layers": 100}]
)
def test_a_value_of_the_wrong_type_is_refused(setting):
    with pytest.raises(ConfigurationError, match=f"The setting {next(iter(setting))} takes"):
        Config.of(**setting)


def test_numbers_of_numpy_are_accepted_and_can_be_written_as_json():
    plain = Config.of(width=np.int64(20), ridge=np.float32(0.5), step=1).as_dict()
    assert json.loads(json.dumps(plain))["width"] == 20


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"seed": 2**70}, "seed takes a whole number of 64 bits"),
        ({"seed": 2**40}, "seed must be between 0 and 4,294,967,295"),
        ({"seed": -1}, "seed must be between"),
        ({"alpha": float("nan")}, "alpha takes a finite number"),
        ({"ridge": float("inf")}, "ridge takes a finite number or None"),
        ({"mu": 10**400}, "mu takes a finite number"),
        ({"alpha": 0.0}, "alpha must be positive"),
        ({"initial_samples": -5}, "at least 1"),
    ],
    ids=repr,
)
def test_numbers_that_cannot_be_computed_with_are_refused(settings, message):
    with pytest.raises(ConfigurationError, match=message):
        Config.of(**settings)


@pytest.mark.parametrize("text", ['[["owl", 1' + "0" * 400 + "]]", "[" * 100_000], ids=["huge", "deep"])
def test_class_weights_of_a_forged_file_are_refused(text):
    with pytest.raises(ConfigurationError, match="class_weight is None"):
        Config.of(class_weight=text)


def test_a_huge_whole_number_is_computed_with_like_any_other_number(digits):
    X, y = digits
    net = IF2Net(encoder="linear", rule="ewc", epochs=1, fisher=2**70, device="cpu").learn(X[:50], y[:50])
    assert len(net.learn(X[50:100], y[50:100]).predict(X[:5])) == 5


@pytest.mark.parametrize("name", ["cpu:", "cpu:7", "cuda:x", "cuda:99", "cpu:-1"])
def test_a_device_that_does_not_exist_is_refused(name):
    with pytest.raises(ConfigurationError):
        resolve_device(name)


def test_a_classifier_refuses_settings_that_have_no_name(digits):
    with pytest.raises(ConfigurationError, match="config takes a dict of settings"):
        IF2NetClassifier(config={1: 2}).fit(*digits)
    with pytest.raises(ConfigurationError, match="seed"):
        IF2NetClassifier(random_state=2**70).fit(*digits)
