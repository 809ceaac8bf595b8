import itertools
import logging
import os
import resource
import signal
import sqlite3
import time

import numpy as np
import pytest
from processes import forked

from if2net.images.cache import FeatureCache
from if2net.images.extraction import extract
from if2net.images.folders import images_under


def features(start, stop):
    """Rows of numbers that follow from their digests."""
    return {number.to_bytes(32, "big"): np.full(50, number, np.float32) for number in range(start, stop)}


def assert_holds(cache, rows):
    found = dict(cache.rows(list(rows)))
    assert found.keys() == rows.keys()
    assert all(np.array_equal(found[digest], row) for digest, row in rows.items())


@pytest.fixture
def few_descriptors():
    """Let this process open at most 32 more files."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (os.dup(0) + 32, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.usefixtures("few_descriptors")
def test_any_number_of_batches_needs_few_file_descriptors(tmp_path):
    writer, reader = FeatureCache("x", tmp_path), FeatureCache("x", tmp_path)
    for number in range(100):
        writer.add(features(number, number + 1))
    assert_holds(reader, features(0, 100))


def test_a_row_that_is_damaged_or_belongs_to_another_image_counts_as_missing(tmp_path):
    cache = FeatureCache("x", tmp_path)
    rows = features(0, 6)
    _, second, third, fourth, *_ = rows
    cache.add(rows)
    with sqlite3.connect(cache.path) as database:
        database.execute("UPDATE features SET row = zeroblob(200) WHERE digest = ?", [second])
        database.execute("UPDATE features SET row = 'text' WHERE digest = ?", [third])
        database.execute("UPDATE features SET digest = ? WHERE digest = ?", [b"other", fourth])
    found = dict(cache.rows([*rows, b"other"]))
    assert set(found) == set(rows) - {second, third, fourth}
    cache.add(rows)
    assert_holds(FeatureCache("x", tmp_path), rows)


def _write(folder, start, ready):
    cache = FeatureCache("x", folder)
    for number in itertools.cycle(range(start, start + 1000)):  # until it is killed
        cache.add(features(2 * number, 2 * number + 2))
        ready.set()


def test_processes_that_write_at_once_lose_nothing_and_a_kill_leaves_whole_batches(tmp_path):
    events = [forked().Event() for _ in range(2)]
    writers = [
        forked().Process(target=_write, args=(tmp_path, 1000 * place, event)) for place, event in enumerate(events)
    ]
    for writer in writers:
        writer.start()
    for event in events:
        event.wait(60)
    time.sleep(0.2)
    for writer in writers:
        os.kill(writer.pid, signal.SIGKILL)
        writer.join()
    found = {digest: row[0] for digest, row in FeatureCache("x", tmp_path).rows(list(features(0, 4000)))}
    numbers = {int.from_bytes(digest, "big") for digest in found}
    assert numbers == {int(number) for number in found.values()}
    assert 0 in numbers
    assert 2000 in numbers
    assert all(number ^ 1 in numbers for number in numbers)


def _foreign(path):
    path.write_bytes(b"something else" * 1000)


def _cut(path):
    path.write_bytes(path.read_bytes()[:1500])


def _other_columns(path):
    path.unlink()
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE features (name TEXT)")


@pytest.mark.parametrize("damage", [_foreign, _cut, _other_columns])
def test_a_database_that_cannot_be_used_is_named_once_and_left_as_it_is(
    pictures, extractor, caplog, images_read, damage
):
    paths = images_under(pictures)
    expected = extract(paths, extractor).X
    path = FeatureCache(extractor.identity).path
    damage(path)
    before = path.read_bytes()
    with caplog.at_level(logging.WARNING, "if2net"):
        cache = FeatureCache(extractor.identity)
        np.testing.assert_array_equal(extract(paths, extractor, cache).X, expected)
        np.testing.assert_array_equal(extract(paths, extractor, FeatureCache(extractor.identity)).X, expected)
    assert path.read_bytes() == before
    (record,) = caplog.records
    assert f"{path} cannot be used (" in record.message
    assert "set IF2NET_CACHE" in record.message
    images_read.clear()
    np.testing.assert_array_equal(extract(paths, extractor, cache).X, expected)
    assert not images_read


@pytest.mark.parametrize("place", ["file", "/proc/if2net"])
def test_features_are_computed_without_a_cache_where_no_folder_can_be_created(
    pictures, extractor, tmp_path, monkeypatch, caplog, place
):
    (tmp_path / "file").touch()
    monkeypatch.setenv("IF2NET_CACHE", str(tmp_path / place))
    assert len(extract(images_under(pictures), extractor).X) == 12
    assert len(caplog.records) == 1


def test_a_cache_that_cannot_be_written_is_still_read(pictures, extractor, caplog, images_read):
    paths = images_under(pictures)
    expected = extract(paths, extractor, FeatureCache("fresh")).X
    extract(paths[:6], extractor)
    with sqlite3.connect(FeatureCache(extractor.identity).path) as database:
        database.execute("CREATE TRIGGER t BEFORE INSERT ON features BEGIN SELECT RAISE(FAIL, 'read-only'); END")
    images_read.clear()
    np.testing.assert_array_equal(extract(paths, extractor).X, expected)
    assert sorted(images_read) == paths[6:]
    assert "(read-only)" in caplog.text
