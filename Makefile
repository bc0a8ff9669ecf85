# Two commands do everything on a fresh machine, set-up included: `make demo` and `make test`.
# Needed: make and a Python >= 3.11. Java is not: a runtime comes from PyPI where no Java 17 or newer is found.

SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
FLINK_STAMP := $(VENV)/.flink-installed
SPARK_CLASSES := $(VENV)/spark-classes.jsa
# Three on two cores: the workers of Spark and Flink wait for their virtual machines.
WORKERS ?= 3
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3.14 python3 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo $$p; break; }; done)

# Commands, demos and tests start Python hundreds of times: what it has compiled is kept, whatever the surroundings say.
export PYTHONDONTWRITEBYTECODE =
# The threads of numpy's linear algebra would wait actively at the start of each.
export OPENBLAS_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help install core demo test pytest test-quick release-check test-pure test-no-compiler compiled-tests test-reports hostile coverage law-mutants lint format docs notebooks site changelog bench \
	bench-judge soak lock hunt \
	pyflink-tests pyflink-conform report-assets report-pictures clean

help: ## Shows this list.
	@sed -n 's/^\([a-z-]*\):[^#]*## /  make \1\t/p' $(MAKEFILE_LIST)

install: core ## Creates .venv with everything in it and compiles the core; quick when it is there and up to date.

# Without a C compiler and Python's headers the core stays pure Python; the script says so and ends well.
core: $(STAMP)
	@$(BIN)/python build_scripts/compile_core.py

