# Every target calls plain commands that can be typed as well; `make` alone lists them.
PYTHON := .venv/bin/python
CODE := pipeline tests scripts data

.DEFAULT_GOAL := help
.PHONY: help setup format lint types floors test test-all fuzz check demo

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  %-9s %s\n", $$1, $$2 }'

setup: ## make .venv and install everything a developer needs
	@bash -c '. scripts/environment.sh && prepare_environment dev'

format: setup ## put the code into the house style
	$(PYTHON) -m ruff check --fix $(CODE)
	$(PYTHON) -m ruff format $(CODE)

lint: setup ## find mistakes and formatting that the style does not allow
	$(PYTHON) -m ruff check $(CODE)
	$(PYTHON) -m ruff format --check $(CODE)

types: setup ## check the types, strictly
	$(PYTHON) -m mypy

floors: setup ## check that imports point down only
	.venv/bin/lint-imports

test: ## run the default suite
	bash scripts/test.sh

test-all: ## run every tier that needs no accelerator
	bash scripts/test.sh --all

TARGETS := $(notdir $(wildcard tests/fuzz/corpus/*))
SECONDS_EACH := 60

fuzz: setup ## throw mutated bytes at every reader of strangers' files, a minute each (Linux, Python below 3.14)
	$(PYTHON) -m pip install -q "atheris>=3.0"
	@for target in $(TARGETS); do \
	  echo "== $$target"; $(PYTHON) tests/fuzz/fuzz.py $$target --seconds $(SECONDS_EACH) || exit 1; \
	done

check: lint types floors test ## all of it: what a change must pass

demo: ## the whole pipeline on real legal documents
	bash scripts/demo.sh
