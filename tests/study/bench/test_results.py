import math
import platform
from pathlib import Path

import pytest

from if2net.errors import NumericalError
from if2net.study.bench.results import environment, write_json


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_does_not_have_are_refused_and_the_old_file_stays(number, tmp_path):
    path = tmp_path / "results.json"
    write_json(path, {"acc": 0.5})
    before = path.read_bytes()
    with pytest.raises(NumericalError, match=r"results\.json was not written.*without test samples"):
        write_json(path, {"runs": [{"R": [[number]]}]})
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("content", "asked", "name"),
    [
        ("processor\t: 0\nmodel name\t: Some Core: 9\nmodel name\t: Another\n", "", "Some Core: 9"),
        ("processor\t: 0\n", "arm", "arm"),
        (None, "", "not known"),
    ],
    ids=["in the file", "asked for", "nowhere"],
)
def test_the_environment_names_the_processor(content, asked, name, monkeypatch):
    def read(_path):
        if content is None:
            raise FileNotFoundError
        return content

    monkeypatch.setattr(Path, "read_text", read)
    monkeypatch.setattr(platform, "processor", lambda: asked)
    assert environment("cpu")["processor"] == name
