# Everything happens in .venv, which is set up on first use and again when the pins or the project file change.

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
WORKERS ?= 2
READY = $(VENV)/.ready

.PHONY: run test test-slow check bench docs ui clean setup

run: $(READY)
	$(BIN)/remine sample
	$(BIN)/remine run flows/presets/sample.toml

test: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile

test-slow: $(READY)
	$(BIN)/python -m pytest -m slow

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The minutes' ones by default; the others take up to an hour each: make bench BENCHMARKS="kill warehouse_speed"
BENCHMARKS ?= encode scoring training

bench: $(READY)
	$(BIN)/remine sample
	@for name in $(BENCHMARKS); do echo "== $$name"; $(BIN)/python benchmarks/$$name.py data/sample || exit 1; done

docs: $(READY)
	$(BIN)/python docs/write.py
	$(BIN)/python docs/tree.py
	$(BIN)/remine serve flows/presets/sample.toml --cron "0 3 * * 1" --timezone Europe/Berlin --yaml prefect.yaml

ui: $(READY)
	$(BIN)/remine ui

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "remine needs Python 3.11 or newer, and $(PYTHON) is $$($(PYTHON) --version 2>&1);"; \
	  echo "name another one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[demo,dev,hub,lora,ray]'
	@touch $(READY)

# What tools cached and interrupted steps left. Artifacts, the warehouse, your data and .venv stay (`remine clean` is about artifacts).
clean:
	rm -rf build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis data/artifacts/*/*.tmp-*
	find flows models tasks warehouse tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
