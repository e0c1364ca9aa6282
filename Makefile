# The front door. `make` alone says what there is; nothing needs to be typed before any of it.
#
#   make test ARGS="-k receipts -x"     arguments for pytest
#   make test SEED=7                    the same random examples again
#   make demo AGENT=claude              with the real claude instead of the stand-in
#   make chaos N=200 SEED=7             a seed has the same nights again
#   make lint V=1                       show the commands
#   make loop FEATURE=login             Ralphy at work on itself: loop, watch, status, why, approve, reject, prove

SHELL := /bin/sh
MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.made
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check
# What the environment is made of: lock (exactly requirements.lock), latest or oldest (what pyproject.toml allows).
VERSIONS := lock
UV := .cache/uv/bin/uv
RESOLVE := $(UV) pip compile --quiet --universal --python-version 3.11 --extra dev --extra docs pyproject.toml
# The Claude Code that tests drive. Versions lie side by side: make tools CLAUDE_VERSION=2.1.197, then
# make test RALPHY_TEST_CLAUDE=2.1.197
CLAUDE_VERSION := 2.1.332
CLAUDE := .cache/claude-$(CLAUDE_VERSION)
OLDER_CLAUDE := 2.1.197
# program:package
PACKAGES := bwrap:bubblewrap strace:strace
AGENT ?= rehearsal
ARGS ?=
# A test that fails is run again, alone; so many may pass only then.
FLAKES ?= 3
N ?= 20
SEED ?=
PART ?=
JOBS ?=
V ?=
Q := $(if $(filter-out 0,$(V)),,@)

# The first Python that is new enough; said once, when the environment is made.
PYTHON ?= $(shell for name in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$name; break; }; done)

# Without bytecode every process compiles all of Ralphy, and pytest all tests in every worker.
unexport PYTHONDONTWRITEBYTECODE

# What the environment brings (ralphy, gh) is found first.
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: help setup lock tools test test-latest test-oldest soak fast lint type check demo bench cheats mutants chaos sweep docs pictures browser site wheel clean self

help: ## say what there is (this)
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile
	@echo '  make loop        develop Ralphy with Ralphy: FEATURE=name; also watch, status, why, approve, reject, prove'

setup: $(STAMP) ## make the environment in .venv (everything else does it, too)
	@echo 'next: export PATH="$$PATH:$$PWD/$(VENV)/bin"; make demo'

$(STAMP): pyproject.toml requirements.lock
	$(Q)test -n '$(PYTHON)' || { echo 'Python 3.11 or later is needed; none was found. Name one: make setup PYTHON=/path/to/python3' >&2; exit 1; }
	$(Q)$(BIN)/python -c '' 2>/dev/null || { rm -rf $(VENV) && $(PYTHON) -m venv $(VENV); } || { rm -rf $(VENV); \
		echo 'The environment cannot be made (on Debian and Ubuntu: apt-get install python3-venv).' >&2; exit 1; }
	@echo 'setting up $(VENV): installing Ralphy, what it needs and its test tools (1 to 3 minutes, once) …' >&2
	$(Q)$(INSTALL_$(VERSIONS))
	$(Q)$(PIP) --no-deps --no-build-isolation --editable .
	$(Q)touch $@

INSTALL_lock = $(PIP) --require-hashes -r requirements.lock
INSTALL_latest = $(PIP) --upgrade --upgrade-strategy eager --editable '.[dev,docs]' 'hatchling>=1.27'
INSTALL_oldest = $(RESOLVE) --resolution lowest-direct --output-file $(VENV)/oldest.txt && $(PIP) -r $(VENV)/oldest.txt

lock: $(UV) ## renew requirements.lock: the newest versions, with hashes
	$(Q)$(RESOLVE) --upgrade --generate-hashes --custom-compile-command 'make lock' --output-file requirements.lock

$(UV):
	$(Q)$(PYTHON) -m venv .cache/uv && .cache/uv/bin/python -m pip install -qq --disable-pip-version-check uv

tools: ## install what some tests want: the real Claude Code CLI below .cache, and (as root) Debian's packages
	$(Q)missing=; for name in $(PACKAGES); do command -v $${name%%:*} >/dev/null || missing="$$missing $${name##*:}"; done; \
	if test -z "$$missing"; then :; \
	elif test "$$(id -u)" = 0 && command -v apt-get >/dev/null; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; \
	else echo "not installed:$$missing: the tests that need it will be skipped." >&2; fi
	$(Q)if test -e $(CLAUDE)/.installed; then :; \
	elif ! command -v npm >/dev/null; then \
		echo 'npm is not on PATH: the tests that drive the real claude will be skipped.' >&2; \
	else \
		mkdir -p $(CLAUDE) && npm install --silent --no-audit --no-fund --prefix $(CLAUDE) @anthropic-ai/claude-code@$(CLAUDE_VERSION) \
		&& touch $(CLAUDE)/.installed; \
	fi

test: $(STAMP) ## run the tests; FLAKES=0 tolerates no flaky one
	$(Q)$(BIN)/python -m tests.run --flakes $(FLAKES) -n 4 --dist worksteal $(if $(SEED),--hypothesis-seed=$(SEED)) $(ARGS)

test-latest: ## run all tests on the newest versions that pyproject.toml allows
	$(Q)rm -f .cache/latest/.made
	$(Q)$(MAKE) --no-print-directory test VENV=.cache/latest VERSIONS=latest

