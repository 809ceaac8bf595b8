import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image

from if2net import modelfile
from if2net.errors import ConfigurationError, InputError, OutputError
from if2net.images.backbones.resnet import ARCHITECTURES
from if2net.study.bench.loading import Loader, load_rows
from if2net.study.bench.runner import run_plans
from if2net.study.bench.search import search
from if2net.study.bench.settings import resolve
from if2net.study.bench.stream import Plan
from if2net.study.data import load_images, parse_scenario
from if2net.study.pretraining import held_out, preparation
from if2net.study.pretraining.held_out import with_seed
from if2net.study.pretraining.per_seed import prepare
from if2net.study.pretraining.training import Recipe


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Use a network and a recipe that train in a second."""
    monkeypatch.setitem(ARCHITECTURES, "resnet18", ((4, 8), 1))
    monkeypatch.setattr("if2net.images.backbones.file.DEFAULTS", {"resnet18": {"depths": (1, 2), "pool": 1}})
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


def test_the_backbone_of_a_seed_is_trained_on_the_classes_that_it_does_not_learn(five_colours):
    data = {seed: load_rows(scenario(five_colours), seed=seed)[0] for seed in (0, 1)}
    for seed, rows in data.items():
        learned = {f"class{label}" for label in np.unique(rows.train_y)}
        path = prepare(scenario(five_colours), seed).scenario.backbone
        _, header = modelfile.read(path)
        assert len(learned) == 2
        assert set(header["classes"]) == {f"class{number}" for number in range(5)} - learned
    assert data[0].train_X.shape[1] == 4 + 8


def test_a_backbone_is_trained_once(five_colours):
    epochs = []
    first, again = (prepare(scenario(five_colours), 0, show=lambda *step: epochs.append(step)) for _ in range(2))
    assert first == again
    assert len(epochs) == 1


def test_a_backbone_of_another_recipe_is_not_used(five_colours, monkeypatch):
    prepare(scenario(five_colours), 0)
    monkeypatch.setattr(held_out, "recipe_for", lambda _, seed: Recipe(epochs=2, size=8, seed=seed))
    with pytest.raises(ConfigurationError, match=r"with other settings\. Move it away"):
        prepare(scenario(five_colours), 0)


def test_each_seed_is_run_on_the_features_of_its_own_backbone(five_colours, tmp_path):
    wanted = Plan(scenario(five_colours), resolve(["ncm"], "agnostic", []), (0, 1))
    (results,) = run_plans([(wanted, tmp_path)], Loader())
    orders = [set(run.class_order) for run in results.runs]
    assert orders[0] != orders[1]
    assert results.scenario.endswith("@held-out")


def test_a_search_uses_the_backbone_of_the_first_seed(five_colours):
    found = search(scenario(five_colours), Loader(), "acil", {"gamma": ["1", "2"]}, fixed=[(None, "width", 8)])
    assert found.scenario.endswith("@held-out,seed=0")
    assert prepare(with_seed(scenario(five_colours), 0), 7).scenario == prepare(scenario(five_colours), 0).scenario


def test_options_of_the_features_may_follow_the_name(five_colours):
    rows, _ = load_rows(parse_scenario(f"folder:{five_colours}-2/2@held-out,depths=2,pool=2"))
    assert rows.train_X.shape[1] == 8 * 4


def test_folders_of_the_same_name_have_their_own_backbones(five_colours, tmp_path):
    prepare(scenario(five_colours), 0)
    elsewhere = shutil.copytree(five_colours, tmp_path / "elsewhere" / five_colours.name)
    for folder in (five_colours, elsewhere):
        _, header = modelfile.read(prepare(scenario(folder), 0).scenario.backbone)
        assert header["dataset"] == f"folder:{folder}"


def test_relative_and_absolute_paths_give_the_same_backbone(five_colours, tmp_path, monkeypatch):
    wanted = prepare(scenario(five_colours), 0).scenario.backbone
    monkeypatch.chdir(tmp_path)
    assert prepare(scenario(five_colours.name), 0).scenario.backbone == wanted
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(shutil.copytree(five_colours, tmp_path / "elsewhere" / five_colours.name).parent)
    assert prepare(scenario(five_colours.name), 0).scenario.backbone != wanted


def test_a_folder_whose_classes_have_changed_is_refused(five_colours):
    prepare(scenario(five_colours), 0)
    for number in range(5):
        (five_colours / f"class{number}").rename(five_colours / f"other{number}")
    with pytest.raises(ConfigurationError, match=r"images-3-0-.*\.if2 .*on other images or classes .*Move it away"):
        prepare(scenario(five_colours), 0)


def test_the_backbone_of_a_published_data_set_is_named_after_it(five_colours, monkeypatch):
    images = replace(load_images(f"folder:{five_colours}"), name="cifar100")
    monkeypatch.setattr(preparation, "load_images", lambda *_: images)
    assert prepare(parse_scenario("cifar100-2/2@held-out"), 0).scenario.backbone.endswith(
        "/backbones/cifar100-3-0.if2"
    )


def test_the_path_of_the_cache_may_have_commas(five_colours, tmp_path, monkeypatch):
    monkeypatch.setenv("IF2NET_CACHE", str(tmp_path / "features, backbones=1"))
    rows, _ = load_rows(parse_scenario(f"folder:{five_colours}-2/2@held-out,depths=2"))
    assert rows.train_X.shape[1] == 8


def test_a_cache_folder_that_is_a_file_is_an_error_that_says_what_to_do(five_colours, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("IF2NET_CACHE", str(tmp_path / "file"))
    with pytest.raises(OutputError, match=r"set IF2NET_CACHE to a folder"):
        prepare(scenario(five_colours), 0)


def train(folder, out, **more):
    return held_out.train(load_images(f"folder:{folder}"), 3, Recipe(epochs=1, batch_size=2, size=8, **more), out)


def test_a_finished_training_is_not_repeated(five_colours, tmp_path, monkeypatch):
    assert train(five_colours, tmp_path / "b.if2") == {}
    before = (tmp_path / "b.if2").read_bytes()
    monkeypatch.setattr(preparation, "read_image", lambda *_: pytest.fail("read again"))
    assert train(five_colours, tmp_path / "b.if2") is None
    assert (tmp_path / "b.if2").read_bytes() == before


def test_another_file_is_not_overwritten(five_colours, tmp_path):
    train(five_colours, tmp_path / "b.if2")
    modelfile.write(tmp_path / "model.if2", {"a": torch.zeros(1)}, {"config": {}})
    (tmp_path / "text.if2").write_text("hello")
    (tmp_path / "folder.if2").mkdir()
    before = {path: path.read_bytes() for path in tmp_path.glob("*.if2") if path.is_file()}
    for name in ("b.if2", "model.if2", "text.if2", "folder.if2"):
        with pytest.raises(ConfigurationError, match=rf"{name} exists already .*Move it away, or choose another"):
            train(five_colours, tmp_path / name, seed=1)
    assert {path: path.read_bytes() for path in before} == before


def test_images_that_cannot_be_read_are_left_out_of_the_training(five_colours):
    broken = load_images(f"folder:{five_colours}").train.paths[::10]
    for path in broken:
        path.write_bytes(b"no image")
    left_out = prepare(scenario(five_colours), 0).left_out
    assert left_out
    assert set(left_out) < set(broken)
    assert all("cannot be read" in reason for reason in left_out.values())


def test_a_class_without_readable_images_is_an_error(five_colours, tmp_path):
    for image in (five_colours / "class1").iterdir():
        image.write_bytes(b"no image")
    with pytest.raises(InputError, match=r"The classes class1 have no training image .*class1.*png cannot be read"):
        prepare(scenario(five_colours), 0)
    for image in five_colours.rglob("*.png"):
        image.write_bytes(b"no image")
    with pytest.raises(InputError, match=r"The classes class\d, class\d, class\d have"):
        train(five_colours, tmp_path / "b.if2")
    assert not list(tmp_path.rglob("*.if2*"))


def test_a_seed_that_is_given_twice_is_refused(five_colours):
    with pytest.raises(ConfigurationError, match="option seed is given twice"):
        prepare(parse_scenario(f"folder:{five_colours}-2/2@held-out,seed=1,seed=2"), 0)


def test_a_seed_that_is_not_a_number_is_refused(five_colours):
    with pytest.raises(ConfigurationError, match="whole number of at least 0, not 'one'"):
        prepare(parse_scenario(f"folder:{five_colours}-2/2@held-out,seed=one"), 0)
