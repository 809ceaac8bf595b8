import importlib.util
from pathlib import Path

RESULTS = Path(__file__).parents[2] / "results"


def test_the_table_in_the_readme_is_made_from_the_committed_results():
    description = importlib.util.spec_from_file_location("table", RESULTS / "table.py")
    table = importlib.util.module_from_spec(description)
    description.loader.exec_module(table)
    text = table.README.read_text()
    assert table.with_table(text) == text
    assert "| IF2Net, default |" in text
