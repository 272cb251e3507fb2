# Postline's commands. `make help` lists them; the steps are in scripts/.

.DEFAULT_GOAL := help
.PHONY: help run chat release test test-all check soak sanitize fuzz format lint schema schema-check build bench env \
	test-swift test-console test-long test-long-swift test-alone test-all-but-examples test-postgres test-compose \
	test-examples docs documentation clean

.NOTPARALLEL:

sources := Package.swift Plugins Sources Tests Examples

# With colors a build on a terminal has other options than one in a pipe, and compiles everything anew.
swift-build := swift build --no-color-diagnostics

# The version of PostgreSQL that tests run on: `make test POSTGRES=17`. Without it, that which is installed.
ifdef POSTGRES
export POSTLINE_TEST_POSTGRES := $(POSTGRES)
endif

help: ## Show this list.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## Build Postline and start it with a PostgreSQL of its own (ARGS="--port 7000 …").
	@scripts/install-dependencies
	$(swift-build) --product postline
	@echo "This is a debug build, which the tests share. make release builds an optimized one."
	@.build/debug/postline dev $(ARGS)

chat: ## Build the chat and sign in to the server of `make run` (ARGS=alice@example.com).
	@scripts/install-dependencies
	$(swift-build) --product postline
	$(swift-build) --product postline-chat
	@.build/debug/postline chat $(ARGS)

release: ## Build the optimized programs that are shipped, in .build/release.
	@scripts/install-dependencies
	$(swift-build) -c release --product postline
	$(swift-build) -c release --product postline-chat

# The suites that expect something within a time of the source documents
# (Tests/IntegrationTests/Support/DocumentedTime.swift) or of the protocol, and one that takes all of the machine.
alone := [.](AvatarSync|ProfileFlow|KilledNode|ClientModel)Tests/

