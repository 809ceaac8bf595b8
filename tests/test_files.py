"""Files appear whole or not at all, and what prevents it is explained."""

import errno
import os
import stat
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from if2net import files
from if2net.errors import OutputError
from if2net.files import (
    cache_folder,
    fill_folder_once,
    kept_file,
    locked,
    make_folder,
    remove_abandoned,
    replacing,
    take_back,
    write_text,
)


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


# ---------------------------------------------------------------------- abandoned temporary files

KILLED = """
import os, sys
from pathlib import Path
from if2net.files import replacing, fill_folder_once
def fill(folder):
    folder.mkdir()
    with replacing(Path(sys.argv[1]) / "a.txt"):
        os._exit(9)
fill_folder_once(Path(sys.argv[1]) / "b", fill)
"""


def test_files_of_a_killed_process_are_removed_and_those_of_a_running_one_are_not(tmp_path):
    done = subprocess.run([sys.executable, "-c", KILLED, tmp_path], check=False)
    assert done.returncode == 9
    left = os.listdir(tmp_path)
    assert len(left) == 3  # the file, the folder and the lock of the folder
    assert all(name.endswith(".if2net-tmp") for name in left)
    with replacing(tmp_path / "a.txt") as temporary:
        remove_abandoned(tmp_path)
        assert temporary.exists()
    fill_folder_once(tmp_path / "b", Path.mkdir)
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "b"]


def test_a_temporary_file_is_in_use_as_long_as_any_process_holds_it(tmp_path):
    """Names of machines and numbers of processes prove nothing: containers share a volume and have their own."""
    with replacing(tmp_path / "a.txt") as temporary:
        subprocess.run([sys.executable, "-c", REMOVE, tmp_path], check=True)
        assert temporary.exists()


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


REMOVE = """
import sys
from pathlib import Path
from if2net.files import remove_abandoned
remove_abandoned(Path(sys.argv[1]))
"""

# ---------------------------------------------------------------------- locks

HOLD = """
import sys
from if2net.files import locked
with locked(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def held_elsewhere(path):
    """Another process that holds the lock until the block ends."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def test_a_lock_that_another_process_holds_is_refused_or_waited_for(tmp_path):
    path, reports = tmp_path / "m.if2", []

    def release(report):
        reports.append(report)
        process.stdin.close()

    with held_elsewhere(path) as process:
        with pytest.raises(OutputError, match=f"in use by process {process.pid} on "), locked(path, wait=False):
            pass
        with locked(path, report=release):
            assert f"Waiting for process {process.pid} on " in reports[0]
    assert len(reports) == 1
    assert not os.listdir(tmp_path)


def test_the_lock_of_a_killed_process_is_free(tmp_path):
    with held_elsewhere(tmp_path / "m.if2") as process:
        process.kill()
        process.wait()
        assert len(os.listdir(tmp_path)) == 1
        with locked(tmp_path / "m.if2", wait=False):
            pass
    assert not os.listdir(tmp_path)


AS_ANOTHER_USER = """
import os, sys
from pathlib import Path
from if2net.files import locked
os.seteuid(65534)
folder = Path(sys.argv[1])
(folder / "new").touch()  # the folder is open to all
with locked(folder / "m.if2", wait=False):
    pass
"""


@pytest.mark.skipif(sys.platform == "win32" or os.getuid() != 0, reason="only the superuser can become another user")
def test_the_lock_that_a_killed_process_of_another_user_left_is_free():
    with tempfile.TemporaryDirectory() as name:  # the folders of pytest are private
        folder = Path(name)
        with held_elsewhere(folder / "m.if2") as process:
            process.kill()
            process.wait()
        (lock,) = folder.iterdir()
        lock.chmod(0o644)
        folder.chmod(0o777)
        subprocess.run([sys.executable, "-c", AS_ANOTHER_USER, folder], check=True)
        assert os.listdir(folder) == ["new"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes")
def test_other_users_can_wait_for_a_lock_whatever_the_umask(tmp_path):
    before = os.umask(0o077)
    try:
        with locked(tmp_path / "m.if2"):
            (lock,) = tmp_path.iterdir()
            assert stat.S_IMODE(lock.stat().st_mode) == 0o666
    finally:
        os.umask(before)


def test_links_to_one_file_share_its_lock_and_other_files_do_not(tmp_path):
    (tmp_path / "m.if2").touch()
    (tmp_path / "link.if2").symlink_to(tmp_path / "m.if2")
    with locked(tmp_path / "link.if2"), locked(tmp_path / ("m" * 250), wait=False):
        with pytest.raises(OutputError, match="in use"), locked(tmp_path / "m.if2", wait=False):
            pass
        remove_abandoned(tmp_path)
        with pytest.raises(OutputError, match="in use"), locked(tmp_path / "m.if2", wait=False):
            pass


def test_the_lock_of_a_folder_is_inside_it(tmp_path):
    with locked(tmp_path):
        assert os.listdir(tmp_path)
        with pytest.raises(OutputError, match="in use"), locked(tmp_path, wait=False):
            pass
    assert not os.listdir(tmp_path)


def test_a_lock_needs_a_folder_that_can_be_written_to(tmp_path, monkeypatch):
    with pytest.raises(OutputError, match="does not exist"), locked(tmp_path / "none" / "m.if2"):
        pass

    def refuse(*arguments):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(OutputError, match="check the permissions of its folder"), locked(tmp_path / "m.if2"):
        pass


COUNT = """
import sys
from pathlib import Path
from if2net.files import locked
counter = Path(sys.argv[1])
for _ in range(25):
    with locked(counter, report=print):
        counter.write_text(str(int(counter.read_text()) + 1))
"""


def test_one_process_at_a_time_holds_a_lock(tmp_path):
    counter = tmp_path / "counter"
    counter.write_text("0")
    processes = [
        subprocess.Popen([sys.executable, "-c", COUNT, counter], stdout=subprocess.DEVNULL) for _ in range(4)
    ]
    assert [process.wait() for process in processes] == [0, 0, 0, 0]
    assert counter.read_text() == "100"
    assert os.listdir(tmp_path) == ["counter"]


def test_a_file_system_without_locks_can_be_used(tmp_path, monkeypatch):
    def refuse(*arguments):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    with locked(tmp_path):
        write_text(tmp_path / "a.txt", "new")
    assert os.listdir(tmp_path) == ["a.txt"]


# ---------------------------------------------------------------------- folders


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

    monkeypatch.setattr("if2net.files.time.sleep", note)
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


def test_a_device_is_never_replaced():
    with pytest.raises(OutputError, match="is a device"):
        write_text("/dev/stdout", "text")
