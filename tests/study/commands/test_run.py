"""`if2net run` on pictures: IF2Net sees them through the innate encoder, and the command says so."""

from command_line import if2net

from if2net.study.bench.results import Results


def test_pictures_are_encoded_by_the_innate_encoder_unless_another_is_chosen(pictures, tmp_path):
    words = ("run", "mnist-4/2", "-m", "if2net", "-m", "ncm", "--data", pictures)
    said = if2net(*words, "--set", "if2net.width=0", "--out", tmp_path / "innate")
    assert "the innate encoder for these pictures" in " ".join(said.split())
    assert "ACC: the accuracy after the last task." in said
    settings = Results.read(tmp_path / "innate" / "results.json").settings["if2net"]
    assert (settings["encoder"], settings["image_shape"]) == ("innate", "28x28")
    said = if2net(*words, "--set", "if2net.encoder=wide", "--set", "if2net.width=50", "--out", tmp_path / "wide")
    assert "innate" not in said
    assert Results.read(tmp_path / "wide" / "results.json").settings["if2net"]["encoder"] == "wide"


def test_of_the_innate_features_every_method_gets_the_same_rows_and_if2net_its_nodes(coloured, own_cache, tmp_path):
    words = ("run", "mnist-4/2@innate", "-m", "if2net", "-m", "slda", "--data", coloured)
    said = if2net(*words, "--set", "if2net.width=0", "--out", tmp_path / "out")
    assert "trained on drawings" in " ".join(said.split())
    results = Results.read(tmp_path / "out" / "results.json")
    assert results.settings["if2net"]["encoder"] == "innate"
    assert results.settings["if2net"]["image_shape"] is None
    assert results.settings["slda"]["standardise"] == "intensity"  # from the search on these features
    assert {run.backbone.identity for run in results.runs} == {results.runs[0].backbone.identity}


def test_small_colour_pictures_go_through_the_innate_network_by_default(coloured, own_cache, tmp_path):
    words = ("cifar100-4/2", "-m", "if2net", "-m", "ncm", "--data", coloured, "--set", "if2net.width=0")
    said = if2net("run", *words, "--out", tmp_path / "default")
    assert "The methods get the features of the innate network" in " ".join(said.split())
    results = Results.read(tmp_path / "default" / "results.json")
    assert results.scenario == "cifar100-4/2@innate"
    assert results.settings["if2net"]["encoder"] == "innate"
    said = if2net("run", "cifar100-4/2@pixels", "-m", "ncm", "--data", coloured, "--out", tmp_path / "pixels")
    assert "innate" not in said
