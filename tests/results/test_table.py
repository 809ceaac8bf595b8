import importlib.util
from pathlib import Path

import pytest

RESULTS = Path(__file__).parents[2] / "results"
DESCRIPTION = importlib.util.spec_from_file_location("table", RESULTS / "table.py")
TABLE = importlib.util.module_from_spec(DESCRIPTION)
DESCRIPTION.loader.exec_module(TABLE)


@pytest.mark.parametrize("path", TABLE.TARGETS, ids=lambda path: path.name)
def test_tables_are_made_from_the_committed_results(path):
    text = path.read_text()
    assert TABLE.MARKED.search(text)
    assert TABLE.with_tables(text) == text


def test_every_table_stands_somewhere():
    found = {match[2] for path in TABLE.TARGETS for match in TABLE.MARKED.finditer(path.read_text())}
    assert found == set(TABLE.TABLES)
