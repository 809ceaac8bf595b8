"""`if2net serve`: errors before it begins."""

import pytest
from command_line import if2net
from sklearn.datasets import load_iris

from if2net import IF2Net
from if2net.errors import IF2NetError


@pytest.fixture
def model():
    return IF2Net(width=10, device="cpu").learn(*load_iris(return_X_y=True))


@pytest.mark.parametrize(
    ("change", "words", "option"),
    [
        (lambda net: net.predictor(), [], "set --read-only"),
        (lambda net: net, ["--backbone", "pixels"], "leave --backbone out"),
        (lambda net: net, ["--host", "192.0.2.1"], "choose another --host or --port"),
    ],
    ids=["read-only", "backbone", "host"],
)
def test_errors_name_the_options_of_the_command(change, words, option, model, tmp_path):
    change(model).save(tmp_path / "m.if2")
    with pytest.raises(IF2NetError, match=option):
        if2net("serve", tmp_path / "m.if2", "--port", 0, *words)
