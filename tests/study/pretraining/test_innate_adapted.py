"""Scenarios on networks that are adapted to the first task: tiny networks, a few steps."""

import numpy as np
import pytest
import torch
from command_line import if2net
from PIL import Image

from if2net import modelfile
from if2net.encoder.innate import weights
from if2net.errors import ConfigurationError, InputError
from if2net.images.extractor import load_extractor
from if2net.study.bench.loading import Loader
from if2net.study.data import parse_scenario
from if2net.study.pretraining import held_out, innate_adapted, per_seed
from if2net.study.pretraining.adaptation import Adaptation
from if2net.study.pretraining.preparation import Prepared


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(innate_adapted, "Adaptation", lambda seed: Adaptation(steps=3, batch=2, seed=seed))


@pytest.fixture
def folder(tmp_path):
    """Four classes of four training pictures and one test picture each."""
    random = np.random.default_rng(0)
    for label in ("ant", "bee", "cat", "dog"):
        for part, count in (("train", 4), ("test", 1)):
            place = tmp_path / "data" / "cifar10" / part / label
            place.mkdir(parents=True)
            for number in range(count):
                Image.fromarray(random.integers(0, 256, (32, 32, 3), dtype=np.uint8)).save(place / f"{number}.png")
    return tmp_path / "data"


def prepared(folder, tasks=2, seed=0):
    return per_seed.prepare(parse_scenario(f"cifar10-4/{tasks}@innate-adapted,flip=no"), seed, folder).scenario


def test_each_seed_has_a_network_that_has_seen_its_first_task(folder):
    files = {}
    for seed in (0, 1):
        scenario = prepared(folder, seed=seed)
        files[seed], option = scenario.backbone.split(",")
        assert option == "flip=no"
        order = scenario.class_order(seed, 4)
        _, header = modelfile.read(files[seed])
        assert header["classes"] == [["ant", "bee", "cat", "dog"][number] for number in sorted(order[:2])]
        extractor = load_extractor(scenario.backbone)
        assert extractor.backbone.pretrained_on.endswith("then 2 classes of cifar10, the first task")
        assert not extractor.backbone.seen_classes  # the first task is learned like the others
        assert extractor(np.zeros((1, 32, 32, 3), np.uint8)).shape == (1, 3840)
    assert files[0] != files[1]


def test_a_network_is_adapted_once_and_another_number_of_tasks_has_its_own(folder, monkeypatch):
    wanted = prepared(folder).backbone
    assert prepared(folder, tasks=4).backbone != wanted
    monkeypatch.setattr(innate_adapted, "adapt", lambda *_: pytest.fail("adapted again"))
    assert prepared(folder).backbone == wanted
    monkeypatch.setattr(innate_adapted, "Adaptation", lambda seed: Adaptation(steps=2, seed=seed))
    with pytest.raises(ConfigurationError, match="move it away"):
        prepared(folder)


def test_rows_depend_on_the_seed_and_on_the_number_of_tasks(folder):
    loader = Loader(folder)
    two, four = (parse_scenario(f"cifar10-4/{tasks}@innate-adapted") for tasks in (2, 4))
    first = loader.load(two, 0)
    assert loader.load(two, 0) is first
    for other in (loader.load(two, 1), loader.load(four, 0)):
        assert not np.array_equal(other.train_X, first.train_X)


def test_the_network_of_the_package_stays_as_it_is(folder):
    network = weights.shipped("small", torch.device("cpu"))
    before = network.stem.kernel.weight.clone()
    prepared(folder)
    assert torch.equal(network.stem.kernel.weight, before)


def test_a_first_task_without_readable_pictures_is_refused(folder):
    for path in folder.glob("cifar10/train/*/*"):
        path.write_bytes(b"no picture")
    with pytest.raises(InputError, match="no training image that can be read"):
        prepared(folder)


def test_it_cannot_be_searched(folder):
    with pytest.raises(ConfigurationError, match="has seen the training pictures that a search holds back"):
        per_seed.for_search(parse_scenario("cifar10-4/2@innate-adapted"))


def test_tune_refuses_it_before_the_training(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(innate_adapted, "prepare", lambda *_, **__: pytest.fail("the training began"))
    words = [
        "tune",
        "cifar10-4/2@innate-adapted",
        "-m",
        "if2net",
        "--data",
        folder,
        "--out",
        tmp_path / "search.json",
    ]
    with pytest.raises(ConfigurationError, match="search with innate"):
        if2net(*words)


WRONG_OPTIONS = {
    "innate-adapted,beside=nothing": "no backbone 'nothing'",
    "innate-adapted,wide=2": "no option .* 'wide'",
    "innate-adapted,seed=2": "no option .* 'seed'",
    "held-out,pool=0": "option pool",
    "held-out,beside=innate,beside=pixels": "option beside is given twice",
    "held-out,beside=birds.if2": r"birds\.if2 cannot be beside another backbone",
}


@pytest.mark.parametrize("backbone", WRONG_OPTIONS)
def test_a_wrong_option_is_refused_before_the_training(backbone, folder, monkeypatch):
    for maker in (innate_adapted, held_out):
        monkeypatch.setattr(maker, "prepare", lambda *_, **__: pytest.fail("the training began"))
    with pytest.raises(ConfigurationError, match=WRONG_OPTIONS[backbone]):
        per_seed.prepare(parse_scenario(f"cifar10-4/2@{backbone}"), 0, folder)


@pytest.mark.parametrize(
    ("wrong", "right"), [("innate-adaptd", "innate-adapted"), ("held-ot", "held-out"), ("inate", "innate")]
)
def test_a_misspelt_backbone_of_a_scenario_gets_a_hint(wrong, right, folder):
    with pytest.raises(ConfigurationError, match=f"did you mean '{right}'"):
        per_seed.prepare(parse_scenario(f"cifar10-4/2@{wrong},flip=no"), 0, folder)


def test_the_seed_of_a_search_is_no_wrong_option(folder, monkeypatch):
    monkeypatch.setattr(held_out, "prepare", lambda scenario, *_, **__: Prepared(scenario))
    scenario = per_seed.for_search(parse_scenario("cifar10-4/2@held-out,pool=1"))
    assert per_seed.prepare(scenario, 0, folder).scenario.backbone == "held-out,seed=0,pool=1"
    chosen = parse_scenario("cifar10-4/2@held-out,seed=3")
    assert per_seed.for_search(chosen) == chosen
