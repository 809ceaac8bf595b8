import pytest
from command_line import if2net

from if2net.errors import IF2NetError
from if2net.study.bench.results import Results, Run, Seconds

MACHINE = {"if2net": "0.2.0", "device": "cpu"}


@pytest.fixture
def folders(tmp_path):
    """Two results of the same scenario, the second better for every seed."""
    written = []
    for name, gain in (("before", 0.0), ("after", 0.1)):
        runs = []
        for seed in range(3):
            R = [[0.9], [0.7 + gain, 0.7 + gain + seed / 100]]
            runs.append(Run("if2net", seed, [0, 1, 2, 3], R, [0.9, 0.9], Seconds(1.0, 0.1), 1200, 0, 10, MACHINE))
        folder = tmp_path / name
        folder.mkdir()
        Results("digits-4/2", "agnostic", {}, runs).write(folder / "results.json")
        written.append(folder)
    return written


def test_the_report_of_one_folder_is_written_into_it(folders):
    if2net("report", folders[0])
    assert "digits-4/2" in (folders[0] / "report.html").read_text(encoding="utf-8")
    assert (folders[0] / "figures" / "digits-4-2-agnostic-accuracy.svg").exists()


def test_the_report_of_several_folders_is_written_where_the_user_says(folders, tmp_path):
    if2net("report", *folders, "--out", tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "if2net, before" in page
    assert "if2net, after" in page
    assert not (folders[0] / "report.html").exists()


def test_a_folder_without_results_is_named_and_nothing_is_written(folders, tmp_path):
    with pytest.raises(IF2NetError, match=r"nowhere holds no results\.json"):
        if2net("report", folders[0], tmp_path / "nowhere", "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_compare_shows_a_gain_beyond_the_spread(folders):
    said = if2net("compare", *folders)
    assert "+10.00" in said
    assert "better" in said
    assert "paired" in said
