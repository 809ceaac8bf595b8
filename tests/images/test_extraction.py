import multiprocessing

import numpy as np
import pytest
import torch

from if2net.errors import OutputError
from if2net.images.backbones.network import Network
from if2net.images.cache import DIGEST, FeatureCache
from if2net.images.extraction import compute, extract
from if2net.images.extractor import Extractor, load_extractor
from if2net.images.files import images_under


@pytest.fixture
def paths(photographs):
    return images_under(photographs)


def test_a_feature_from_the_cache_equals_a_fresh_one_to_the_bit(paths, extractor):
    first = extract(paths, extractor)
    cached = extract(paths, extractor)
    fresh = np.stack([extract([path], extractor, FeatureCache("fresh")).X[0] for path in paths])
    np.testing.assert_array_equal(cached.X, first.X)
    np.testing.assert_array_equal(fresh, first.X)


def test_nothing_is_computed_twice(paths, extractor, monkeypatch):
    first = extract(paths, extractor)
    monkeypatch.setattr("if2net.images.extraction.read_image", lambda *_: pytest.fail("read again"))
    np.testing.assert_array_equal(extract(paths[::-1], extractor).X[::-1], first.X)


def test_a_moved_or_copied_file_is_the_same_image(paths, extractor, tmp_path, monkeypatch):
    wanted = extract(paths[:1], extractor).X
    (tmp_path / "copy.png").write_bytes(paths[0].read_bytes())
    monkeypatch.setattr("if2net.images.extraction.read_image", lambda *_: pytest.fail("read again"))
    np.testing.assert_array_equal(extract([tmp_path / "copy.png"], extractor).X, wanted)


def test_a_file_with_new_content_is_computed_anew(paths, extractor):
    before = extract(paths[:1], extractor).X
    paths[0].write_bytes(paths[-1].read_bytes())
    assert not np.array_equal(extract(paths[:1], extractor).X, before)


def test_what_cannot_be_read_is_named_and_the_rest_is_done(paths, extractor, tmp_path):
    broken, empty = tmp_path / "broken.jpg", tmp_path / "empty.png"
    broken.write_bytes(b"not an image")
    empty.touch()
    wanted = [broken, *paths[:3], empty, tmp_path / "absent.png", paths[3], broken]
    found = extract(wanted, extractor)
    assert found.kept.tolist() == [False, True, True, True, False, False, True, False]
    assert set(found.refused) == {broken, empty, tmp_path / "absent.png"}
    assert all(str(path) in reason for path, reason in found.refused.items())
    np.testing.assert_array_equal(found.X, extract(paths[:4], extractor).X)


def test_all_refused_gives_no_rows(extractor, tmp_path):
    found = extract([tmp_path / "absent.png"], extractor)
    assert len(found.X) == 0
    assert len(found.refused) == 1


def test_weights_and_threads_are_as_before(paths, network, extractor):
    before = {name: tensor.clone() for name, tensor in network._module.state_dict().items()}
    threads = torch.get_num_threads()
    extract(paths, extractor)
    assert all(torch.equal(before[name], tensor) for name, tensor in network._module.state_dict().items())
    assert torch.get_num_threads() == threads


def test_batches_larger_than_one_give_each_image_its_own_features(paths, network, extractor, tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    network.batch_size = 5
    broken = tmp_path / "broken.png"
    broken.touch()
    with ThreadPoolExecutor(2) as pool:
        rows = list(compute([paths[0], broken, *paths[1:]], extractor, pool))
        alone = list(compute(paths[3:4], extractor, pool))
    assert isinstance(rows[1], str)
    np.testing.assert_array_equal(rows[4], alone[0])
    assert len(rows) == len(paths) + 1


def test_a_damaged_cache_file_is_computed_again(paths, extractor):
    wanted = extract(paths, extractor).X
    for file in FeatureCache(extractor.identity).folder.glob("*.rows.npy"):
        file.write_bytes(file.read_bytes()[:50])
    np.testing.assert_array_equal(extract(paths, extractor).X, wanted)


def _extract_pixels(paths, queue):
    found = extract(paths, load_extractor("pixels"))
    queue.put(found.X.sum())


def test_two_processes_at_once_share_one_cache(paths):
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    processes = [context.Process(target=_extract_pixels, args=(paths, queue)) for _ in range(2)]
    for process in processes:
        process.start()
    sums = [queue.get(timeout=60) for _ in processes]
    for process in processes:
        process.join()
    assert sums[0] == sums[1]
    folder = FeatureCache(load_extractor("pixels").identity).folder
    assert sum(len(np.load(file)) for file in folder.glob("*.keys.npy")) == len(paths)


def test_rows_without_keys_do_not_count(tmp_path):
    cache = FeatureCache("x", tmp_path)
    digests = np.array([b"a" * 32], dtype=DIGEST)
    cache.add(digests, np.ones((1, 2), np.float32))
    next(cache.folder.glob("*.keys.npy")).unlink()
    assert not FeatureCache("x", tmp_path).known(digests).any()


def test_another_tap_or_layer_with_the_same_weights_has_features_of_its_own(paths, small_module, preprocessing):
    module, other = small_module(), small_module()
    other[2] = torch.nn.Tanh()
    for network in [(module, ("2",)), (module, ("3",)), (other, ("3",))]:
        extractor = Extractor(Network("mine", network[0], preprocessing, network[1]))
        fresh = extract(paths, extractor, FeatureCache(f"fresh {network[1]}{network[0] is other}"))
        np.testing.assert_array_equal(extract(paths, extractor).X, fresh.X)


def test_an_image_whose_features_are_no_numbers_is_named(paths, preprocessing):
    class Infinite(torch.nn.Module):
        def forward(self, x):
            return (x[:, :1, :1, :1] > 0) / x[:, :1, :1, :1].relu()  # 0/0 where the first pixel is dark

    found = extract(paths, Extractor(Network("mine", Infinite(), preprocessing)))
    assert 0 < len(found.refused) < len(paths)
    assert np.isfinite(found.X).all()
    for path, reason in found.refused.items():
        assert reason.startswith(f"{path} has features that are not finite numbers with the backbone mine")


def test_a_cache_that_is_no_folder_is_an_error_in_words(paths, extractor, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("IF2NET_CACHE", str(tmp_path / "file"))
    with pytest.raises(OutputError, match=r"file.features.* cannot be created .*set IF2NET_CACHE to a folder"):
        extract(paths, extractor)
