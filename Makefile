.DEFAULT_GOAL := help
.PHONY: help run test test-recorded soak static check fix snapshots docs bench pin
BIN := .venv/bin/
INSTALL := $(BIN)python -m pip install --quiet --disable-pip-version-check -c constraints.txt

help:       ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "%-14s %s\n", $$1, $$2}'

run: .venv/.run  ## Open yourtool here; ARGS="…" are its arguments
	@$(BIN)yourtool $(ARGS)

test: .venv/.dev  ## Run the tests; ARGS="…" are pytest's arguments
	$(BIN)python -m pytest -q -n auto $(ARGS)

test-recorded: .venv/.dev  ## Run the tests that read the larger, recorded set in YOURTOOL_SHARED
	$(BIN)python -m pytest -q -n auto -m recorded $(ARGS)

soak: .venv/.dev  ## Run the long versions of tests
	$(BIN)python -m pytest -q -n auto -m soak $(ARGS)

static: .venv/.dev  ## Format, lint, import contracts, types
	$(BIN)ruff format --check .
	$(BIN)ruff check .
	$(BIN)lint-imports
	$(BIN)pyright

check: static test  ## All that is checked before a change is merged

fix: .venv/.dev  ## Format and apply safe fixes
	$(BIN)ruff check --fix .
	$(BIN)ruff format .

snapshots: .venv/.dev  ## Accept what the screen looks like now; then read the diff
	$(BIN)python -m pytest -q tests/tui --snapshot-update

docs: .venv/.dev  ## Write the pages that are made from the code
	$(BIN)python docs/generate.py

bench: .venv/.dev  ## Measure speed and size; results as JSON and as a table
	$(BIN)python -m benchmarks $(ARGS)

pin: .venv/.dev  ## Take the versions that are installed now as the exact ones
	$(BIN)python -m pip freeze --exclude-editable | grep '==' > constraints.txt

.venv/.pip:
	@.ci/venv
	@$(BIN)python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@touch $@

.venv/.run: .venv/.pip pyproject.toml constraints.txt
	@$(INSTALL) --editable .
	@touch $@

.venv/.dev: .venv/.pip pyproject.toml constraints.txt
	@$(INSTALL) --editable . --group dev
	@touch .venv/.run $@
