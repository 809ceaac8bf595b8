# Every target makes its own virtual environment, and does nothing where it is there already.
PYTHON ?= python3
VENV ?= .venv
READY := $(VENV)/.ready
BIN := $(VENV)/bin

.PHONY: run test test-slow lint clean

run: $(READY)
	$(BIN)/if2net run

test: lint
	$(BIN)/python -m pytest

test-slow: $(READY)
	$(BIN)/python -m pytest -m slow

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:
	rm -rf $(VENV) out

# constraints.txt pins exact versions, so that two machines get the same environment.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $(READY)
