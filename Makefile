.DEFAULT_GOAL := help
.PHONY: help catalogue map run test test-remaining test-recorded requirements security craft reliability day ecosystem soak coverage mutation static check fix snapshots pictures docs bench pin lowest release
BIN := .venv/bin/
PIP := $(BIN)python -m pip install --disable-pip-version-check
CONSTRAINTS := constraints.txt
EXTRAS := acp,images,keyring,mcp
WORKERS := $(shell expr $$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2) + 2)
# pytest stores the assertions that it rewrites, which take longer than all imports
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)python -m pytest -q -n $(WORKERS) --dist worksteal
# The markers of tests that have a command of their own
OWN := recorded or soak or security or craft or reliability or ecosystem or day
RECORDED := $(or $(YOURTOOL_SHARED),../shared)

help:       ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "%-14s %s\n", $$1, $$2}'

run: .venv/.run  ## Open yourtool here; ARGS="…" are its arguments
	@$(BIN)yourtool $(ARGS)

test: .venv/.dev  ## Run the tests; ARGS="…" are pytest's arguments
	$(if $(ARGS),,@echo 'make: all tests take about seven minutes on two cores' >&2)
	$(PYTEST) $(ARGS)

test-remaining: .venv/.dev  ## Run the cases and the long tests that `make test` leaves out
	$(if $(ARGS),,@echo 'make: these tests take about six minutes on two cores' >&2)
	$(PYTEST) -m 'remaining and not ($(OWN))' $(ARGS)

test-recorded: .venv/.dev  ## Run the tests of the larger, recorded set, if you have it
	@test -d "$(RECORDED)/wire" || { echo "make: there is no recorded set in $(RECORDED);" \
	    "YOURTOOL_SHARED is the directory that has it. \`make test\` needs none." >&2; exit 1; }
	$(PYTEST) -m recorded $(ARGS)

requirements: .venv/.dev  ## List the tests that cover each requirement
	@$(BIN)python -m tests.requirements

security: .venv/.dev  ## Run the long tests of hostile input; print their figures
	$(BIN)python -m pytest -q -p no:xdist -m security --timeout 1800 $(ARGS)

craft: .venv/.dev  ## Run the long tests of what models meet; print figures; MODEL=… does their tasks
	$(BIN)python -m $(if $(MODEL),tests.e2e.craft_with_model $(MODEL),pytest -q -p no:xdist -m craft \
	    --timeout 1800 $(ARGS))

reliability: .venv/.dev  ## Run the long tests of sessions; print their figures
	$(BIN)python -m pytest -q -p no:xdist -m reliability $(ARGS)

day: .venv/.dev  ## Run thirty commands in thirty projects, in a shell and in the program; print the table
	$(PYTEST) -m day --timeout 900 tests/day $(ARGS)

ecosystem: .venv/.dev  ## Fetch clients and servers of others, and run the program against each
	$(BIN)python -m tests.ecosystem.parts
	$(BIN)python -m pytest -q -p no:xdist -m ecosystem tests/ecosystem $(ARGS)

coverage: .venv/.dev  ## List the branches of gate, paths, sanitiser and journal that no test takes
	$(BIN)python -m coverage run -m pytest -q -p no:xdist -m 'not ($(OWN))' tests/permissions tests/agent/history \
	    tests/agent/turn tests/agent/session tests/agent/test_credential_approval.py \
	    tests/agent/hooks/test_turns.py \
	    tests/store/test_journal.py tests/cli/test_permissions.py tests/cli/test_rules.py \
	    tests/foundation/test_text.py tests/test_text_safety.py tests/tools/workspace/test_directory_opening.py \
	    tests/tools/workspace/test_directory_walk.py tests/tools/files/test_files.py \
	    tests/tools/workspace/test_path_resolution.py \
	    tests/tools/test_own_directories.py tests/tools/search/test_search.py \
	    tests/tools/workspace/test_workspace.py tests/tui/lines/test_ansi.py tests/tui/theme/test_display_filters.py \
	    tests/tui/theme/test_output_filter.py tests/tui/lines/test_verbatim.py $(ARGS)
	$(BIN)python -m coverage report --fail-under 100

mutation: .venv/.dev  ## Change gate, paths, sanitiser and journal in N places; list what no test notices
	$(BIN)python -m tests.mutation $(or $(N),10) $(ONLY)

soak: .venv/.dev  ## Run the long versions of tests; takes many minutes
	$(PYTEST) -m '(soak or hypothesis) and not recorded' --hypothesis-profile soak \
	    --timeout 1800 $(ARGS)

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
	$(BIN)python -m pytest -q tests/tui -m "not recorded and not soak" --snapshot-update

pictures: .venv/.dev  ## Write the screenshots and the recording of README and docs
	$(BIN)python -m tests.pictures docs/screenshots

map: .venv/.dev  ## Print what is in which package, and where a change goes
	@$(BIN)python -m docs.map

docs: .venv/.dev  ## Write the pages that are made from the code
	$(BIN)python -m docs.generate

bench: .venv/.dev  ## Measure speed and size; results as JSON and as a table
	$(BIN)python -m benchmarks $(ARGS)

catalogue: .venv/.dev  ## Write config/catalogue.json from the tables of others; read its diff
	$(BIN)python -m docs.catalogue

pin: .venv/.dev  ## Take the versions that are installed now as the exact ones, and their hashes
	@$(PIP) --quiet --editable '.[$(EXTRAS)]'
	$(BIN)python -m pip freeze --exclude-editable | grep '==' > constraints.txt
	@$(BIN)uv pip compile --quiet --universal --python-version 3.11 --all-extras --generate-hashes \
	    --no-header --no-annotate -c constraints.txt pyproject.toml -o constraints-hashed.txt

lowest: .venv/.dev  ## Install the lowest versions of the ranges; test a turn in a terminal, or ARGS
	@$(BIN)python -m venv --clear .venv/lowest
	@$(BIN)uv pip install --quiet --python .venv/lowest --resolution lowest-direct \
	    --editable '.[$(EXTRAS)]' --group dev
	PYTHONDONTWRITEBYTECODE= .venv/lowest/bin/python -m pytest -q -n $(WORKERS) \
	    $(or $(ARGS),tests/e2e/test_first_run.py tests/e2e/test_conversation.py)

release: .venv/.dev  ## Build wheel and sdist into dist/, twice, and try them in an empty environment
	@$(BIN)python -m tests.release dist

.venv/.pip:
	@echo 'make: creating a virtual environment in .venv' >&2
	@.ci/venv
	@$(PIP) --upgrade 'pip>=25.1' >&2
	@touch $@

.venv/.run: .venv/.pip pyproject.toml constraints.txt
	@echo 'make: installing yourtool; the first time this takes one or two minutes' >&2
	@$(PIP) -c $(CONSTRAINTS) --editable . >&2
	@touch $@

.venv/.dev: .venv/.pip pyproject.toml constraints.txt
	@echo 'make: installing the tools for tests; the first time this takes some minutes' >&2
	@$(PIP) -c $(CONSTRAINTS) --editable . --group dev >&2
	@touch .venv/.run $@
