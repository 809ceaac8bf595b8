import os
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from processes import forked

from if2net.images.backbones.network import Network
from if2net.images.cache import FeatureCache
from if2net.images.extraction import compute, extract, workers
from if2net.images.extractor import Extractor, load_extractor
from if2net.images.folders import images_under


@pytest.fixture
def paths(pictures):
    return images_under(pictures)


def test_features_from_the_cache_equal_new_ones_to_the_bit(paths, extractor):
    first = extract(paths, extractor)
    cached = extract(paths, extractor)
    fresh = np.stack([extract([path], extractor, FeatureCache("fresh")).X[0] for path in paths])
    np.testing.assert_array_equal(cached.X, first.X)
    np.testing.assert_array_equal(fresh, first.X)


def test_features_are_computed_once(paths, extractor, images_read):
    first = extract(paths, extractor)
    images_read.clear()
    np.testing.assert_array_equal(extract(paths[::-1], extractor).X[::-1], first.X)
    assert not images_read


def test_the_features_of_a_copied_file_are_found_by_its_content(paths, extractor, tmp_path, images_read):
    wanted = extract(paths[:1], extractor).X
    (tmp_path / "copy.png").write_bytes(paths[0].read_bytes())
    images_read.clear()
    np.testing.assert_array_equal(extract([tmp_path / "copy.png"], extractor).X, wanted)
    assert not images_read


def test_a_file_with_new_content_gets_new_features(paths, extractor):
    before = extract(paths[:1], extractor).X
    paths[0].write_bytes(paths[-1].read_bytes())
    assert not np.array_equal(extract(paths[:1], extractor).X, before)


def test_unreadable_files_are_left_out_with_a_reason_and_the_others_have_features(paths, extractor, tmp_path):
    broken, empty = tmp_path / "broken.jpg", tmp_path / "empty.png"
    broken.write_bytes(b"not an image")
    empty.touch()
    wanted = [broken, *paths[:3], empty, tmp_path / "absent.png", paths[3], broken]
    found = extract(wanted, extractor)
    assert found.kept.tolist() == [False, True, True, True, False, False, True, False]
    assert set(found.left_out) == {broken, empty, tmp_path / "absent.png"}
    assert all(str(path) in reason for path, reason in found.left_out.items())
    np.testing.assert_array_equal(found.X, extract(paths[:4], extractor).X)


def test_files_that_are_all_left_out_give_no_rows(extractor, tmp_path):
    found = extract([tmp_path / "absent.png"], extractor)
    assert len(found.X) == 0
    assert len(found.left_out) == 1


def test_the_weights_of_the_backbone_stay_as_they_were(paths, network, extractor):
    before = {name: tensor.clone() for name, tensor in network._module.state_dict().items()}
    extract(paths, extractor)
    assert all(torch.equal(before[name], tensor) for name, tensor in network._module.state_dict().items())