test-oldest: $(UV) ## run all tests on the oldest ones
	$(Q)rm -f .cache/oldest/.made
	$(Q)$(MAKE) --no-print-directory test VENV=.cache/oldest VERSIONS=oldest

fast: $(STAMP) ## run the tests of the core with half of the random examples: some 40 seconds on two idle cores
	$(Q)$(BIN)/python -m pytest -q -n 2 --hypothesis-profile=fast tests/core $(ARGS)

soak: tools $(STAMP) ## run the long tests, chaos, sweep and the older claude, for nights and releases
	$(Q)$(MAKE) --no-print-directory tools CLAUDE_VERSION=$(OLDER_CLAUDE)
	$(Q)$(BIN)/python -m pytest -n 3 --dist worksteal -m 'soak or hypothesis' --hypothesis-profile=soak \
		--timeout=1800 $(ARGS)
	$(Q)$(MAKE) --no-print-directory chaos N=50
	$(Q)$(MAKE) --no-print-directory chaos N=20 JOBS=4
	$(Q)$(MAKE) --no-print-directory sweep
	$(Q)RALPHY_TEST_CLAUDE=$(OLDER_CLAUDE) $(BIN)/python -m pytest -n 3 --dist worksteal -m real_claude

lint: $(STAMP) ## look for faults of style (ruff)
	$(Q)$(BIN)/python -m ruff check --quiet .
	$(Q)$(BIN)/python -m ruff format --quiet --check .

type: $(STAMP) ## check the types (mypy --strict)
	$(Q)$(BIN)/python -m mypy --no-error-summary
	$(Q)$(BIN)/python -m mypy --no-error-summary --platform darwin --cache-dir .mypy_cache/darwin ralphy

check: lint type test demo ## run what CI runs

demo: $(STAMP) ## show the whole pipeline on a toy repository
	$(Q)$(BIN)/python -m ralphy demo --agent $(AGENT)

bench: $(STAMP) ## measure, beside a bare loop in the same run
	$(Q)$(BIN)/python -m bench $(ARGS)

cheats: $(STAMP) ## judge cheats and honest changes for each runner; ARGS="--runner go" takes one
	$(Q)$(BIN)/python -m bench.cheats $(ARGS)

mutants: $(STAMP) ## change N points (20) of what decides and judges, one at a time: do tests notice? SEED=... has the same again
	$(Q)$(BIN)/python -m bench.mutants $(N) $(if $(SEED),--seed $(SEED)) $(ARGS)

chaos: $(STAMP) ## go through N features (20) under random kills, faults and cheats; SEED=... has a night again; JOBS=4: agents side by side
	$(Q)$(BIN)/python -m tests.faults.chaos $(N) $(if $(SEED),--seed $(SEED)) $(if $(JOBS),--jobs $(JOBS)) $(ARGS)

sweep: $(STAMP) ## fail every durable operation of a landing once; PART=1/10 takes every tenth
	$(Q)$(BIN)/python -m tests.faults.sweep $(if $(PART),--part $(PART)) $(ARGS)

docs: $(STAMP) ## write docs/reference, docs/faults.md and the schema of events from the code
	$(Q)$(BIN)/python -m tests.cli.event_schema schemas/events.schema.json
	$(Q)$(BIN)/python -m tests.cli.reference_pages docs/reference
	$(Q)$(BIN)/python -m tests.faults.page docs/faults.md

pictures: $(STAMP) ## draw docs/pictures from the code
	$(Q)$(BIN)/python -m tests.cli.pictures docs/pictures
	$(Q)$(BIN)/python -m tests.cli.dashboard_pictures docs/pictures

browser: ## install Debian's Chromium (as root), for the tests and pictures of the dashboard's page
	$(Q)if command -v chromium >/dev/null; then :; else apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
		apt-get install -y -qq --no-install-recommends chromium >/dev/null; fi

site: $(STAMP) ## build the site of the documents into build/site
	$(Q)NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict

wheel: $(STAMP) ## build dist/*.whl
	$(Q)$(BIN)/python -m pip wheel -qq --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist .

clean: ## remove what was built and cached (not .venv and .cache)
	$(Q)rm -rf dist build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis bench-results
	$(Q)find ralphy tests bench -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# Ralphy is developed like any repository that it works on, by a copy of itself that is installed outside of this
# clone: agents edit the code here, and must not edit the Ralphy that judges them. `make self` renews the copy.
SELF := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/ralphy/self
RALPHY ?= $(SELF)/bin/ralphy
include $(dir $(lastword $(MAKEFILE_LIST)))templates/ralphy.mk
$(RALPHY_TARGETS): | $(RALPHY)

self: ## install this commit as the Ralphy that `make loop` runs here
	$(Q)test -n '$(PYTHON)' || { echo 'Python 3.11 or later is needed; none was found. Name one: make self PYTHON=/path/to/python3' >&2; exit 1; }
	@echo 'installing Ralphy in $(SELF) …' >&2
	$(Q)$(PYTHON) -m venv --clear '$(SELF)'
	$(Q)'$(SELF)/bin/python' -m pip install -qq --disable-pip-version-check .

$(SELF)/bin/ralphy:
	$(Q)$(MAKE) --no-print-directory self
