# The two commands a newcomer needs: make run, make test.
PYTHON ?= python3
REQUIREMENTS ?= requirements.txt
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8501
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile

.PHONY: help setup run test test-fast test-lowest test-long mutants lint bench docs screenshots lock clean

help: ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

setup: $(VENV)/.ready ## make the virtual environment with all that the app needs

$(VENV)/.ready: $(REQUIREMENTS) requirements-engine.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; name one with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) -r $(REQUIREMENTS)
	$(PIP) --no-deps --editable .
	touch $@

$(VENV)/.tested: $(VENV)/.ready requirements-test.txt requirements-cluster.txt
	$(PIP) -r requirements-test.txt
	touch $@

$(VENV)/.documented: $(VENV)/.ready requirements-docs.txt
	$(PIP) -r requirements-docs.txt
	touch $@

run: setup ## open the app in the browser (PORT=8501)
	$(BIN)/streamlit run app.py --server.port $(PORT)

test: $(VENV)/.tested lint ## every test but the long proofs; those of browsers last
	$(BIN)/python -m tests.whole

test-fast: $(VENV)/.tested ## facts about the engine, in under a minute
	OPENBLAS_NUM_THREADS=1 $(PYTEST) --hypothesis-profile=few -m "not (long or slow)" \
		--ignore=tests/pages --ignore=tests/browser --ignore=tests/studies

test-lowest: $(VENV)/.tested ## the same facts with the oldest packages that are allowed
	$(PIP) uv
	$(BIN)/uv venv --quiet --clear .venv-lowest
	$(BIN)/uv pip install --quiet --python .venv-lowest/bin/python --resolution lowest-direct \
		-r requirements.txt -r requirements-test.txt
	$(MAKE) test-fast BIN=.venv-lowest/bin

test-long: $(VENV)/.tested ## the long statistical proofs
	$(PYTEST) -m long

mutants: $(VENV)/.tested ## plant mistakes in the engine and see that tests catch each of them
	$(BIN)/python -m tests.mutants

lint: $(VENV)/.tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@! grep -rn 'fmt: skip' --include='*.py' --exclude-dir=.envs app.py bnmf_core docs pages studies benchmarks tests
	$(BIN)/mypy

bench: $(VENV)/.tested ## every benchmark; writes benchmarks/RESULTS.md
	$(BIN)/python -m benchmarks

docs: $(VENV)/.documented ## the documentation as a site, in site/; a broken link fails
	$(BIN)/python -m docs.making site

screenshots: $(VENV)/.tested ## pictures of pages into docs/ (needs chromium)
	$(BIN)/python -m tests.browser.screenshots docs

lock: $(VENV)/.tested $(VENV)/.documented ## pin what is installed now into requirements.lock
	$(BIN)/python -m pip freeze --exclude-editable > requirements.lock

clean: ## remove the virtual environment and caches
	rm -rf $(VENV) site .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