# The versions are pinned in requirements.lock, so what the project is built with is installed too: no isolated build.
$(STAMP): pyproject.toml requirements.lock
	@test -n "$(PYTHON)" || { echo "flowsim needs Python 3.11 or newer; none was found. Name one: make PYTHON=/path/to/python3" >&2; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing into $(VENV) (a minute or two the first time: Spark is large) ..."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

# The real Flink, which the tests compare with: 330 MB of jars that nothing else needs.
$(FLINK_STAMP): $(STAMP) requirements-flink.lock
	@echo "Installing the jars of Flink 2.3.0 for the tests (330 MB) ..."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements-flink.lock
	@touch $@

# Java starts a dozen times in the tests.
$(SPARK_CLASSES): $(STAMP)
	@echo "Preparing the classes of Spark for the tests (40 s) ..."
	@$(BIN)/python -m tests.support.spark_classes

demo: core ## Runs scenario 01 over all flights, recorded in full, and judges it on Spark.
	$(BIN)/flowsim run scenarios/01_nyc_flights.yaml --record full --out out/demo --validate --engine spark --allow-python
	$(BIN)/flowsim report out/demo

# The static checks run beside the first tests; if one fails, make says so after the last test.
test: $(FLINK_STAMP) $(SPARK_CLASSES) core ## Everything that must be green: ruff, mypy, import-linter, pytest.
	@$(MAKE) --no-print-directory -j2 lint pytest

pytest: compiled-tests
	$(BIN)/python -m pytest -q -n $(WORKERS) -m "not release and not pyflink"

test-quick: core ## The unit tests for daily work: those that need no Java, Spark, browser or database, and are not slow.
	$(BIN)/python -m pytest -q -n $(WORKERS) -m "not slow and not spark and not differential and not browser and not postgres" \
		tests/unit

release-check: core ## Builds the sdist and the wheels, and runs what they install.
	$(BIN)/python -m pytest -q -m release tests/architecture

test-pure: core ## The unit and golden tests and half of the properties in pure Python; make test runs what is installed.
	FLOWSIM_PURE=1 $(BIN)/python -m pytest -q -n $(WORKERS) -m "not spark" tests/unit tests/golden tests/properties --half-of-properties

# Skips are allowed: what is compiled cannot be tested there.
test-no-compiler: ## make demo twice and the tests that could need a C compiler, in a fresh clone where CC is unusable.
	rm -rf build/no-compiler && git clone --quiet . build/no-compiler
	cd build/no-compiler && export CC=/no/compiler FLOWSIM_SKIPS_ARE_FAILURES= && $(MAKE) --no-print-directory demo && \
		$(MAKE) --no-print-directory demo && test ! -e flowsim/_compiled && \
		.venv/bin/python -m pytest -q -n $(WORKERS) -m "not spark and not differential and not browser and not postgres" \
			tests/architecture tests/docs tests/unit/cli tests/unit/test_compiled_modules.py tests/unit/test_compiled_classes.py
	rm -rf build/no-compiler

# Else every worker compiles all tests itself, at the same time.
compiled-tests: core
	@mkdir -p build
	@$(BIN)/python -m pytest -q --collect-only > build/collected.txt || { tail -n 40 build/collected.txt; exit 1; }

test-reports: core ## Every view of the reports of all scenarios in Chromium, in light and dark colours; make test opens a few.
	$(BIN)/python -m pytest -q -n $(WORKERS) $(addprefix tests/report/test_,scenarios.py start.py drawing.py marks.py projector.py lessons.py) --all-reports

# The files of PyFlink stay where the user has them.
pyflink-tests: core ## PyFlink's own tests of windows and streams on flowsim: make pyflink-tests PYFLINK=path/to/flink-python.
	$(BIN)/python -m tests.support.pyflink_tests "$(PYFLINK)"

pyflink-conform: core ## Programs on the real PyFlink, which is installed into the user's cache (850 MB); make test has its saved answers.
	$(BIN)/python -m pytest -q -m pyflink tests/differential/test_conform_pyflink.py

hostile: core ## Every case of tests/hostile; make test runs about 100 of them.
	$(BIN)/python -m pytest -q tests/hostile tests/unit/laws/test_implausible_descriptions.py --hostile

# Without Spark and without the real Flink, which measure other code than the core's. TESTS: what pytest runs.
coverage: $(STAMP) ## Runs the tests under coverage; fails where a core package is below its floor. Report: build/coverage/html.
	rm -rf build/coverage && mkdir -p build/coverage
	FLOWSIM_PURE=1 $(BIN)/coverage run -m pytest -q -n $(WORKERS) -m "not spark and not differential" $(TESTS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage html --quiet --directory build/coverage/html
	$(BIN)/coverage json --quiet -o build/coverage/report.json
	$(BIN)/python -m tests.support.coverage_floors build/coverage/report.json

law-mutants: $(STAMP) ## Switches off each part of each law over rows, and shows that a test fails; WRITE=1 writes the table, OF=REGEX takes some modules.
	$(BIN)/python -m pytest -q -s -p tests.support.law_mutants.plugin --law-mutants tests/support/law_mutants/table.tsv \
		$(if $(WRITE),--law-mutants-write) $(if $(OF),--law-mutants-of='$(OF)') tests/unit/laws tests/unit/faults

lint: $(STAMP) ## Only the static checks.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy

format: $(STAMP) ## Formats the code and mends what ruff can mend.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(STAMP) notebooks ## Writes docs/api.md, docs/laws.md, flowsim/laws/law_ids.py, docs/recording.md, docs/scenario.schema.json and the tables of docs/scenario.md, docs/datastream.md and docs/testing.md from the code, executes the notebooks, then builds the site.
	$(BIN)/python -m tests.support.pages.api_page > docs/api.md
	$(BIN)/python -m tests.support.pages.laws_page > docs/laws.md
	$(BIN)/python -m tests.support.pages.law_ids
	$(BIN)/python -m tests.support.pages.recording_page > docs/recording.md
	$(BIN)/flowsim schema > docs/scenario.schema.json
	$(BIN)/python -m tests.support.pages.scenario_page
	$(BIN)/python -m tests.support.pages.settings_page
	$(BIN)/python -m tests.support.pages.features_page
	$(MAKE) --no-print-directory site

notebooks: $(STAMP) ## Executes the notebooks of docs/notebooks and writes their outputs into their files.
	$(BIN)/python -m tests.support.pages.notebooks

site: $(STAMP) ## Builds the documentation site below build/site; the first time npm fetches the script that draws its diagrams.
	$(BIN)/python -m tests.support.pages.mermaid_script $(VENV)/mermaid.min.js
	$(BIN)/python -m tests.support.pages.site_pages build/pages build/site $(VENV)/mermaid.min.js
	@echo "To read it: $(BIN)/python -m http.server --directory build/site"

changelog: $(STAMP) ## Moves the fragments of changelog.d to CHANGELOG.md, under the version of the package.
	$(BIN)/towncrier build --yes --version "$$($(BIN)/python -c 'from flowsim import __version__; print(__version__)')"

bench: core ## Prints the benchmark tables; QUICK=1: in a minute; COMPARE=REV: ratios to a revision; APPEND=1: for the docs' plot.
	$(BIN)/python tests/benchmarks/$(if $(COMPARE),compare.py $(COMPARE),bench.py $(if $(QUICK),--quick) $(if $(APPEND),--append))

bench-judge: core ## Times the judge on a recording of FACTS facts (10,000,000), in process and on Spark; SLIDING=1: sliding windows.
	$(BIN)/python tests/benchmarks/bench_judge.py --facts $(or $(FACTS),10000000) \
		$(if $(SLIDING),--sliding)

hunt: $(STAMP) ## Runs and CPU seconds until each strategy shows each historical bug; ARGS="--bugs TICKET --seeds N --json --clean JOBS"; WRITE=1 for the docs.
	FLOWSIM_PURE=1 $(BIN)/python -m tests.support.faults.historical.hunt $(if $(WRITE),--write) $(ARGS)

soak: core ## Runs RECORDS records (5,000,000), recorded in full, and a long sliding window; prints memory, time and ratios.
	$(BIN)/python tests/benchmarks/soak.py --records $(or $(RECORDS),5000000)

lock: ## Renews requirements.lock from what pyproject.toml allows today.
	rm -rf build/lock && $(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet '.[dev]'
	{ sed -n '/^#/p' requirements.lock; build/lock/bin/python -m pip freeze --exclude flowsim-flink \
		| sed "s/^uvloop==.*/&; sys_platform != 'win32'/"; } > build/requirements.lock
	mv build/requirements.lock requirements.lock

report-assets: $(STAMP) ## Builds the viewer of flowsim report with npm; needs Node 20.19 or newer. Only after a change of flowsim/report/web.
	mkdir -p build/viewer && rm -rf build/viewer/src && cp -r flowsim/report/web/. build/viewer
	cd build/viewer && npm ci --ignore-scripts --no-fund --no-audit && npm run check && npm run build
	$(BIN)/python -m tests.support.pages.report_assets

report-pictures: $(STAMP) ## Takes the pictures of README and docs/report.md in Chromium; a minute.
	$(BIN)/python -m tests.support.pages.report_pictures

clean: ## Removes what was built, recorded and cached; keeps .venv.
	rm -rf build flowsim/_compiled dist out spark-warehouse metastore_db derby.log .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -not -path './$(VENV)/*' -prune -exec rm -rf {} +
