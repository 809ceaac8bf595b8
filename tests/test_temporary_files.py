"""Temporary files of killed processes are removed, and those of running ones are not."""

import os
import subprocess
import sys
from pathlib import Path

from if2net.files import replacing
from if2net.output_folders import fill_folder_once
from if2net.temporary_files import remove_abandoned

KILLED = """
import os, sys
from pathlib import Path
from if2net.files import replacing
from if2net.output_folders import fill_folder_once
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


REMOVE = """
import sys
from pathlib import Path
from if2net.temporary_files import remove_abandoned
remove_abandoned(Path(sys.argv[1]))
"""
