# pmweb: `make run` is all it takes. Everything made lies in .venv/ and in $PMWEB_HOME (default ./var).
#
#   make setup   environment with what is needed to run; setup-scale: on several computers (PostgreSQL, Redis)
#   make run     start the site; HOST=0.0.0.0 PORT=8001 to listen elsewhere
#   make test    all tests; those whose tools are not installed skip
#   make test-tools  install these tools: Chromium, PostgreSQL, Redis, nginx, Node.js (Debian, as root)
#   make check   style, types, templates, rooms, patterns, budget, migrations, locks, known vulnerabilities
#   make agent   dist/pmweb-agent.pyz, which measures another computer with nothing installed there
#   make mutants mutation testing: small faults in the code that no nearby test notices (takes long); SEED=1 NUMBER=60
#   make bench   benchmarks; NAME=startup to run one
#   make docs    dist/docs/, this documentation as a site of its own
#   make sbom    dist/sbom.cdx.json, what a site consists of (CycloneDX)
#   make lock    write the lock files anew, after a change of the dependencies in pyproject.toml

HOST ?= 127.0.0.1
PORT ?= 8000
NAME ?=
NUMBER ?= 60
SEED ?= 1
VENV := .venv
PYTHON := $(VENV)/bin/python

# The stamps are the environment, as long as it still has the Python that it was made with.
$(shell test "$$(cat $(VENV)/running.stamp 2>/dev/null)" = "$$($(PYTHON) -V 2>&1)" || rm -f $(VENV)/*.stamp)

DOCS := -m sphinx -q -W --keep-going -b html docs

.PHONY: setup setup-scale run test test-tools check mutants agent bench docs sbom lock \
	check-style check-types check-rooms check-javascript check-templates check-site check-docs check-packages
.DEFAULT_GOAL := run

setup: $(VENV)/running.stamp

setup-scale: $(VENV)/scaled.stamp

$(VENV)/running.stamp: requirements.lock .ci/environment
	@.ci/environment $(VENV) requirements.lock
	@$(PYTHON) -V >$@

$(VENV)/scaled.stamp: requirements-scale.lock $(VENV)/running.stamp
	@.ci/environment $(VENV) requirements-scale.lock
	@# Users that services run as may write nothing here, and would compile at each start.
	@$(PYTHON) -m compileall -q -j 0 -x '/tests?/' $(VENV)/lib pmweb inference anica_app || true
	@$(PYTHON) -V >$@

$(VENV)/developing.stamp: requirements-dev.lock $(VENV)/running.stamp
	@.ci/environment $(VENV) requirements-dev.lock
	@$(PYTHON) -V >$@

run: setup
	@$(PYTHON) manage.py up --host $(HOST) --port $(PORT)

test: $(VENV)/developing.stamp
	@.ci/tests $(PYTHON)

test-tools:
	@.ci/tools

# Nothing in one part needs another: `make -j2 check` does two at a time.
check: check-style check-types check-rooms check-javascript check-templates check-site check-docs check-packages

check-style: $(VENV)/developing.stamp
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .

check-types: $(VENV)/developing.stamp
	$(PYTHON) -m mypy

check-rooms: $(VENV)/developing.stamp
	$(VENV)/bin/lint-imports
	$(PYTHON) .ci/cycles
	$(PYTHON) .ci/names
	$(PYTHON) .ci/docstrings
	$(PYTHON) .ci/isa-names
	$(PYTHON) .ci/patterns
	$(PYTHON) .ci/budget

check-javascript:
	@.ci/javascript

check-templates: $(VENV)/developing.stamp
	$(VENV)/bin/djlint --lint --quiet templates

check-site: $(VENV)/developing.stamp
	$(PYTHON) manage.py check
	$(PYTHON) manage.py makemigrations --check --dry-run

# A link that leads nowhere, a page without a place, a function that is not there: each is an error.
check-docs: $(VENV)/developing.stamp
	@built=$$(mktemp -d); $(PYTHON) $(DOCS) "$$built"; failed=$$?; rm -r "$$built"; exit $$failed

check-packages: $(VENV)/developing.stamp
	$(PYTHON) -m pip check
	$(PYTHON) .ci/locks --check
	$(PYTHON) .ci/audit

mutants: $(VENV)/developing.stamp
	@$(PYTHON) .ci/mutants --number $(NUMBER) --seed $(SEED) --floor 60

agent: setup
	@$(PYTHON) -m inference.agent.packing dist/pmweb-agent.pyz

bench: $(VENV)/developing.stamp
	$(PYTHON) -m benchmarks $(NAME)

docs: $(VENV)/developing.stamp
	@$(PYTHON) $(DOCS) dist/docs

sbom: $(VENV)/developing.stamp
	@$(VENV)/bin/python .ci/sbom dist/sbom.cdx.json

lock: $(VENV)/developing.stamp
	$(PYTHON) .ci/locks
