import os

import pytest

from if2net.errors import ConfigurationError
from if2net.study.bench.settings import from_command_line, from_file, resolve


def test_the_command_line_has_priority_over_the_file_and_the_file_over_defaults(tmp_path):
    file = tmp_path / "settings.toml"
    file.write_text("width = 300\nridge = 0.5\n[if2net]\nwidth = 400\n")
    given = from_file(file) + from_command_line(["ridge=0.25"])
    settings = resolve(["if2net"], "agnostic", given)["if2net"]
    assert (settings.width, settings.ridge, settings.holdout) == (400, 0.25, 0.1)


def test_a_scoped_setting_reaches_its_method_only():
    settings = resolve(["none", "joint"], "agnostic", from_command_line(["joint.epochs=3"]))
    assert (settings["none"].epochs, settings["joint"].epochs) == (5, 3)


def test_a_shared_key_reaches_every_method_that_knows_it():
    settings = resolve(["if2net", "none"], "agnostic", from_command_line(["epochs=2", "width=50"]))
    assert (settings["if2net"].epochs, settings["none"].epochs, settings["if2net"].width) == (2, 2, 50)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (["widht=5"], "did you mean 'width'"),
        (["width"], "key=value"),
        (["width=wide"], "takes a int"),
        (["joint.epochs=3"], "not among the methods"),
        (["rule=analytical"], "did you mean 'analytic'"),
        (["tweaked=perhaps"], "takes a bool"),
        (["seed=3"], "no setting 'seed'"),
        (["width=5", "width=6"], "setting width is given twice"),
        (["if2net.width=5", "if2net.width=6"], r"setting if2net\.width is given twice"),
    ],
)
def test_a_wrong_setting_is_refused_with_advice(pairs, message):
    with pytest.raises(ConfigurationError, match=message):
        resolve(["if2net"], "agnostic", from_command_line(pairs))


@pytest.mark.parametrize("name", ["ewc", "owm", "eft", "bic"])
def test_batches_and_layers_of_no_size_are_refused(name):
    for setting in ("batch_size=0", "batch_size=-3", "hidden=0"):
        with pytest.raises(ConfigurationError, match="must be at least 1"):
            resolve([name], "agnostic", from_command_line([setting]))


def test_an_unknown_method_offers_the_close_ones():
    with pytest.raises(ConfigurationError, match="did you mean 'joint'"):
        resolve(["jiont"], "agnostic", [])


def test_none_and_auto_leave_a_setting_open():
    assert resolve(["if2net"], "agnostic", from_command_line(["ridge=auto"]))["if2net"].ridge is None


def test_where_the_task_is_known_the_papers_layers_are_the_default():
    settings = resolve(["if2net"], "aware", [])["if2net"]
    assert (settings.encoder, settings.representation) == ("paper", "per-task")


def test_a_broken_file_is_refused_by_name(tmp_path):
    file = tmp_path / "broken.toml"
    file.write_text("width = = 3")
    with pytest.raises(ConfigurationError, match=r"broken\.toml"):
        from_file(file)
    file.write_bytes(b"# caf\xe9")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        from_file(file)


@pytest.mark.parametrize(
    "text",
    ["epochs = [1]", "epochs = 1979-05-27", "epochs = inf", "epochs = 3.7", f"epochs = {'[' * 5000}"],
    ids=lambda text: text[:20],
)
def test_a_value_in_a_file_that_is_no_whole_number_is_refused(tmp_path, text):
    (tmp_path / "s.toml").write_text(text)
    with pytest.raises(ConfigurationError):
        resolve(["ewc"], "agnostic", from_file(tmp_path / "s.toml"))


def test_a_pipe_is_refused_instead_of_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.toml")
    with pytest.raises(ConfigurationError, match="not a regular file"):
        from_file(tmp_path / "pipe.toml")


@pytest.mark.parametrize("name", ["none", "auto"])
def test_none_and_auto_are_names_where_text_is_asked_for(name):
    settings = resolve(["if2net"], "agnostic", from_command_line([f"standardise={name}", f"ridge={name}"]))["if2net"]
    assert (settings.standardise, settings.ridge) == (name, None)
