# lookback: from a clean clone, `make report` sets everything up and writes outputs/demo/report.html.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3.11
RUN ?= demo
SET ?=
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
LOOKBACK := $(BIN)/lookback
STAGES := curation extraction scoring judging agreement forensics audit
# torch and OpenCV each start a thread per core in every worker process otherwise
export OMP_NUM_THREADS ?= 1
export TOKENIZERS_PARALLELISM := false

.PHONY: help setup report $(STAGES) score compare test lint bench readme lab inspect annotate samples clean

help: ## Show this list
	@grep -hE '^[a-z$$() A-Z]+:.*?## ' $(MAKEFILE_LIST) | sed 's/$$(STAGES)/<stage>/' | awk -F ':.*?## ' '{printf "  make %-12s %s\n", $$1, $$2}'
	@echo "  stages: $(STAGES) (score = scoring)"
	@echo "  RUN=name reads params/name.yaml (default: demo); SET=\"key=value ...\" overrides single parameters"

setup: $(READY) ## Create .venv from requirements.lock and fetch the embedded weights

$(READY): requirements.lock pyproject.toml params/weights.lock.yaml
	@echo "[1/4] virtual environment ($(PYTHON))"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "[2/4] packages from requirements.lock (about 2 GB; minutes on a first run)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check "$$(grep -i '^uv==' requirements.lock)"
	@export SAM2_BUILD_CUDA=0; \
	  VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/uv pip install --compile-bytecode --build-constraint requirements.lock -r requirements.lock \
	  || { echo "uv could not install; trying pip"; sed 's/ --hash=.*//' requirements.lock > $(VENV)/pins.txt; \
	       PIP_CONSTRAINT=$(VENV)/pins.txt PIP_BUILD_CONSTRAINT=$(VENV)/pins.txt $(BIN)/python -m pip install -r $(VENV)/pins.txt; }
	@echo "[3/4] lookback itself"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@$(BIN)/python -m compileall -q lib
	@$(BIN)/jupyter labextension disable --level=sys_prefix "@jupyterlab/apputils-extension:announcements" 2>/dev/null # it asks a host for news
	@sed -i.orig '/<link .*https:/d' $(VENV)/share/jupyter/voila/templates/{lab/index.html.j2,base/page.html} # icon fonts of a host
	@echo "[4/4] embedded model weights"
	@$(BIN)/python -m lookback.weights
	@touch $@

report: $(READY) ## Run the whole DAG and write outputs/RUN/report.html
	@$(LOOKBACK) report --run "$(RUN)" $(foreach s,$(SET),--set "$(s)")

$(STAGES): $(READY) ## Run one stage and what it needs
	@$(LOOKBACK) report --run "$(RUN)" --stage $@ $(foreach s,$(SET),--set "$(s)")

score: scoring

compare: $(READY) ## Compare two finished runs: make compare RUNS="a b"
	@$(LOOKBACK) compare $(RUNS)

test: $(READY) ## Run the test suite
	@$(BIN)/python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder --junitxml=outputs/tests.xml

lint: $(READY) ## Check style and types
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

bench: $(READY) ## Run the benchmarks: a table of ratios, and outputs/bench.json
	@$(BIN)/python benchmarks/run.py

readme: $(READY) ## Record what bench, report and test measured in docs/measured, and fill README's figures from it
	@$(BIN)/python benchmarks/readme.py

lab: $(READY) ## Open JupyterLab on the notebooks (loopback only)
	@$(BIN)/jupyter lab --ip=127.0.0.1 notebooks

inspect: $(READY) ## Open the clip inspector of RUN (loopback only)
	@LOOKBACK_RUN="$(RUN)" $(BIN)/voila --Voila.ip=127.0.0.1 --theme=light notebooks/inspect.ipynb

annotate: $(READY) ## Open the annotation desk of RUN (loopback only)
	@LOOKBACK_RUN="$(RUN)" $(BIN)/voila --Voila.ip=127.0.0.1 --theme=light notebooks/annotate.ipynb

samples: $(READY) ## Fetch public sample clips (about 98 MB) and run the DAG over them
	@$(BIN)/python -m lookback.curation.samples
	@$(LOOKBACK) report --run samples

clean: ## Remove outputs/ (keeps .venv)
	rm -rf outputs
