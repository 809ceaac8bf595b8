# Targets share .venv: the first one creates it, and it is renewed when pyproject.toml or constraints.txt change.
PYTHON ?= python3
VENV ?= .venv
READY := $(VENV)/.ready
BIN := $(VENV)/bin
# Processes that run tests side by side.
JOBS ?= 2
PYTEST := $(BIN)/python -m pytest --numprocesses $(JOBS)
# timm and Avalanche need torchvision, which needs the large CUDA build of torch. They have their own environment.
EXTRAS ?= .venv-extras
EXTRAS_READY := $(EXTRAS)/.ready

.PHONY: run test pytest test-slow test-attack test-extras coverage docs bench bench-serve bench-gpu lint clean

run: $(READY)
	$(BIN)/if2net run

# One thread for each process: the processes share the cores.
test test-attack coverage: export OMP_NUM_THREADS ?= 1

# The type checker has one thread, so it runs beside the tests.
test: $(READY)
	$(MAKE) --jobs 2 lint pytest

# A test that hangs fails by its name after five minutes.
pytest: $(READY)
	$(PYTEST) --timeout 300

test-slow: $(READY)
	$(BIN)/python -m pytest -m slow

test-attack: $(READY)
	$(PYTEST) tests/attack tests/server -m attack

test-extras: $(EXTRAS_READY)
	$(EXTRAS)/bin/python -m pytest tests/extras -m extras

coverage: $(READY)
	$(PYTEST) --cov --cov-report term --cov-report html:build/coverage

docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "Open build/site/index.html"

# About 20 minutes on two quiet cores.
bench: $(READY)
	$(BIN)/python benchmarks/products.py
	$(BIN)/python benchmarks/rows.py
	$(BIN)/python benchmarks/learning.py
	$(BIN)/python benchmarks/small.py
	$(BIN)/python benchmarks/few.py
	$(BIN)/python benchmarks/threads.py
	$(BIN)/python benchmarks/imbalance.py
	$(BIN)/python benchmarks/limits.py
	$(BIN)/python benchmarks/accuracy.py
	$(BIN)/python benchmarks/ridge_path.py
	$(BIN)/python benchmarks/imports.py
	$(BIN)/python benchmarks/predictors.py
	$(BIN)/python benchmarks/digits.py

# About five minutes on two quiet cores.
bench-serve: $(READY)
	$(BIN)/python benchmarks/serving.py

# Needs an environment with a CUDA build of torch; the one above has none.
bench-gpu:
	PYTHONPATH=. $(PYTHON) benchmarks/gpu.py
	PYTHONPATH=. $(PYTHON) benchmarks/training_steps.py

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:
	rm -rf $(VENV) $(EXTRAS) build

# constraints.txt pins exact versions, so that two machines get the same environment.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $(READY)

$(EXTRAS_READY): pyproject.toml constraints-extras.txt
	$(PYTHON) -m venv $(EXTRAS)
	$(EXTRAS)/bin/pip install --quiet --constraint constraints-extras.txt --editable '.[test-extras]'
	touch $(EXTRAS_READY)
