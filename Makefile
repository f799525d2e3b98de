# `make run`: set up, then the main job on the embedded text. `make test`: set up, then lint, types and tests.
# `make check`: the heavy checks. `make speed`: how fast everything is. Needs Python 3.11+ and an index.
# `make docs`: the site, in runs/site.
# `make mutants`: a fixed sample of small changes of the source, each against the tests of its room; none that was found may be lost.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

# The tests start this program some hundred times: compiled modules are kept, also where the environment says otherwise.
export PYTHONDONTWRITEBYTECODE :=

# Torch of plain indexes brings CUDA along on Linux, some GB that no test needs: without MODELS=yes its small build or none.
MODELS ?= small
TORCH := $(if $(filter yes,$(MODELS))$(filter-out Linux,$(shell uname)),,torch==$(shell sed -n 's/^torch==//p' constraints.txt)+cpu)

.DEFAULT_GOAL := help
.PHONY: help run test types tests check speed docs mutants clean

help:
	@sed -n '1,4s/^# //p' Makefile

# Installed packages follow pyproject.toml and the pinned versions in constraints.txt; modules are compiled as they are imported.
PACKAGES := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --constraint constraints.txt --editable

$(VENV)/.empty:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "draftproof needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 2; }
	@echo "setting up $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.core: $(VENV)/.empty pyproject.toml constraints.txt
	@$(PACKAGES) '.[prove]'
	@touch $@

$(VENV)/.dev: $(VENV)/.empty pyproject.toml constraints.txt
	@$(PACKAGES) '.[dev,models]' $(TORCH) 2>/dev/null || { $(PACKAGES) '.[dev]' \
	  && echo "torch is left out: no build of it without CUDA is to be had here. MODELS=yes installs the other one, of some GB; tests that need it are skipped"; }
	@touch $(VENV)/.core $@

run: $(VENV)/.core
	@mkdir -p runs
	$(BIN)/draftproof compare --world text:topics,vocab=4 --K 1..3 --L1 0..2 --L2 1..2 --max-nodes 5 \
	  --arithmetic rational --resume runs/delay.db --plot runs/delay.png -o runs/delay.csv -o runs/delay.md
	$(BIN)/draftproof report runs/delay.db -o runs/report.html

# Types are checked beside the tests: they keep one core busy for half a minute.
test: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	@$(MAKE) --no-print-directory --jobs 2 types tests

types: $(VENV)/.dev
	$(BIN)/mypy $$($(BIN)/python -c 'import torch' 2>/dev/null || echo --ignore-missing-imports --allow-untyped-decorators --allow-subclassing-any --no-warn-unused-ignores)

tests: $(VENV)/.dev
	$(BIN)/pytest -n 2 --dist worksteal -rs

# The site is built with every link and reference checked.
check: test docs
	$(BIN)/pytest -n 2 --dist worksteal -m heavy
	@if $(BIN)/python -c 'import torch' 2>/dev/null; then $(BIN)/pytest -s -m alone; else echo "tests that run alone need torch"; fi

# Processor time, beside what each replaces or cannot beat; pytest-benchmark's own options save runs and compare with them.
speed: $(VENV)/.dev
	$(BIN)/pytest tests/benchmarks -p benchmark -m benchmark --benchmark-timer=time.process_time \
	  --benchmark-columns=min,median,rounds --benchmark-sort=fullname

$(VENV)/.docs: $(VENV)/.core
	@$(PACKAGES) '.[docs]'
	@touch $@

docs: $(VENV)/.docs
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build
	@echo "read it: $(BIN)/python -m http.server --directory runs/site"

$(VENV)/.mutants: $(VENV)/.dev
	@$(PACKAGES) '.[dev,mutants]'
	@touch $@

mutants: $(VENV)/.mutants
	$(BIN)/python tests/mutants/frozen.py again

clean:
	rm -rf $(VENV) runs .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info
