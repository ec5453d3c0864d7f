# Everything sets itself up: a bare Debian 12 with Python and make is enough, as root or not.
PYTHON ?= python3
export PYTHON
BIN := .venv/bin
VERSIONS ?= 15 16 17 18
# options of a benchmark: make bench-worker ARGS='--payload 0 2048'
ARGS ?=
# as tests/kit/fixtures.py names it
IN_MEMORY = /dev/shm/penstock-tests-$(shell id -u)-$(shell printf %s "$(CURDIR)" | sha256sum | cut -c 1-8)

.PHONY: check-deploy recording screenshots help up newcomer demo test lint types tools test-slow test-matrix test-pooled test-django chaos chaos-guarded chaos-ha bench bench-quick soak bench-engine bench-snapshot bench-worker bench-server bench-dashboard bench-durable bench-interop bench-clients bench-scale bench-recipes storm-recipes last-runs docs docs-serve audit release clean clean-servers

help:  ## show the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

.venv/.ready: pyproject.toml recipes/pyproject.toml constraints.txt scripts/setup
	@scripts/setup

demo: .venv/.ready  ## start everything, run all four applications, leave the files; on a terminal, pages to play with until Ctrl-C
	@scripts/get-chromium
	@$(BIN)/python examples/demo.py

# whoever only looks at it needs no tools of developers
.venv/.all: pyproject.toml constraints.txt scripts/setup
	@scripts/setup all

up: $(if $(wildcard .venv/.ready),.venv/.ready,.venv/.all)  ## a small application to begin with: Postgres, API, dashboard, a worker; until Ctrl-C
	@[ -e .cache/hello/app.py ] || $(BIN)/penstock init .cache/hello
	@cd .cache/hello && exec ../../$(BIN)/penstock up app:app $(ARGS)

newcomer:  ## how long a newcomer takes from git clone, and from pip install, to a finished job in the dashboard
	@scripts/newcomer

test: .venv/.ready  ## lint, types and tests, on the embedded Postgres
	@$(MAKE) --no-print-directory -j3 lint types tools
	@scripts/run-tests

test-slow: .venv/.ready  ## the long forms: every hostile page, a thousand calls, random requests; half an hour
	@scripts/run-tests -m slow -o faulthandler_timeout=2400

tools:
	@scripts/setup-tests
	@scripts/get-chromium

ENGINE := tests/engine tests/sql tests/app tests/conformance tests/interop/pgmq tests/server/rest

test-matrix: .venv/.ready  ## the engine's tests on PostgreSQL 15 to 18, and on the newest behind PgBouncer in transaction mode
	@set -e; for version in $(VERSIONS); do echo "PostgreSQL $$version"; \
	  PENSTOCK_PG_BIN=$$($(BIN)/python -m tests.postgres_versions $$version) $(BIN)/pytest -n 2 $(ENGINE); done
	@$(MAKE) --no-print-directory test-pooled VERSION=$(lastword $(VERSIONS))

test-pooled: VERSION ?= 18
test-pooled: .venv/.ready  ## the engine's tests behind PgBouncer in transaction mode: make test-pooled VERSION=16
	@scripts/setup-tests
	@echo "PostgreSQL $(VERSION) behind PgBouncer"; \
	  PENSTOCK_TESTS_POOLED=1 PENSTOCK_PG_BIN=$$($(BIN)/python -m tests.postgres_versions $(VERSION)) \
	    $(BIN)/pytest -n 2 $(ENGINE)

lint: .venv/.ready
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports --no-logo
	$(BIN)/python scripts/twins --check

types: .venv/.ready
	$(BIN)/mypy

test-django: .venv/.ready  ## a Django project's tests and its worker on Django 5.2, 6.0 and 6.1, and Django's own tests of its tasks; needs a Python 3.12
	@$(BIN)/python -m tests.interop.django.versions $(ARGS)

