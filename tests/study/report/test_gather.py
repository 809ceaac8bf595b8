import json

import pytest

from if2net.errors import ConfigurationError
from if2net.study.report.gather import read_one, read_sources, sections


def test_folders_and_folders_of_folders_are_read_once_each(make_results, write_folder, tmp_path):
    one = write_folder("one", make_results())
    write_folder("two", make_results(protocol="aware"))
    assert [source.name for source in read_sources([tmp_path, one])] == ["one", "two"]


def test_a_folder_counts_once_however_it_is_written(make_results, write_folder, tmp_path):
    one = write_folder("one", make_results())
    (tmp_path / "linked").symlink_to(one)
    spellings = [one, one / ".." / "one", tmp_path / "linked"]
    assert [source.name for source in read_sources(spellings)] == ["one"]


def test_a_section_is_what_may_be_compared(make_results, write_folder, tmp_path):
    write_folder("a", make_results())
    write_folder("b", make_results(protocol="aware"))
    write_folder("c", make_results(scenario="digits-2/2"))
    titles = [section.title for section in sections(read_sources([tmp_path]))]
    assert titles == ["digits-4/2, agnostic", "digits-4/2, aware", "digits-2/2, agnostic"]


def test_one_method_in_several_folders_is_named_by_what_tells_them_apart(
    make_results, make_run, write_folder, tmp_path
):
    write_folder("mnist-agnostic", make_results(make_run("if2net"), make_run("joint")))
    write_folder("mnist-agnostic-ewc", make_results(make_run("if2net")))
    (section,) = sections(read_sources([tmp_path]))
    assert [series.name for series in section.series] == ["if2net", "joint", "if2net, ewc"]


def test_folders_of_the_same_name_are_told_apart(make_results, write_folder):
    folders = [write_folder(name, make_results()) for name in ("one/digits", "two/digits")]
    assert [source.name for source in read_sources(folders)] == ["one/digits", "two/digits"]


def test_a_method_keeps_its_colour_across_sections(make_results, make_run, write_folder, tmp_path):
    write_folder("a", make_results(make_run("if2net"), make_run("joint")))
    write_folder("b", make_results(make_run("joint"), make_run("ncm"), protocol="aware"))
    marks = {
        (series.name, series.mark) for section in sections(read_sources([tmp_path])) for series in section.series
    }
    assert marks == {("if2net", 0), ("joint", 1), ("ncm", 2)}


@pytest.mark.parametrize(
    ("change", "advice"),
    [
        ({"runs": []}, "holds no finished run"),
        ({"runs": [{"method": "if2net", "seed": 0}]}, "lacks 'acc'; run it again"),
    ],
)
def test_what_is_missing_is_said(change, advice, make_results, write_folder):
    folder = write_folder("a", make_results())
    (folder / "results.json").write_text(json.dumps(make_results() | change))
    with pytest.raises(ConfigurationError, match=advice):
        read_sources([folder])


def test_one_result_is_wanted_where_two_are_compared(make_results, write_folder, tmp_path):
    for name in "ab":
        write_folder(name, make_results())
    with pytest.raises(ConfigurationError, match="choose one of a, b in it"):
        read_one(tmp_path)
