"""Models on the Hugging Face Hub, with a folder in the place of the Hub."""

import shutil
import sys
from types import ModuleType

import numpy as np
import pytest

from if2net import IF2NetClassifier, load
from if2net.errors import ConfigurationError, InputError, ModelFileError
from if2net.export import from_hub, push_to_hub
from if2net.export.hub import model_card


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A stand-in for the package huggingface_hub that keeps repositories in a folder, which it returns."""
    folder = tmp_path / "hub"

    class HfApi:
        def __init__(self, token=None):
            self.token = token

        def create_repo(self, repo_id, *, private, exist_ok):
            (folder / repo_id).mkdir(parents=True, exist_ok=exist_ok)
            return f"https://hub/{repo_id}"

        def upload_folder(self, *, repo_id, folder_path, commit_message):
            shutil.copytree(folder_path, folder / repo_id, dirs_exist_ok=True)

    def hf_hub_download(repo_id, filename, *, revision, token):
        path = folder / repo_id / filename
        if not path.exists():
            raise OSError(f"404 Client Error for {repo_id}.\nRequest ID: 1")
        return str(path)

    package = ModuleType("huggingface_hub")
    package.HfApi, package.hf_hub_download = HfApi, hf_hub_download
    monkeypatch.setitem(sys.modules, "huggingface_hub", package)
    return folder


@pytest.fixture
def classifier(digits, new_classifier):
    X, y = digits
    return new_classifier().fit(X, np.array([f"digit {label}" for label in y]))


def test_a_model_comes_back_from_the_hub(hub, classifier, digits):
    X, y = digits
    assert push_to_hub(classifier, "me/digits") == "https://hub/me/digits"
    assert sorted(path.name for path in (hub / "me/digits").iterdir()) == ["README.md", "model.safetensors"]
    again = from_hub("me/digits", device="cpu")
    np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))
    again.partial_fit(X[y == 0], ["zero"] * int((y == 0).sum()))


def test_a_model_that_only_predicts_can_be_pushed(hub, classifier, digits):
    push_to_hub(classifier, "me/digits", predict_only=True)
    assert load(hub / "me/digits/model.safetensors").learner_.predicts_only
    assert "only predicts" in (hub / "me/digits/README.md").read_text()


def test_the_card_describes_the_model(classifier):
    figures = {"accuracy": 0.98765, "samples": 360, "classes": []}
    card = model_card(classifier.learner_, "me/digits", "apache-2.0", figures)
    assert card.startswith("---\nlibrary_name: if2net\npipeline_tag: tabular-classification\n")
    for part in (
        "license: apache-2.0",
        "# digits",
        'from_hub("me/digits")',
        "10 classes, learned from 1,797 samples",
        "| encoder | wide, 64 features, width 125 |",
        "| test accuracy | 0.9877 |",
        "| digit 3 | 183 |",
    ):
        assert part in card


def test_the_card_of_an_image_model_names_its_backbone_and_licence(classifier):
    net = classifier.learner_
    net.backbone = {"text": "efficientnet-lite0,pool=2", "identity": "0"}
    card = model_card(net, "me/photos")
    assert "pipeline_tag: image-classification" in card
    assert "| backbone | efficientnet-lite0,pool=2 |" in card
    assert "| licence of the backbone | Apache-2.0 |" in card
    assert "license:" not in card


def test_names_of_classes_cannot_change_the_card(new_classifier):
    X = np.random.default_rng(0).normal(size=(40, 3))
    names = np.repeat(["<script>", "a | b\n# title"], 20)
    card = model_card(new_classifier(width=5).fit(X, names).learner_, "me/m")
    assert "| &lt;script&gt; | 20 |" in card
    assert "| a &#124; b # title | 20 |" in card


def test_what_goes_wrong_on_the_hub_is_explained(hub, classifier, monkeypatch):
    with pytest.raises(ConfigurationError, match=r"me/none cannot .* \(404 Client Error .*\); check its name"):
        from_hub("me/none")
    with pytest.raises(InputError, match="Nothing has been learned"):
        push_to_hub(IF2NetClassifier(), "me/digits")
    assert not hub.exists()
    push_to_hub(classifier, "me/digits")
    (hub / "me/digits/model.safetensors").write_bytes(b"\x80\x04 a pickle")
    with pytest.raises(ModelFileError, match="is not a model file"):
        from_hub("me/digits")
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'if2net\[hub\]'"):
        from_hub("me/digits")
