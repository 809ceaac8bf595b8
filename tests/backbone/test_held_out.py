import shutil

import numpy as np
import pytest
from PIL import Image

from if2net import modelfile
from if2net.backbone import held_out
from if2net.backbone.held_out import resolved, with_seed
from if2net.backbone.pretraining import Recipe
from if2net.backbone.resnet import ARCHITECTURES
from if2net.backbone.rows import load_rows
from if2net.bench.runner import run_plans
from if2net.bench.search import search
from if2net.bench.settings import resolve
from if2net.bench.stream import Plan
from if2net.data import parse_scenario
from if2net.errors import ConfigurationError


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """A network and a training that take a second."""
    monkeypatch.setitem(ARCHITECTURES, "resnet18", ((4, 8), 1))
    monkeypatch.setattr("if2net.backbone.file.DEFAULTS", {"resnet18": {"depths": (1, 2), "pool": 1}})
    monkeypatch.setattr(held_out, "recipe_for", lambda _, seed: Recipe(epochs=1, batch_size=2, size=8, seed=seed))


@pytest.fixture
def five_colours(tmp_path):
    """Five classes of twelve images."""
    random = np.random.default_rng(0)
    for number in range(5):
        for image in range(12):
            pixels = random.integers(0, 60, (8, 8, 3), dtype=np.uint8)
            pixels[:, :, number % 3] += 60 * (1 + number // 3)
            folder = tmp_path / "images" / f"class{number}"
            folder.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).save(folder / f"{image}.png")
    return tmp_path / "images"


def scenario(folder):
    return parse_scenario(f"folder:{folder}-2/2@held-out")


def test_every_seed_has_a_backbone_of_the_classes_that_it_does_not_learn(five_colours):
    data = {seed: load_rows(scenario(five_colours), seed=seed)[0] for seed in (0, 1)}
    for seed, rows in data.items():
        learned = {f"class{label}" for label in np.unique(rows.train_y)}
        path = resolved(scenario(five_colours), seed).backbone
        _, header = modelfile.read(path)
        assert len(learned) == 2
        assert set(header["classes"]) == {f"class{number}" for number in range(5)} - learned
    assert data[0].train_X.shape[1] == 4 + 8


def test_a_backbone_is_trained_once(five_colours):
    seen = []
    first = resolved(scenario(five_colours), 0, show=seen.append)
    again = resolved(scenario(five_colours), 0, show=seen.append)
    assert first == again
    assert len(seen) == 1


def test_a_backbone_of_another_recipe_is_not_used(five_colours, monkeypatch):
    resolved(scenario(five_colours), 0)
    monkeypatch.setattr(held_out, "recipe_for", lambda _, seed: Recipe(epochs=2, size=8, seed=seed))
    with pytest.raises(ConfigurationError, match=r"with other settings; move it away"):
        resolved(scenario(five_colours), 0)


def test_streams_of_two_seeds_are_run_on_their_own_features(five_colours, tmp_path):
    wanted = Plan(scenario(five_colours), resolve(["ncm"], "agnostic", []), (0, 1))
    (results,) = run_plans([(wanted, tmp_path)], None)
    orders = [set(run["class_order"]) for run in results["runs"]]
    assert orders[0] != orders[1]
    assert results["scenario"].endswith("@held-out")


def test_a_search_uses_the_backbone_of_the_first_seed(five_colours):
    found = search(scenario(five_colours), None, "acil", {"gamma": ["1", "2"]}, fixed=[(None, "width", 8)])
    assert found["scenario"].endswith("@held-out,seed=0")
    assert resolved(with_seed(scenario(five_colours), 0), 7) == resolved(scenario(five_colours), 0)


def test_options_of_the_features_may_follow(five_colours):
    rows, _ = load_rows(parse_scenario(f"folder:{five_colours}-2/2@held-out,depths=2,pool=2"))
    assert rows.train_X.shape[1] == 8 * 4


def test_a_folder_of_the_same_name_elsewhere_is_not_taken_for_this_one(five_colours, tmp_path):
    resolved(scenario(five_colours), 0)
    elsewhere = shutil.copytree(five_colours, tmp_path / "elsewhere" / five_colours.name)
    with pytest.raises(ConfigurationError, match="on other images"):
        resolved(scenario(elsewhere), 0)


def test_a_seed_that_is_no_number_is_refused(five_colours):
    with pytest.raises(ConfigurationError, match="whole number from 0 on, not 'one'"):
        resolved(parse_scenario(f"folder:{five_colours}-2/2@held-out,seed=one"), 0)
