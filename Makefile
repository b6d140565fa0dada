# The commands of CONTRIBUTING.md. Each sets up what it needs; the virtual environment is made once.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# Versions of Python for `make test-all`, each with an environment of its own.
PYTHONS ?= 3.11 3.12 3.13

# Byte code that may not be kept makes every start several times slower.
unexport PYTHONDONTWRITEBYTECODE
# Applies to build requirements too, so that next year's install is this year's.
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# Kernels against their naive twins once more as plain Python, where an index out of bounds is seen.
WITHOUT_JIT := tests/test_board_sums.py tests/test_boards.py tests/test_bucket_rows.py tests/test_cells.py \
  tests/test_dealt_values.py tests/test_deals.py tests/test_equity.py tests/test_evaluator.py tests/test_features.py \
  tests/test_features_small_deck.py tests/test_hands.py tests/test_isomorphism.py tests/test_kmeans.py \
  tests/test_kmeans_limits.py tests/test_paths.py tests/test_potential_aware.py \
  tests/test_public_abstraction.py tests/test_public_clusters.py tests/test_quantised.py tests/test_sampling.py \
  tests/test_shards.py tests/test_streams.py tests/test_subgame_layout.py tests/test_table_match.py \
  tests/test_terminal.py tests/test_traversal.py tests/test_update_rules.py \
  tests/test_purification.py::test_ties_are_shared tests/test_purification.py::test_abstract_strategies_as_naive \
  tests/test_local_best_response.py::test_equities_of_small_games_as_naive

.PHONY: demo test test-all prove bench docs docs-update clean

demo: $(VENV)/.ready
	$(BIN)/python examples/demo.py

test: $(VENV)/.ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q -n 2 $(WITHOUT_JIT)
	$(BIN)/python -m pytest -q -n 2

# A version is looked for on the path and among those of pyenv, whose own command may name one that is not
# there: what counts is that it starts and is the version asked for.
test-all:
	@for version in $(PYTHONS); do \
	  found=; \
	  for python in python$$version $${PYENV_ROOT:-$$HOME/.pyenv}/versions/$$version.*/bin/python; do \
	    if $$python -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$$version')" 2> /dev/null; \
	    then found=$$python; break; fi; \
	  done; \
	  if [ -z "$$found" ]; then echo "Python $$version was not found: skipped"; continue; fi; \
	  echo "Python $$version: $$found"; \
	  $(MAKE) test PYTHON=$$found VENV=$(VENV)-$$version || exit 1; \
	done

prove: $(VENV)/.ready-dev
	$(BIN)/python -m pytest -v -m slow -n 2 --durations=10

bench: $(VENV)/.ready-dev
	$(BIN)/python -m benchmarks

# NO_MKDOCS_2_WARNING: Material's notice about a future MkDocs, which constraints.txt keeps away.
docs: $(VENV)/.ready-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "Open site/index.html"

docs-update: $(VENV)/.ready-dev
	$(BIN)/python -m tests.doc_examples --update

clean:
	rm -rf $(VENV) $(VENV)-3.* site build dist .mypy_cache .ruff_cache .pytest_cache

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Errai needs Python 3.11 or newer: set PYTHON=python3.x"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.ready: $(VENV)/.made pyproject.toml constraints.txt
	$(BIN)/python -m pip install -q -e .
	@touch $@

$(VENV)/.ready-dev: $(VENV)/.made pyproject.toml constraints.txt
	$(BIN)/python -m pip install -q -e '.[dev]'
	@touch $@ $(VENV)/.ready

$(VENV)/.ready-docs: $(VENV)/.made pyproject.toml constraints.txt
	$(BIN)/python -m pip install -q -e '.[docs]'
	@touch $@ $(VENV)/.ready
