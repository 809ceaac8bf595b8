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
    assert TABLE.with_table(text, TABLE.TARGETS[path]) == text
    assert "| IF2Net, default | agnostic |" in text
