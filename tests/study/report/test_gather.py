import json

import pytest

from if2net.errors import ConfigurationError
from if2net.study.report.gather import Source, read_one, read_sources, sections_of


def with_accuracy(make_run, method, *values):
    return [make_run(method, seed, R=[[1.0], [value, value]]) for seed, value in enumerate(values)]


def test_results_of_one_scenario_and_protocol_share_a_section(make_results, write_folder, tmp_path):
    write_folder("a", make_results())
    write_folder("b", make_results(protocol="aware"))
    write_folder("c", make_results())
    found = sections_of(read_sources([tmp_path]))
    assert [(section.title, len(section.sources)) for section in found] == [
        ("digits-4/2, agnostic", 2),
        ("digits-4/2, aware", 1),
    ]


def test_folders_are_read_in_the_order_of_the_numbers_in_their_names(make_results, write_folder, tmp_path):
    for name in ("cub-20", "cub-5", "cub-10"):
        write_folder(name, make_results())
    assert [source.name for source in read_sources([tmp_path])] == ["cub-5", "cub-10", "cub-20"]


def test_a_folder_given_twice_is_read_once(make_results, write_folder, tmp_path):
    folder = write_folder("a", make_results())
    assert len(read_sources([folder, tmp_path, tmp_path / "a" / ".." / "a"])) == 1


def test_methods_in_several_folders_carry_the_part_of_the_name_that_differs(
    make_results, make_run, write_folder, tmp_path
):
    write_folder("mnist-aware", make_results(make_run("if2net"), make_run("joint")))
    write_folder("mnist-aware-ewc", make_results(make_run("if2net")))
    (section,) = sections_of(read_sources([tmp_path]))
    assert [series.name for series in section.series] == ["if2net", "joint", "if2net, ewc"]


def test_folders_of_the_same_name_are_distinguished(make_results, write_folder):
    folders = [write_folder(name, make_results()) for name in ("one/digits", "two/digits")]
    assert [source.name for source in read_sources(folders)] == ["one/digits", "two/digits"]


def test_a_method_keeps_its_index_across_sections(make_results, make_run, write_folder, tmp_path):
    write_folder("a", make_results(make_run("if2net"), make_run("joint")))
    write_folder("b", make_results(make_run("joint"), make_run("ncm"), protocol="aware"))
    found = sections_of(read_sources([tmp_path]))
    indices = {(series.name, series.index) for section in found for series in section.series}
    assert indices == {("if2net", 0), ("joint", 1), ("ncm", 2)}


def test_if2net_is_highlighted_and_the_best_where_it_was_not_run(make_results, make_run):
    better = with_accuracy(make_run, "ncm", 0.9)
    (section,) = sections_of([Source("a", make_results(make_run("owm"), *better, make_run("if2net")))])
    assert section.highlighted.name == "if2net"
    (section,) = sections_of([Source("a", make_results(make_run("owm"), *better))])
    assert section.highlighted.name == "ncm"


def test_neither_bound_competes(make_results, make_run):
    values = {"if2net": 0.5, "none": 0.9, "joint": 0.95}
    runs = [run for name, value in values.items() for run in with_accuracy(make_run, name, value)]
    (section,) = sections_of([Source("a", make_results(*runs))])
    assert section.leaders() == {"if2net"}


def test_classes_are_those_of_the_dataset_whatever_the_order_of_the_stream(make_results, make_run):
    (section,) = sections_of([Source("a", make_results(make_run(seed=0), make_run(seed=1, order=(0, 1, 2, 3))))])
    (series,) = section.series
    # Class 2 comes first in one run (8 of 10 right) and third in the other (4 of 10).
    assert series.class_accuracies[2] == pytest.approx(0.6)
    assert series.worst_confusions[0] == (2, 1, pytest.approx(0.25))


def test_results_without_a_run_are_refused(make_results, write_folder):
    folder = write_folder("a", make_results())
    content = json.loads((folder / "results.json").read_text())
    (folder / "results.json").write_text(json.dumps(content | {"runs": []}))
    with pytest.raises(ConfigurationError, match="a holds no finished run"):
        sections_of(read_sources([folder]))


def test_comparing_needs_a_folder_with_one_result(make_results, write_folder, tmp_path):
    for name in "ab":
        write_folder(name, make_results())
    with pytest.raises(ConfigurationError, match="choose one of a, b in it"):
        read_one(tmp_path)
