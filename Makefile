# The two commands a newcomer needs: make run, make test.
PYTHON ?= python3
REQUIREMENTS ?= requirements.txt
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8501

.PHONY: help setup run test test-long lint bench screenshots lock clean

help: ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

setup: $(VENV)/.ready ## make the virtual environment and install what it lacks

$(VENV)/.ready: $(REQUIREMENTS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; name one with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r $(REQUIREMENTS)
	touch $@

run: setup ## open the app in the browser (PORT=8501)
	$(BIN)/streamlit run app.py --server.port $(PORT)

test: setup lint ## every test but the long proofs
	$(BIN)/python -m pytest -n 2 --dist loadfile

test-long: setup ## the long statistical proofs
	$(BIN)/python -m pytest -n 2 -m long

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

bench: setup ## every benchmark; writes benchmarks/RESULTS.md
	$(BIN)/python -m benchmarks

screenshots: setup ## pictures of every page into docs/ (needs chromium)
	$(BIN)/python -m tests.browser.screenshots docs

lock: setup ## pin what is installed now into requirements.lock
	$(BIN)/python -m pip freeze --exclude-editable > requirements.lock

clean: ## remove the virtual environment and caches
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
