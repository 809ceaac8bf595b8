import json
from dataclasses import replace

import pytest

from if2net.errors import ConfigurationError
from if2net.study.bench.folder import folder_name, prepare, resolved
from if2net.study.bench.runner import run_plans
from if2net.study.bench.settings import resolve
from if2net.study.bench.stream import Plan
from if2net.study.data import parse_scenario

PLAN = Plan(parse_scenario("digits-10/5"), resolve(["ncm"], "agnostic", []), (0,))


@pytest.mark.parametrize("letter", ["a", "é", "鳥"])
def test_a_scenario_with_a_long_path_has_a_folder_that_can_be_made(letter, tmp_path):
    scenarios = [f"folder:/{place}/{240 * letter}/all-6/3@efficientnet-lite0" for place in "xy"]
    first, second = (folder_name(scenario) for scenario in scenarios)
    assert first != second
    assert first.endswith("-all-6-3@efficientnet-lite0")
    for name in (first, second):
        (tmp_path / name).mkdir()


def test_a_name_that_is_not_too_long_stays_as_it_was():
    assert folder_name(f"folder:/{200 * 'a'}/all-6/3") == f"folder:-{200 * 'a'}-all-6-3"


def test_the_configuration_is_written_where_something_is_run_and_only_there(tmp_path):
    folder, path = tmp_path / "some" / "folder", tmp_path / "some" / "folder" / "config.json"
    assert prepare(PLAN, folder) == folder
    assert not folder.exists()
    run_plans([(PLAN, folder)], None)
    assert json.loads(path.read_text()) == resolved(PLAN)
    path.write_text('{"device": "another machine"}')
    run_plans([(PLAN, prepare(PLAN, folder))], None)
    assert path.read_text() == '{"device": "another machine"}'
    more = replace(PLAN, seeds=(0, 1))
    run_plans([(more, prepare(more, folder))], None)
    assert json.loads(path.read_text()) == resolved(more)


def test_a_run_that_is_refused_leaves_the_configuration_as_it_was(tmp_path):
    run_plans([(PLAN, tmp_path)], None)
    before = (tmp_path / "config.json").read_bytes()
    other = replace(PLAN, protocol="aware")
    with pytest.raises(ConfigurationError, match="choose another folder"):
        run_plans([(other, prepare(other, tmp_path))], None)
    assert (tmp_path / "config.json").read_bytes() == before
