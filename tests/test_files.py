"""Files appear whole or not at all, and what prevents it is explained."""

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from if2net import files
from if2net.errors import OutputError
from if2net.files import kept_file, replacing, take_back, write_text
from if2net.temporary_files import remove_abandoned


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(autouse=True)
def clean_each_folder_again():
    files._remove_abandoned_once.cache_clear()


def test_a_file_appears_only_when_the_block_is_over(tmp_path):
    with replacing(tmp_path / "a.txt") as temporary:
        temporary.write_text("new")
        assert temporary.parent == tmp_path
        assert not (tmp_path / "a.txt").exists()
    assert (tmp_path / "a.txt").read_text() == "new"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, FileNotFoundError])
def test_an_error_leaves_the_old_file_and_no_other(error, tmp_path):
    write_text(tmp_path / "a.txt", "old")
    with pytest.raises(error), replacing(tmp_path / "a.txt") as temporary:  # noqa: PT012
        temporary.write_text("half")
        raise error
    assert (tmp_path / "a.txt").read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_text_is_utf8_with_plain_line_ends(tmp_path):
    write_text(tmp_path / "a.txt", "β\n")
    assert (tmp_path / "a.txt").read_bytes() == b"\xce\xb2\n"


def test_a_name_that_is_no_valid_text_does_not_stop_a_text_file(tmp_path):
    write_text(tmp_path / "a.txt", os.fsdecode(b"caf\xe9"))
    assert (tmp_path / "a.txt").read_text() == "caf?"


