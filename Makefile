# lookback: from a clean clone, `make report` sets everything up and writes outputs/demo/report.html.
PYTHON ?= python3.11
TORCH ?=
VENV := .venv
BIN := $(VENV)/bin/
READY := $(VENV)/.ready
# what step 2 takes, as measured: two cores, packages from a near mirror
TAKES_x86_64 := 9.5 GB with the CUDA build of torch, about 2 minutes; TORCH=cpu takes the smaller CPU-only build
TAKES_aarch64 := 3.2 GB, about 1.5 minutes
TAKES := $(or $(TAKES_$(shell uname -m)),minutes on a first run)

# report, the stages, compare, lab, inspect, annotate, samples and clean: the same commands as in a study
include lib/lookback/project/Makefile

.PHONY: setup torch-build test test-long test-fast lint bench readme validity docs pictures

setup: $(if $(TORCH),torch-build) $(READY) ## Create .venv from requirements.lock and fetch the embedded weights (TORCH=cpu: torch without CUDA)

torch-build:
	@case "$(TORCH)" in cpu) ;; *) echo "TORCH=$(TORCH) is not known; say TORCH=cpu, or leave it out for the build your package index has"; exit 2;; esac
	@test ! -e $(READY) || $(BIN)python -c "import sys, torch; sys.exit(torch.version.cuda is not None)" || \
	  { echo "$(VENV) already holds the CUDA build of torch; remove it (rm -rf $(VENV)) and run make setup TORCH=cpu again"; exit 2; }

$(READY): requirements.lock pyproject.toml params/weights.lock.yaml
	@echo "[1/4] virtual environment ($(PYTHON))"
	@$(BIN)python -m pip --version >/dev/null 2>&1 || { \
	  command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) is not here: install it, or name another (make setup PYTHON=python3.13)"; exit 2; }; \
	  $(PYTHON) -m venv $(VENV); }
	@echo "[2/4] packages from requirements.lock ($(if $(TORCH),torch without CUDA,$(TAKES)))"
	@$(BIN)python -m pip install --quiet --disable-pip-version-check "$$(grep -i '^uv==' requirements.lock)"
	@export SAM2_BUILD_CUDA=0; \
	  VIRTUAL_ENV="$(CURDIR)/$(VENV)" $(BIN)uv pip install $(if $(TORCH),--torch-backend $(TORCH)) --compile-bytecode --build-constraint requirements.lock -r requirements.lock \
	  || { if [ -n "$(TORCH)" ]; then echo "The CPU-only build of torch could not be installed: uv's lines above say whether its package index" \
	         "can be reached from here; run make setup without TORCH for the build your own package index has."; exit 1; fi; \
	       echo "uv could not install; trying pip"; sed 's/ --hash=.*//' requirements.lock > $(VENV)/pins.txt; \
	       PIP_CONSTRAINT=$(VENV)/pins.txt PIP_BUILD_CONSTRAINT=$(VENV)/pins.txt $(BIN)python -m pip install -r $(VENV)/pins.txt; }
	@$(BIN)python -c "import cv2" 2>/dev/null || { echo "OpenCV's window library is not on this machine: taking opencv-python-headless"; \
	  $(BIN)python -m pip uninstall --quiet --yes opencv-python opencv-python-headless; \
	  $(BIN)python -m pip install --quiet --disable-pip-version-check --no-deps "$$(sed -n 's/^opencv-python==/opencv-python-headless==/p' requirements.lock)"; }
	@echo "[3/4] lookback itself"
	@$(BIN)python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@$(BIN)python -m compileall -q lib
	@$(BIN)jupyter labextension disable --level=sys_prefix "@jupyterlab/apputils-extension:announcements" 2>/dev/null # it asks a host for news
	@echo "[4/4] embedded model weights"
	@$(BIN)python -m lookback.weights
	@touch $@

# more processes than cores: browsers, servers and time limits keep some of them waiting
TESTS = $(BIN)python -m pytest -q --dist loadfile --no-loadscope-reorder --durations=10

test: $(READY) ## Run the tests (at most eight minutes on two cores)
	@$(TESTS) -n 3 -m "not long" --junitxml=outputs/tests.xml

test-long: $(READY) ## Run the tests that make test leaves out: whole runs, pages in a browser, other programs, kills, simulated studies
	@$(TESTS) -n 4 -m long --junitxml=outputs/tests_long.xml

test-fast: $(READY) ## Run the quick tests: no browser, no models, no studies, no faults
	@$(TESTS) -n 2 -m "not slow"

lint: $(READY) ## Check style and types
	@$(BIN)ruff check . && $(BIN)ruff format --check . && $(BIN)mypy -n 2
	@$(BIN)mypy -n 2 --no-warn-unused-ignores --disable-error-code arg-type --disable-error-code dict-item bench docs # parts given as **dicts

bench: $(READY) ## Measure speed: a table of ratios
	@$(BIN)python bench/run.py

readme: $(READY) ## Record what bench, report and test measured, and fill the figures of README.md and docs
	@$(BIN)python bench/readme.py

# mkdocs has an environment of its own, so that the one of the project stays as it is
DOCS_VENV := .venv-docs
$(DOCS_VENV)/.ready: docs/requirements.lock | $(READY)
	@test -x $(DOCS_VENV)/bin/python || $(PYTHON) -m venv $(DOCS_VENV)
	@VIRTUAL_ENV="$(CURDIR)/$(DOCS_VENV)" $(BIN)uv pip install --quiet -r docs/requirements.lock
	@touch $@

docs: $(READY) $(DOCS_VENV)/.ready ## Build the documentation as a site that opens from the disk: outputs/docs/site
	@$(BIN)python docs/write_pages.py
	@$(BIN)python docs/build_site.py --run "$(RUN)"

pictures: $(READY) ## Take the pictures of README.md and docs from the finished demo run, with Debian's Chromium
	@$(BIN)python docs/take_pictures.py --run "$(RUN)"

validity: $(READY) ## Compare the verdicts with labelled real clips (../shared/clips, where present) and the demo
	@$(BIN)lookback validity
