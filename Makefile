# Every target sets up what it needs in .venv; a fresh machine needs only make and Python 3.11 or newer.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# The last thing an installation writes, so a folder without it is unfinished and is made anew.
READY := $(VENV)/.ready
DOCS_READY := $(VENV)/.docs-ready

.PHONY: help demo test lint slow bench docs clean

help:
	@echo "make demo    run the demonstration"
	@echo "make test    run every check: lint, then the tests"
	@echo "make lint    ruff, mypy and the import contracts"
	@echo "make slow    the tests that take longer"
	@echo "make bench   the measurements"
	@echo "make docs    build the documentation into site/"
	@echo "make clean   remove .venv and everything that was generated"

demo: $(READY)
	$(BIN)/agents-memory demo

test: lint
	$(BIN)/python -m pytest

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

slow: $(READY)
	$(BIN)/python -m pytest -m slow

bench: $(READY)
	$(BIN)/python -m pytest -m bench -s

docs: $(DOCS_READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

clean:
	rm -rf $(VENV) build dist site .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): pyproject.toml
	@command -v "$(PYTHON)" >/dev/null || { \
	  echo "'$(PYTHON)' was not found. Name a Python 3.11 or newer: make PYTHON=python3.12" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "agents_memory needs Python 3.11 or newer, and '$(PYTHON)' is $$("$(PYTHON)" -V 2>&1)." \
	    "Name another: make PYTHON=python3.12" >&2; exit 1; }
	test -f $@ || "$(PYTHON)" -m venv --clear $(VENV)
	rm -f $@ $(DOCS_READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

$(DOCS_READY): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	touch $@