def test_a_link_stays_a_link_and_the_file_behind_it_is_replaced(tmp_path):
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "target.txt", tmp_path / "link.txt"
    target.write_text("old")
    link.symlink_to(target)
    write_text(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    target.unlink()
    write_text(link, "again")
    assert target.read_text() == "again"


def test_a_new_file_has_the_mode_of_any_other_new_file(tmp_path):
    (tmp_path / "plain.txt").touch()
    write_text(tmp_path / "a.txt", "")
    assert mode_of(tmp_path / "a.txt") == mode_of(tmp_path / "plain.txt")


def test_a_file_keeps_its_mode_even_if_the_writer_replaces_the_temporary_file(tmp_path):
    path = tmp_path / "a.txt"
    path.touch()
    path.chmod(0o640)
    with replacing(path) as temporary:
        (tmp_path / "other").touch()
        (tmp_path / "other").replace(temporary)
    assert mode_of(path) == 0o640


def test_a_private_file_is_private_while_it_is_written(tmp_path):
    (tmp_path / "a.txt").touch(mode=0o600)
    with replacing(tmp_path / "a.txt") as temporary:
        assert mode_of(temporary) & 0o077 == 0


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only the superuser gives files away")
def test_a_file_keeps_its_owner(tmp_path):
    (tmp_path / "a.txt").touch()
    os.chown(tmp_path / "a.txt", 1234, 1235)
    write_text(tmp_path / "a.txt", "new")
    status = (tmp_path / "a.txt").stat()
    assert (status.st_uid, status.st_gid) == (1234, 1235)


def test_another_group_does_not_get_the_permissions_of_the_old_group(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.touch()
    path.chmod(0o664)

    def refuse(*arguments):
        raise PermissionError

    monkeypatch.setattr(os, "chown", refuse)
    write_text(path, "new")
    assert mode_of(path) == 0o604


def test_files_are_written_where_owners_and_folder_handles_do_not_exist(tmp_path, monkeypatch):
    """As on Windows."""
    original = os.open

    def no_folders(path, *arguments):
        if Path(path).is_dir():
            raise PermissionError(errno.EACCES, "Permission denied")
        return original(path, *arguments)

    monkeypatch.delattr(os, "chown")
    monkeypatch.setattr(os, "open", no_folders)
    for text in ("first", "second"):
        write_text(tmp_path / "a.txt", text)
        assert (tmp_path / "a.txt").read_text() == text


def test_the_content_and_the_name_are_flushed_to_the_disk(tmp_path, monkeypatch):
    flushed = []
    monkeypatch.setattr(os, "fsync", lambda handle: flushed.append(os.fstat(handle).st_mode))
    write_text(tmp_path / "a.txt", "new")
    assert [stat.S_ISDIR(mode) for mode in flushed] == [False, True]


def test_a_long_name_can_be_written(tmp_path):
    path = tmp_path / ("x" * 250 + ".txt")
    write_text(path, "new")
    assert path.read_text() == "new"


# ---------------------------------------------------------------------- what prevents writing


def refused(path, sentence):
    with pytest.raises(OutputError, match=sentence) as raised, replacing(path):
        pass
    assert str(raised.value).endswith(".")


KILLED_WHILE_REPLACING = """
import os, pathlib, sys
from if2net.files import replacing
owner, name = os if sys.argv[2] == "link" else pathlib.Path, sys.argv[2]
real = getattr(owner, name)
def die(*arguments, **options):
    if sys.argv[3] == "after":
        real(*arguments, **options)
    os._exit(9)
with replacing(sys.argv[1], keep_old=True) as temporary:
    temporary.write_text("3")
    setattr(owner, name, die)
"""


def write(path, text, keep_old=False):
    with replacing(path, keep_old) as temporary:
        temporary.write_text(text)


def test_the_old_file_is_kept_until_the_next_one_and_can_be_put_back_once(tmp_path):
    path, link = tmp_path / "a.txt", tmp_path / "link"
    link.symlink_to(path)
    write(link, "1", keep_old=True)
    assert kept_file(path) is None  # there was no old file
    for text in "23":
        write(link, text, keep_old=True)
        path.chmod(0o640)
    assert len(os.listdir(tmp_path)) == 3
    take_back(link, kept_file(link))
    assert (path.read_text(), mode_of(path)) == ("2", 0o640)
    assert link.is_symlink()
    assert kept_file(path) is None
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "link"]


@pytest.mark.parametrize("removed", [False, True], ids=["replaced", "removed and written again"])
def test_an_old_file_is_not_kept_longer_than_the_next_file(tmp_path, removed):
    path = tmp_path / "a.txt"
    for text in "12":
        write(path, text, keep_old=True)
    if removed:
        path.unlink()
        assert kept_file(path) is None
    write(path, "3", keep_old=removed)
    assert os.listdir(tmp_path) == ["a.txt"]


def test_without_hard_links_nothing_is_kept(tmp_path, monkeypatch):
    def refuse(*arguments):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    for text in "12":
        write(tmp_path / "a.txt", text, keep_old=True)
    assert os.listdir(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "2"


@pytest.mark.parametrize("step", ["unlink", "link", "replace"])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_process_that_is_killed_while_it_keeps_a_file_leaves_a_whole_one(tmp_path, step, moment):
    path = tmp_path / "a.txt"
    for text in "12":
        write(path, text, keep_old=True)
    words = [sys.executable, "-c", KILLED_WHILE_REPLACING, path, step, moment]
    assert subprocess.run(words, check=False).returncode == 9
    replaced = (step, moment) == ("replace", "after")
    assert path.read_text() == ("3" if replaced else "2")
    kept = kept_file(path)
    assert (kept and kept.read_text()) == (
        "2" if replaced else "1" if (step, moment) == ("unlink", "before") else None
    )
    write(path, "4")
    remove_abandoned(tmp_path)
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_folder_or_a_missing_folder_is_refused(tmp_path):
    refused(tmp_path, "is a folder; give the name of a file in it")
    refused(tmp_path / "none" / "a.txt", "none does not exist; create it")


def test_a_device_is_never_replaced():
    with pytest.raises(OutputError, match="is a device"):
        write_text("/dev/stdout", "text")


def test_a_link_that_leads_back_to_itself_is_refused_and_stays(tmp_path):
    first, second = tmp_path / "first.txt", tmp_path / "second.txt"
    first.symlink_to(second)
    second.symlink_to(first)
    refused(first, "leads back to itself")
    assert first.is_symlink()


def test_a_device_is_refused_and_left_alone():
    refused("/dev/null", "is a device")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_file_that_is_protected_against_writing_is_refused(tmp_path, monkeypatch):
    (tmp_path / "a.txt").touch(mode=0o444)
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # the superuser may write everything
    refused(tmp_path / "a.txt", "protected against writing")


def test_a_folder_that_cannot_be_written_to_is_explained(tmp_path, monkeypatch):
    def refuse(*arguments):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    refused(tmp_path / "a.txt", r"a\.txt cannot be written \(Permission denied\); check the permissions")


def test_a_full_disk_is_explained_and_the_old_file_stays(tmp_path):
    write_text(tmp_path / "a.txt", "old")
    with pytest.raises(OutputError, match=r"No space left on device.*free some space"), replacing(tmp_path / "a.txt"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert (tmp_path / "a.txt").read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_disk_that_is_full_at_the_end_is_explained(tmp_path, monkeypatch):
    def full(handle):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", full)
    refused(tmp_path / "a.txt", "Input/output error")
    assert not os.listdir(tmp_path)


# ---------------------------------------------------------------------- Ctrl-C


def test_ctrl_c_at_any_moment_leaves_no_temporary_file_in_a_process_that_lives_on(tmp_path):
    done = subprocess.run([sys.executable, "-c", INTERRUPTED, tmp_path], check=True, capture_output=True, text=True)
    interrupted, files_open = map(int, done.stdout.split())
    assert interrupted > 100
    assert files_open < 20
    assert set(os.listdir(tmp_path)) <= {"a.txt"}


INTERRUPTED = """
import os, random, signal, sys
from pathlib import Path
from if2net.files import write_text
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
interrupted = 0
for _ in range(300):
    try:
        signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-6, 5e-4))
        for _ in range(10):
            write_text(Path(sys.argv[1]) / "a.txt", "text")
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        interrupted += 1
print(interrupted, os.dup(0))
"""
