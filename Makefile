# `make help` lists what there is. Everything runs in .venv, which `make install` sets up.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help install demo test fmt lint type imports cov docs bench bench-peers clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-11s %s\n", $$1, $$2}'

$(STAMP): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Orca needs Python 3.11 or newer; set PYTHON=python3.12, say")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group dev --editable ".[mcp,web]"
	touch $(STAMP)

install: $(STAMP) ## set up .venv with Orca and its development tools

demo: $(STAMP) ## load the sample conversation and show the memory at work
	$(BIN)/orca demo

test: $(STAMP) ## run the whole test suite
	$(BIN)/python -m pytest -n auto

fmt: $(STAMP) ## format the code
	$(BIN)/ruff format src tests benchmarks examples
	$(BIN)/ruff check --fix src tests benchmarks examples

lint: $(STAMP) ## check style and formatting
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/ruff format --check src tests benchmarks examples

type: $(STAMP) ## check types
	$(BIN)/mypy

imports: $(STAMP) ## check the direction of imports
	$(BIN)/lint-imports

cov: $(STAMP) ## run the tests with coverage
	$(BIN)/python -m pytest -n auto --cov --cov-report=term-missing

docs: $(STAMP) ## check that links, glossary and command reference hold
	$(BIN)/python -m pytest tests/docs

bench: $(STAMP) ## measure speed; see benchmarks/README.md
	$(BIN)/python -m benchmarks.speed --sizes 1k,10k

bench-peers: ## measure speed beside other local stores, which are installed into .venv-peers
	test -x .venv-peers/bin/python || $(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check --group peers --editable .
	.venv-peers/bin/python -m benchmarks.peers

clean: ## remove what was built
	rm -rf $(VENV) .venv-peers .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
