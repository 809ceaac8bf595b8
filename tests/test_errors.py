"""Errors that suggest similar names, in one family that a user can catch."""

import pytest

from if2net import IF2NetError, errors


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("if2nett", "There is no method 'if2nett'; did you mean 'if2net'? Known: if2net, joint, none."),
        ("IF2NET", "There is no method 'IF2NET'; did you mean 'if2net'?"),
        ("zzz", "There is no method 'zzz'. Known: if2net, joint, none."),
        (None, "There is no method None"),
    ],
)
def test_an_unknown_name_is_refused_with_similar_ones(name, message):
    error = errors.unknown("method", name, {"none", "joint", "if2net"})
    assert isinstance(error, errors.ConfigurationError)
    assert str(error).startswith(message)
    assert str(error).endswith(".")


@pytest.mark.parametrize(
    "kind", ["InputError", "ModelFileError", "OutputError", "ConfigurationError", "NumericalError"]
)
def test_every_error_is_an_if2net_error_and_a_value_error(kind):
    assert issubclass(getattr(errors, kind), IF2NetError)
    assert issubclass(IF2NetError, ValueError)


def test_of_many_known_names_the_nearest_are_listed():
    message = str(errors.unknown("column", "width7", [f"width{number}" for number in range(1000)]))
    assert "did you mean 'width7'" in message
    assert "Some of 1,000: width7, " in message
    assert len(message) < 400