# The names of the suites in folders of Tests/IntegrationTests, whose files are named after them.
suites-in = $(basename $(notdir $(wildcard $(1:%=Tests/IntegrationTests/%/*Tests.swift))))
one-of = [.]($(subst $(empty) $(empty),|,$(strip $(1))))/

# Suites of rare cases, of random input, or of deployment and failures, which changes seldom affect. scripts/test-http
# has others.
long := $(call one-of,$(filter-out RestoreTests,$(call suites-in,Conformance Deployment Failures)) \
	FuzzedLinesTests LeakTests MergeSizeTests ModelTests StandbyTests)

# What must hold over WebSocket as it does over lines. Two promises are others there: a message that is too long, or no
# UTF-8, ends the connection (docs/protocol.md, section 1), which Tests/HTTP/test_websocket.py holds.
both_ways := [.](BackPressure|Wire|ResponseSize|Streaming|SyncOpen|Exactness)Tests/
lines_alone := WireTests/(lineTooLong|invalidUTF8)[(]

test: build ## Build, and run the tests against a private PostgreSQL, or some (ARGS="--filter SendTests"; POSTGRES=17).
ifdef ARGS
	@scripts/with-postgres scripts/run-tests $(ARGS)
else
	@scripts/mail-server --install
	@scripts/install-dependencies http
	@scripts/side-by-side "make --no-print-directory test-swift" scripts/test-http
endif

# The examples are another build, which takes what processor time the tests leave.
test-all: build ## All tests, also on PostgreSQL 18.
	@scripts/side-by-side "make --no-print-directory test-all-but-examples" \
	"nice -n 19 scripts/test-examples"

test-all-but-examples: test test-console test-long test-alone documentation
	@scripts/test-javascript
	@scripts/test-newest-postgres

# The first ends backends as it likes, the second takes descriptors by the hundred, the third weighs its own memory:
# each has a process to itself.
test-swift:
	@scripts/with-postgres scripts/run-tests --filter '^PostgresTests[.]'
	@scripts/run-tests --filter '^LineServerTests[.]' --skip '[.]PipelineTests'
	@scripts/run-tests --filter '^LineServerTests[.]PipelineTests'
	@scripts/with-postgres sh -c "scripts/run-tests --skip '^(Postgres|LineServer)Tests[.]' --skip '$(alone)' \
	--skip '$(long)' && \
	scripts/test-sql"

test-console: build ## Test the web console in Chromium.
	@scripts/test-http --console

test-long: build ## Test what takes long: random input, deployment, failures, WebSocket, generated clients.
	@scripts/install-dependencies http
	@scripts/install-dependencies javascript
	@scripts/side-by-side "make --no-print-directory test-long-swift" "scripts/test-http --long"

test-long-swift:
	@scripts/with-postgres sh -c "scripts/run-tests --filter '$(long)' && \
	POSTLINE_TEST_WAY=websocket scripts/run-tests --filter '$(both_ways)' --skip '$(lines_alone)'"

# One after another: they need the machine for themselves.
test-alone: build
	@scripts/install-dependencies javascript
	@scripts/with-postgres scripts/run-tests --no-parallel --filter '$(alone)'

check: lint test-all schema-check sanitize ## All that a change must pass.

sanitize: ## Run the unit tests under the thread and the address sanitizer, each in a build of its own.
	@scripts/install-dependencies test
	@scripts/test-sanitized thread
	@scripts/test-sanitized address

fuzz: ## Fuzz framing and envelope with a million inputs (ARGS="-runs=…" for others, or libFuzzer's other options).
	@scripts/install-dependencies test
	@scripts/fuzz $(ARGS)

soak: build ## Run the model test long (CHANGES=100000 FAULTS=60 SEED=1; a new seed each time unless one is given).
	$(swift-build) -c release --product postline
	@POSTLINE_TEST_PROGRAM=.build/release/postline POSTLINE_MODEL_CHANGES=$(or $(CHANGES),100000) \
	POSTLINE_MODEL_FAULTS=$(or $(FAULTS),60) POSTLINE_MODEL_SEED=$(or $(SEED),$(shell date +%s)) \
	scripts/run-tests --filter '^IntegrationTests[.]ModelTests'

format: ## Format the Swift sources.
	swift format --in-place --recursive $(sources)

schema: build ## Write sql/schema.sql anew from the migrations.
	@scripts/with-postgres scripts/schema dump

bench: ## Measure Postline beside pgbench, nats-server and bare C (ARGS="sends reads --seconds 10 …").
	@scripts/install-dependencies bench
	$(swift-build) -c release --product postline
	$(swift-build) -c release --product postline-bench
	@.build/release/postline-bench $(ARGS)

on_other_postgres := $(call suites-in,Feed Accounts Profiles Conversations Supabase)

test-postgres: export POSTLINE_TEST_POSTGRES := $(or $(POSTGRES),17)
test-postgres: build ## Test the SQL, the feed, the methods and Supabase's rules on another PostgreSQL (POSTGRES=17).
	@scripts/install-dependencies test
	@scripts/with-postgres sh -c "scripts/test-sql && scripts/run-tests \
	$(foreach suite,$(on_other_postgres),--filter '^IntegrationTests[.]$(suite)/')"

test-compose: ## Compose the whole system and test it, also while its services are stopped and killed (needs Docker).
	@scripts/test-compose

test-examples: build ## Build Examples/ as an app that depends on Postline is built, and run it against a node.
	@scripts/test-examples

# With this variable the tests that compare generated pages with the code write them.
docs: build ## Write the generated tables of docs/: settings, metrics, methods, requirements, guarantees.
	@POSTLINE_TEST_WRITE_DOCS=1 scripts/run-tests --filter 'SettingsDocumentedTests/page' \
	--filter 'DeployedFilesTests/metricsPage' --filter 'MethodsDocumentedTests/page'
	@scripts/docs
	@scripts/generate-javascript

documentation: build ## Write the reference of the Swift package by DocC; a warning is an error.
	@scripts/documentation

env: ## Make .env, the secrets of docker-compose.yml.
	@scripts/make-env

clean: ## Remove the builds. The development database in .postline/ stays.
	rm -rf .build .build-thread .build-address .build-fuzz .build-examples

# The steps of `make test` and `make check`.

lint:
	@scripts/lint-hand
	@scripts/lint-links
	@scripts/lint-words
	@scripts/lint-xcode
	@scripts/docs --check
	swift format lint --strict --recursive $(sources)

build:
	@scripts/install-dependencies test
	$(swift-build) --build-tests

schema-check: build
	@scripts/with-postgres scripts/schema check