@pytest.fixture
def two_threads():
    """Torch with two threads, as the setting of a host program."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def threads_elsewhere():
    """The number of threads that torch uses in this thread, and in a new one."""
    counts = [torch.get_num_threads()]
    other = threading.Thread(target=lambda: counts.append(torch.get_num_threads()))
    other.start()
    other.join()
    return counts


@pytest.mark.usefixtures("two_threads")
def test_workers_compute_alone_and_torch_keeps_its_threads_elsewhere(extractor):
    with workers(extractor) as pool:
        assert set(pool.map(lambda _: torch.get_num_threads(), range(8))) == {1}
        assert threads_elsewhere() == [2, 2]
    assert threads_elsewhere() == [2, 2]


@pytest.mark.usefixtures("two_threads")
def test_two_threads_can_extract_at_the_same_time(paths, extractor):
    expected = extract(paths, extractor, FeatureCache("alone")).X
    with ThreadPoolExecutor(2) as threads:
        results = list(threads.map(lambda name: extract(paths, extractor, FeatureCache(name)).X, ("first", "second")))
    assert all(np.array_equal(features, expected) for features in results)
    assert threads_elsewhere() == [2, 2]


def test_the_total_is_shown_at_once_and_progress_after_every_picture(paths, extractor):
    shown = []
    extract(paths, extractor, show=lambda done, total, text="": shown.append((done, total)))
    assert shown == [(done, 12) for done in range(13)]
    shown.clear()
    extract(paths, extractor, show=lambda done, total, text="": shown.append((done, total)))
    assert (shown[0], shown[-1]) == ((0, 12), (12, 12))


@pytest.mark.parametrize("finished", [1, 4, 6])
def test_no_picture_is_computed_twice_after_an_interrupt(paths, extractor, images_read, finished):
    def stop(done, total, text=""):
        if done == finished:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        extract(paths, extractor, show=stop)
    assert len(images_read) >= finished
    extract(paths, extractor)
    assert sorted(images_read) == sorted(paths)


def test_features_of_other_batches_are_kept_if_one_fails(paths, extractor, images_read, monkeypatch):
    def finite(row, image, backbone):
        return row if image != paths[0] else 1 / 0

    with monkeypatch.context() as changed:
        changed.setattr("if2net.images.extraction._finite", finite)
        with pytest.raises(ZeroDivisionError):
            extract(paths, extractor)
    images_read.clear()
    extract(paths, extractor)
    assert paths[0] in images_read
    assert len(images_read) < len(paths)


def test_images_that_another_process_adds_meanwhile_are_not_computed_again(
    paths, network, extractor, images_read, monkeypatch
):
    monkeypatch.setattr("if2net.images.extraction.IMAGES_PER_WORKER", 1)
    network.batch_size = 2  # two batches are a chunk

    def other_process(done, total, text=""):
        if done == 2:
            extract(paths, extractor)

    extract(paths, extractor, show=other_process)
    assert len(images_read) <= len(paths) + 4


def test_the_features_of_an_image_do_not_depend_on_its_batch(paths, network, extractor, tmp_path):
    network.batch_size = 5
    broken = tmp_path / "broken.png"
    broken.touch()
    with ThreadPoolExecutor(2) as pool:
        rows = [row for batch in compute([paths[0], broken, *paths[1:]], extractor, pool) for row in batch]
        ((alone,),) = compute(paths[3:4], extractor, pool)
    assert isinstance(rows[1], str)
    np.testing.assert_array_equal(rows[4], alone)
    assert len(rows) == len(paths) + 1


def _extract_pixels(cache, paths, queue):
    os.environ["IF2NET_CACHE"] = cache
    queue.put(extract(paths, load_extractor("pixels")).X.sum())


def test_two_processes_share_one_cache(paths):
    queue = forked().Queue()
    arguments = os.environ["IF2NET_CACHE"], paths, queue
    processes = [forked().Process(target=_extract_pixels, args=arguments) for _ in range(2)]
    for process in processes:
        process.start()
    sums = [queue.get(timeout=60) for _ in processes]
    for process in processes:
        process.join()
    assert sums[0] == sums[1]


def test_other_taps_or_layers_with_the_same_weights_have_their_own_features(paths, small_module, preprocessing):
    module, other = small_module(), small_module()
    other[2] = torch.nn.Tanh()
    for network in [(module, ("2",)), (module, ("3",)), (other, ("3",))]:
        extractor = Extractor(Network("mine", network[0], preprocessing, network[1]))
        fresh = extract(paths, extractor, FeatureCache(f"fresh {network[1]}{network[0] is other}"))
        np.testing.assert_array_equal(extract(paths, extractor).X, fresh.X)


def test_images_whose_features_are_not_finite_are_left_out_with_a_reason(paths, preprocessing):
    class Infinite(torch.nn.Module):
        def forward(self, x):
            return (x[:, :1, :1, :1] > 0) / x[:, :1, :1, :1].relu()  # 0/0 where the first pixel is dark

    found = extract(paths, Extractor(Network("mine", Infinite(), preprocessing)))
    assert 0 < len(found.left_out) < len(paths)
    assert np.isfinite(found.X).all()
    for path, reason in found.left_out.items():
        assert reason.startswith(f"{path} has features that are not finite numbers with the backbone mine")
