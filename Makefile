# Two commands on a fresh machine: `make run` shows the experiment, `make test` runs every test. `make help` lists the rest.
# Benchmarks and encoder are read from ../shared where a checkout has it beside it; ENGRAM_DATA and ENGRAM_ENCODER override.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
METHOD ?= loom
SHARED := $(wildcard ../shared/data)
ifneq ($(SHARED),)
export ENGRAM_DATA ?= $(abspath $(SHARED))
endif

.DEFAULT_GOAL := help
.PHONY: help setup run test test-e2e fuzz mutants lint format bench reference clean

help:  ## this list
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(VENV)/.installed  ## make .venv and install the project with everything that its tests need

# torch first and alone: pinned to its CPU build, before any looser range can choose another.
$(VENV)/.installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[openai,dev]'
	touch $@

run: setup  ## the experiment: `pytest --engram-method=loom -n auto`, its tables, and where the page is
	$(BIN)/python -m pytest --engram-method=$(METHOD) -n auto

test: setup lint  ## lint, types and all tests but the end-to-end ones
	$(BIN)/python -m pytest -n auto --dist worksteal -q -m 'not e2e'

test-e2e: setup  ## tests in a real browser and with a real model server, which it installs first
	PYTHON=$(BIN)/python bash tests/e2e/install.sh
	$(BIN)/python -m pytest -q -m e2e tests/e2e

FUZZ_SECONDS ?= 600
fuzz: setup  ## new broken input, for FUZZ_SECONDS (600); a failure is printed with what reproduces it
	end=$$(( $$(date +%s) + $(FUZZ_SECONDS) )); while [ $$(date +%s) -lt $$end ]; do \
		ENGRAM_FUZZ=fuzz-long $(BIN)/python -m pytest -n auto --dist worksteal -q tests/fuzz || exit 1; done

mutants: setup  ## change what judges, an operator at a time: which changes does no test notice? MODULE=judging/metrics
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[openai,dev,mutants]'
	$(BIN)/python tests/mutants/run.py $(MODULE)

lint: setup  ## ruff's lint and format, mypy in strict mode, who may import whom
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy
	$(BIN)/lint-imports

format: setup  ## let ruff mend what it can
	$(BIN)/python -m ruff check --fix .
	$(BIN)/python -m ruff format .

bench: setup  ## the ratios of benchmarks/, each against its peer in one run
	$(BIN)/python -m benchmarks

reference: setup  ## write reports/reference, the committed reference run (official data and bge-small are needed)
	bash benchmarks/reference.sh $(BIN)

clean:  ## remove what was built
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
