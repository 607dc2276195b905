# Sayso needs Python 3.11 or newer and make; everything else comes from the locks.
#
#   make demo       see the whole product work: one command allowed, one denied, one for you to decide
#   make test       system packages, lint, types, import contracts, benchmarks, tests
#   make test-deep  what takes longer: mutants, fuzz, oracles, storms, floods, long benchmarks
#   make test-full  what takes hours: deep tests at full size, properties drawn anew
#   make release VERSION=1.2.0   version, changelog, tag, artefacts built twice; never uploads
#   make fuzz       200,000 accepted lines against bash, dash and zsh, and the wrappers
#
# Variables: PYTHON=/path/to/python3.12  DEMO_ARGS='--answer allow-once'  JOBS=4  PYTEST_ARGS='-k store'
#            FUZZ_LINES=20000  RELEASE_ARGS=--dry-run
# More than `make test` does, by SAYSO_… variables: the table in CONTRIBUTING.md

SHELL := /bin/sh
.DEFAULT_GOAL := help
.SUFFIXES:

VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.sayso-runtime
DEV := $(VENV)/.sayso-dev
# Three for each core: most tests wait for clocks, disks and other processes.
JOBS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2) \* 3)
DEMO_ARGS ?=
PYTEST_ARGS ?=
FUZZ_LINES ?= 200000
UV ?= uv
VERSION ?=
RELEASE_ARGS ?=

# Five processes read the tests; the first keeps what it compiled, whatever the environment says.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest
PIP := PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore $(BIN)/python -m pip
LOCKED := --quiet --require-hashes --no-deps
EDITABLE := --quiet --no-deps --no-build-isolation --editable .
COMPILE := $(UV) pip compile pyproject.toml - --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-header --no-annotate --quiet
# What builds the editable install; pinned with the rest, so that building needs no network either.
BUILD := 'hatchling>=1.27\neditables>=0.5\n'

.PHONY: help install demo test test-deep test-full fuzz system lint types imports format docs lock release clean

help:
	@sed -n '3,12s/^# \{0,3\}//p' Makefile

install: $(RUNTIME)

demo: $(RUNTIME)
	@$(BIN)/sayso demo $(DEMO_ARGS)

# The benchmarks run alone, before the tests share the cores; both are judged. A neighbour of this
# machine can make a program slow, never fast: what missed its bound is measured again, twice at most.
measure = $(PYTEST) -m 'benchmark and $(1)' --quiet --capture=no $(PYTEST_ARGS)
measure-again = { echo '== what missed its bound, once more'; $(measure) --last-failed; }

define run-tests
	@echo '== benchmarks'
	@status=0; \
	$(measure) || $(measure-again) || $(measure-again) || status=$$?; \
	echo '== tests, $(JOBS) at a time'; \
	$(PYTEST) -m 'not benchmark and $(1)' --numprocesses=$(JOBS) --dist=worksteal --quiet $(PYTEST_ARGS) || status=$$?; \
	exit $$status
endef

test: system
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target lint types imports
	$(call run-tests,not deep)

test-deep: $(DEV) system
	$(call run-tests,deep)

fuzz: $(DEV)
	@echo '== fuzz, $(FUZZ_LINES) lines'
	@SAYSO_FUZZ_LINES=$(FUZZ_LINES) $(BIN)/python -m pytest --quiet --capture=no $(PYTEST_ARGS) \
		tests/faults/test_shell_fuzz.py tests/faults/test_wrapper_fuzz.py

test-full: system fuzz
	@echo '== properties, drawn anew'
	@SAYSO_PROPERTY_EXAMPLES=5000 $(BIN)/python -m pytest -m 'not benchmark' --numprocesses=$(JOBS) --quiet $(PYTEST_ARGS) \
		$$(grep -rl 'from hypothesis' tests --include='test_*.py')
	@echo '== faults, oracles and floods at full size'
	@SAYSO_FULL_FAULTS=1 SAYSO_FULL_ORACLE=1 SAYSO_FULL_SWAPS=1 SAYSO_FULL_ENDINGS=1 SAYSO_FULL_CLOCK=1 \
		SAYSO_FULL_CUTS=1 \
		SAYSO_API_REQUESTS=100000 $(BIN)/python -m pytest -m 'not benchmark' \
		--quiet --capture=no $(PYTEST_ARGS) tests/faults

system:
	@echo '== system packages that the tests use'
	@sh tests/system_packages.sh

lint: $(DEV)
	@echo '== lint'
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .

types: $(DEV)
	@echo '== types'
	@$(BIN)/mypy

imports: $(DEV)
	@echo '== import contracts'
	@$(BIN)/lint-imports --no-cache

format: $(DEV)
	@$(BIN)/ruff check --quiet --fix-only .
	@$(BIN)/ruff format --quiet .

docs: $(DEV)
	@$(BIN)/python -m tests.project.generated

# Stamps make a second run immediate; a changed lock or pyproject.toml installs again. Whoever writes
# no bytecode (PYTHONDONTWRITEBYTECODE, a checkout of another user) would compile at each start.
$(RUNTIME): requirements.lock pyproject.toml | $(BIN)/python
	@echo '== installing Sayso from requirements.lock'
	@$(PIP) install $(LOCKED) --requirement requirements.lock
	@$(PIP) install $(EDITABLE)
	@$(BIN)/python -m compileall -q bot channels core
	@touch $@
	@echo '== installed: $(BIN)/sayso'

$(DEV): requirements-dev.lock pyproject.toml | $(BIN)/python
	@echo '== installing Sayso and its tools from requirements-dev.lock'
	@$(PIP) install $(LOCKED) --requirement requirements-dev.lock
	@$(PIP) install $(EDITABLE)
	@$(BIN)/python -m compileall -q bot channels core
	@touch $@ $(RUNTIME)

# Without PYTHON=…, the first interpreter that is new enough. A half-made venv is taken away again.
$(BIN)/python:
	@for python in $(PYTHON) $(if $(PYTHON),,python3 python3.13 python3.12 python3.11 python); do \
		"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
		echo "== creating $(VENV) with $$python"; \
		"$$python" -m venv $(VENV) && exit 0; \
		rm -rf $(VENV); \
		echo "$$python cannot create a venv; on Debian and Ubuntu: apt-get install python3-venv" >&2; \
		exit 1; \
	done; \
	echo 'Sayso needs Python 3.11 or newer; install it, or name it: make PYTHON=/path/to/python' >&2; \
	exit 1

lock:
	@printf $(BUILD) | $(COMPILE) --output-file requirements.lock
	@printf $(BUILD) | $(COMPILE) --group dev --constraint requirements.lock \
		--output-file requirements-dev.lock

release: $(RUNTIME)
	@PATH="$(abspath $(BIN)):$$PATH" sh .ci/release $(RELEASE_ARGS) '$(VERSION)'

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .import_linter_cache .hypothesis dist
	find bot channels core tests -name __pycache__ -type d -prune -exec rm -rf {} +
