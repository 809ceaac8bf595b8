"""Folders are created or explained, and filled whole or not at all."""

import errno
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from held_lock import held_elsewhere

from if2net.errors import OutputError
from if2net.output_folders import cache_folder, fill_folder_once, make_folder


def test_the_cache_folder_can_be_chosen(tmp_path, monkeypatch):
    monkeypatch.delenv("IF2NET_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "if2net"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "if2net"
    monkeypatch.setenv("IF2NET_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"


def test_a_folder_that_cannot_be_created_is_explained(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match=r"(cannot be created|is a file).*; set IF2NET_CACHE"):
        make_folder(tmp_path / "file" / "folder")
    assert make_folder(tmp_path / "a" / "b").is_dir()


def test_a_folder_is_filled_once(tmp_path):
    def fill(folder):
        folder.mkdir()
        (folder / "content").touch()

    for _ in range(2):
        assert fill_folder_once(tmp_path / "data" / "set", fill) == tmp_path / "data" / "set"
        fill = None
    assert os.listdir(tmp_path / "data") == ["set"]
    assert os.listdir(tmp_path / "data" / "set") == ["content"]


def test_a_folder_that_another_process_has_filled_meanwhile_is_taken(tmp_path, monkeypatch):
    waiting, sleep = threading.Event(), time.sleep

    def note(seconds):
        waiting.set()
        sleep(seconds)

    monkeypatch.setattr("if2net.locks.time.sleep", note)
    with held_elsewhere(tmp_path / "set") as process, ThreadPoolExecutor() as pool:
        filled = pool.submit(fill_folder_once, tmp_path / "set", None)
        assert waiting.wait(60)
        (tmp_path / "set").mkdir()
        process.stdin.close()
        assert filled.result() == tmp_path / "set"
    assert os.listdir(tmp_path) == ["set"]


def test_a_folder_that_could_not_be_filled_does_not_exist(tmp_path):
    def fill(folder):
        folder.mkdir()
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OutputError, match="free some space"):
        fill_folder_once(tmp_path / "set", fill)
    assert not os.listdir(tmp_path)
