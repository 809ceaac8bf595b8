"""One process at a time holds the lock of a file or a folder."""

import errno
import logging
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from held_lock import held_elsewhere

from if2net.errors import OutputError
from if2net.files import write_text
from if2net.locks import locked
from if2net.temporary_files import remove_abandoned


def test_a_lock_that_another_process_holds_is_refused_or_waited_for(tmp_path, monkeypatch):
    path, reports = tmp_path / "m.if2", []

    def release(report, *names):
        reports.append(report % names)
        process.stdin.close()

    monkeypatch.setattr(logging.getLogger("if2net"), "warning", release)

    with held_elsewhere(path) as process:
        with pytest.raises(OutputError, match=f"in use by process {process.pid} on "), locked(path, wait=False):
            pass
        with locked(path):
            assert f"Waiting for process {process.pid} on " in reports[0]
            assert "Stop that process, or press Ctrl-C" in reports[0]
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
from if2net.locks import locked
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
from if2net.locks import locked
counter = Path(sys.argv[1])
for _ in range(25):
    with locked(counter):
        counter.write_text(str(int(counter.read_text()) + 1))
"""


def test_one_process_at_a_time_holds_a_lock(tmp_path):
    counter = tmp_path / "counter"
    counter.write_text("0")
    processes = [subprocess.Popen([sys.executable, "-c", COUNT, counter]) for _ in range(4)]
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