# the release before the next one, for tests/versions: make previous-release VERSION=v0.1.0
previous-release:
	rm -rf .cache/previous && mkdir -p .cache/previous
	git archive $(VERSION) | tar -x -C .cache/previous
	rm -f tests/versions/previous/*.whl
	.venv/bin/pip wheel --quiet --no-deps --wheel-dir tests/versions/previous .cache/previous

chaos: .venv/.ready  ## kill, cut, fill and move the clock while jobs flow; the ledger must balance; some minutes
	$(BIN)/python -m tests.chaos $(ARGS)

chaos-guarded: .venv/.ready  ## the same with roles that own nothing, row level security, and PgBouncer in transaction mode
	@scripts/setup-tests
	$(BIN)/python -m tests.chaos --guarded $(ARGS)

chaos-ha: .venv/.ready  ## the same over three Postgres under Patroni, whose leader is switched, killed and cut off; root; ten minutes
	$(BIN)/python -m tests.chaos.ha $(ARGS)

bench: .venv/.ready  ## beside thirteen other queues, into docs/benchmarks.md; half an hour, goes on after Ctrl-C; ARGS=--quick takes two minutes
	@$(BIN)/python -m bench.field $(ARGS)

bench-quick: .venv/.ready
	@$(BIN)/python -m bench.field --quick $(ARGS)

soak: .venv/.ready  ## ten million jobs through one worker: memory, tables and claims stay flat, every job counted once; Ctrl-C and go on; ten minutes
	$(BIN)/python -m bench.soak $(ARGS)

bench-engine: .venv/.ready  ## the engine beside bare SQL, three sizes of jobs; some minutes
	$(BIN)/python -m bench.engine $(ARGS)

bench-snapshot: .venv/.ready  ## a steady flow under an old snapshot, beside graphile-worker, pgqueuer and awa; an hour
	$(BIN)/python -m bench.snapshot $(ARGS)

bench-worker: .venv/.ready  ## the worker beside pgqueuer, procrastinate, graphile-worker and bare SQL, three sizes of jobs; half an hour
	$(BIN)/python -m bench.worker $(ARGS)

bench-server: .venv/.ready  ## the API beside bare FastAPI, 5,000 streams beside polling; some minutes
	$(BIN)/python -m bench.server $(ARGS)

bench-dashboard: .venv/.ready  ## every page's queries over 1M live and 10M finished jobs, a hundred dashboards open; half an hour
	$(BIN)/python -m bench.dashboard $(ARGS)

bench-durable: .venv/.ready  ## handlers that wait beside DBOS and Absurd, claims beside 100,000 that wait; some minutes
	$(BIN)/python -m bench.durable $(ARGS)

bench-interop: .venv/.ready  ## pgmq's SQL on our engine beside the real pgmq, our worker on BullMQ's queues beside BullMQ's; three minutes
	$(BIN)/python -m bench.interop $(ARGS)

bench-clients: .venv/.ready  ## what a polling client and a stream cost, and what a million need, into docs/scale.md; five minutes
	$(BIN)/python -m bench.clients $(ARGS)

bench-scale: .venv/.ready  ## 1,000 queues, 100,000 owners, 100,000 schedules, a flow of 10,000, each beside a few; five minutes
	$(BIN)/python -m bench.scale $(ARGS)

bench-recipes: .venv/.ready  ## exports and readings end to end, beside their budgets; two minutes
	$(BIN)/python -m bench.recipes

storm-recipes: .venv/.ready  ## 20 readings and 200 exports at once, their workers killed; some minutes
	PYTHONPATH=recipes/tests $(BIN)/python -m storm

last-runs: .venv/.ready  ## what the benchmarks, the soak and the chaos of bench/results gave, into docs/project/measured.md
	@$(BIN)/python -m bench.last_runs

docs: .venv/.ready  ## the documentation site, into site/; a broken link or any other warning fails
	@$(BIN)/python -m scripts.docs build

docs-serve: .venv/.ready  ## serve it at http://127.0.0.1:8001 while you write: a change shows at once
	@$(BIN)/python -m scripts.docs serve

check-deploy:  ## deploy/ by hadolint, the schemas of Compose and Kubernetes, PromQL and systemd
	@scripts/check-deploy

screenshots: .venv/.ready  ## every page of the dashboard and the recipes in both themes and at a phone's width, into .screenshots
	@scripts/get-chromium
	@$(BIN)/python -m tests.browser.dashboard.screenshots $(ARGS)
	@PYTHONPATH=recipes/tests $(BIN)/python -m pages.screenshots $(ARGS)

audit:  ## bandit over the packages, and the dependencies beside PyPI's advisories
	@scripts/get-venv
	@$(PYTHON) scripts/audit

release:  ## wheels and sdists into dist/, built twice to the same bytes, then installed on Python 3.11 to 3.14; ARGS=--partial for those that are there
	@scripts/release $(ARGS)

recording: .venv/.ready  ## the recording in the README: a flow runs while the dashboard is filmed, in both themes
	@scripts/get-chromium
	@$(BIN)/python -m tests.browser.dashboard.recording $(ARGS)

clean: clean-servers  ## remove what was built, and the test servers' data
	rm -rf .venv site .chromium .penstock .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache

clean-servers:
	rm -rf .cache $(IN_MEMORY) /dev/shm/p$(shell id -u)-????
