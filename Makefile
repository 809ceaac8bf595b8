# Every target makes its own virtual environment, and does nothing where it is there already.
PYTHON ?= python3
VENV ?= .venv
READY := $(VENV)/.ready
BIN := $(VENV)/bin
# timm and Avalanche need torchvision, which needs the large CUDA build of torch; they have an environment of their own.
EXTRAS ?= .venv-extras
EXTRAS_READY := $(EXTRAS)/.ready

.PHONY: run test test-slow test-extras bench bench-gpu lint clean

run: $(READY)
	$(BIN)/if2net run

test: lint
	$(BIN)/python -m pytest

test-slow: $(READY)
	$(BIN)/python -m pytest -m slow

test-extras: $(EXTRAS_READY)
	$(EXTRAS)/bin/python -m pytest tests/extras -m extras

bench: $(READY)
	$(BIN)/python benchmarks/learning.py
	$(BIN)/python benchmarks/limits.py
	$(BIN)/python benchmarks/accuracy.py
	$(BIN)/python benchmarks/ridge_path.py
	$(BIN)/python benchmarks/imports.py

# In an environment with a CUDA build of torch, since the one above has none.
bench-gpu:
	PYTHONPATH=. $(PYTHON) benchmarks/gpu.py

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:
	rm -rf $(VENV) $(EXTRAS) out

# constraints.txt pins exact versions, so that two machines get the same environment.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $(READY)

$(EXTRAS_READY): pyproject.toml constraints-extras.txt
	$(PYTHON) -m venv $(EXTRAS)
	$(EXTRAS)/bin/pip install --quiet --constraint constraints-extras.txt --editable '.[test-extras]'
	touch $(EXTRAS_READY)
