# make up      the whole site on this machine, in the foreground; Ctrl-C ends it
# make install  what `make up` needs, without starting anything; then .venv/bin/schedweb --help
# make test    the tests, with everything they need, in a process per core and one more (at most five)
# make quick   what a change of the scheduling core needs, in under a minute on two idle cores
# make bench   pods per second of the scheduling core, on kube-scheduler's own workloads
# make bench-house  the whole site: POST, end to end, latency, backlog, LIST, watchers, memory
# make bench-real  the real control plane and a site turn by turn, with ratios; fails if one has fallen
# make bench-plots  tables and plots of docs/performance.md, from the results of these two
# make bench-pages  how long each page takes on a large site
# make screenshots  each page, wide and narrow, light and dark, in screenshots/
# make figures  of SCENARIO=FILE for a paper: CSV, LaTeX and plots in var/figures
# make pictures  those of the README, of the cluster `demo` of a running site; PASSWORD=…
# make truth   decisions about random clusters, responses of the API, output of kubectl and stories of
#              workloads, compared with the real thing's
# make soak    state machines of the core and `make truth` for longer, then an hour of faults during runs of
#              5,000 pods, then ten quiet minutes; with each broker, and a PostgreSQL beside the site.
#              SOAK_KILLS=1000: the full form
# make fuzz    hostile values, then generated requests from the OpenAPI documents of both APIs, for which it
#              needs schemathesis
# make sbom    bill of materials (CycloneDX) in var/sbom.json, and the list of licences
# make audit   known vulnerabilities of the locked packages; needs a database of advisories
# make check   style (code, templates, scripts, style sheets), types, layers, settings, migrations
# make format  format all of these

PYTHON ?= python3
BIN := .venv/bin
# Of production, for `manage.py check --deploy`.
PRODUCTION := SCHEDWEB_HTTPS_ONLY=1 SCHEDWEB_ALLOWED_HOSTS=schedweb.example

# State machines that compare results that are reused with fresh ones.
MACHINES := tests/scheduler/test_signatures.py tests/scheduler/plugins/test_domain_columns.py

# Without bytecode every process would compile all modules again, half of the processor time of its start.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: up install db test quick quick-tests quick-cases truth soak check bench bench-house bench-real bench-plots bench-pages screenshots pictures figures
.PHONY: format runtime development fuzz sbom audit

up: runtime
	@exec $(BIN)/python -m schedweb.supervisor

install: runtime

db: runtime
	@exec $(BIN)/python -m schedweb.embedded

test: development
	@tools/chromium.sh
	$(BIN)/python -m pytest -n auto --maxprocesses 5

# The core's own tests on one core, every recorded case on the other.
quick: development
	@$(MAKE) --no-print-directory -j2 quick-tests quick-cases

quick-tests:
	$(BIN)/python -m pytest -q tests/scheduler tests/cel tests/test_quantity.py

quick-cases:
	$(BIN)/python manage.py conformance tests/conformance/data

# Needs the folder named by REAL_KUBERNETES, or ../shared/real. TRUTH="--seed 7 --only volumes admin": a part.
truth: runtime
	@rm -rf var/truth/rows
	-$(BIN)/python -m tools.truth $(TRUTH)
	-$(BIN)/python -m tools.truth.exchanges $(EXCHANGES)
	-$(BIN)/python -m tools.truth.documents
	-$(BIN)/python -m tools.truth.kubectl $(KUBECTL)
	-$(BIN)/python -m tools.truth.clients $(CLIENTS)
	-$(BIN)/python -m tools.truth.conversions
	-$(BIN)/python -m tools.truth.published
	-$(BIN)/python -m tools.truth.groups $(GROUPS)
	-$(BIN)/python -m tools.truth.batches $(BATCHES)
	-$(BIN)/python -m tools.truth.stories $(STORIES)
	-$(BIN)/python -m tools.truth.queue $(QUEUE)
	-$(BIN)/python -m tools.truth.guest $(GUEST)
	@$(BIN)/python -m tools.truth.table

# SOAK_FACTOR: how many times as many examples of state machines as in `make test`.
# SOAK_MINUTES, SOAK_KILLS or SOAK_RUNS, SOAK_SEED, SOAK_PODS, SOAK_WORKERS, SOAK_QUIET (minutes) and
# SOAK_SITE make it shorter.
soak: development
	SOAK_FACTOR=$${SOAK_FACTOR:-20} $(BIN)/python -m pytest -q $(MACHINES) tests/browser/test_hostile_texts.py
	$(BIN)/python -m tools.truth --cases 40 --seed $${SOAK_SEED:-$$(date +%s)}
	$(BIN)/python -m tests.faults.soak

# Results as JSON, in var/bench. BENCH="SchedulingBasic --nodes 500 --pods 200" runs only this, once.
bench: runtime
	$(BIN)/python -m bench.core $(if $(BENCH),$(BENCH),--runs 3 --json var/bench/core.json)
	$(if $(BENCH),,$(BIN)/python -m bench.curves --runs 3 --json var/bench/curves.json)

# HOUSE="--short" takes 2 minutes; HOUSE="--help" lists the sizes; HOUSE="--openb DIR" adds the trace.
bench-house: runtime
	$(BIN)/python -m bench.house --json var/bench/house.json $(HOUSE)

# Needs the folder named by REAL_KUBERNETES, or ../shared/real. REAL="--address URL --token TOKEN": one that runs.
bench-real: development
	$(BIN)/python -m bench.real $(REAL)

bench-plots: development
	$(BIN)/python -m bench.publish

# PAGES="--nodes 500 --pods 2000 --ledger 5000 --only pods" makes it smaller.
bench-pages: runtime
	$(BIN)/python -m bench.pages $(PAGES)

screenshots: development
	@tools/chromium.sh
	SCREENSHOTS=screenshots $(BIN)/python -m pytest -q tests/browser/test_every_page.py

figures: development
	@mkdir -p var/figures
	-$(BIN)/python manage.py scenario run $(SCENARIO) --json var/figures/results.json
	$(BIN)/python kits/paper/figures.py var/figures/results.json var/figures

# ADDRESS: of the site.
pictures: development
	@tools/chromium.sh
	$(BIN)/python tools/pictures.py --address $${ADDRESS:-http://localhost:8000} --password "$$PASSWORD"

# FUZZ_SECONDS: for each document. FUZZ_SLOWEST: an answer that takes longer fails.
fuzz: development
	$(BIN)/python -m tests.stack.fuzz_values
	$(BIN)/python -m tests.stack.fuzz

check: development
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/djangofmt --check templates
	$(BIN)/djangofmt check templates
	$(BIN)/oxlint static
	$(BIN)/python tools/beautify.py --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(PRODUCTION) $(BIN)/python manage.py check --deploy --fail-level WARNING
	$(BIN)/python manage.py makemigrations --check --dry-run

format: development
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .
	$(BIN)/djangofmt check --fix templates
	$(BIN)/djangofmt templates
	$(BIN)/python tools/beautify.py

# The licences are those of the installed packages.
sbom: development
	$(BIN)/python tools/sbom.py var/sbom.json --licenses docs/licenses.md

# Asks PyPI, then OSV. Fails with 2 if no database answers for every package. ADVISORIES=all.zip: in this
# file instead, OSV's archive of advisories about PyPI.
audit: development
	$(BIN)/python tools/audit.py requirements.lock $(if $(ADVISORIES),--database $(ADVISORIES))

runtime:
	@$(PYTHON) tools/venv.py requirements.lock

development:
	@$(PYTHON) tools/venv.py requirements.lock requirements-dev.lock
