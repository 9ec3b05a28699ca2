# `make test` is the one test command. `make help` lists the rest.

GO      ?= go

# One tree, several modules: go.work ties them together. The pattern is for the packages of all of them.
PACKAGES := github.com/regentproject/regent/...
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS := -X main.version=$(VERSION)

# Which mutants: a directory under mutants/, or directory/name. Empty: all.
MUTANTS ?=

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help deps fmt vet lint modules release-check release-fix check cross test tests tests-raced tests-together test-kube test-long test-engines hosts bench bench-quick bench-calm bench-peers performance bench-sessions bench-flood explore fuzz mutants mutants-quick screenshot torture build install release clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

deps: ## install what the tests need (Debian, as root), or say what to install
	@./internal/tools/deps.sh

fmt: ## rewrite all Go files as gofmt wants them
	gofmt -l -w $$(git ls-files --cached --others --exclude-standard '*.go' | grep -v '/testdata/')

vet: ## go vet (make test-long has it, with staticcheck)
	$(GO) vet $(PACKAGES)

lint: vet ## go vet, and staticcheck at the version that internal/tools/go.mod pins
	$(GO) tool staticcheck $(PACKAGES)

release-check: ## the modules can be released: tidy, installable without the workspace, and small for those that import the library
	$(GO) run ./internal/tools/release

release-fix: ## write go.mod, go.sum and the lists of modules as release-check wants them
	$(GO) run ./internal/tools/release -fix

modules:
	$(GO) run ./internal/tools/release -quick

# What docs/compatibility.md promises for systems on which no test runs: it builds.
PORTABLE := . ./view ./why ./elector ./fence/... ./agent/... ./cmd/regent

# Without the clients of engines, which take more time than all the rest; make test-long builds them.
CROSS_TAGS ?= noengines

cross: ## build for macOS and Windows what docs/compatibility.md promises there (CROSS_TAGS= with the engines)
	GOOS=darwin GOARCH=arm64 $(GO) build -tags '$(CROSS_TAGS)' $(PORTABLE)
	GOOS=windows GOARCH=amd64 $(GO) build -tags '$(CROSS_TAGS)' $(PORTABLE)

check: modules cross ## the checks of make test that are not tests (the house rules are tests: internal/tidy)
	@unformatted=$$(gofmt -l $$(git ls-files --cached --others --exclude-standard '*.go' | grep -v '/testdata/')); \
	if [ -n "$$unformatted" ]; then echo "not formatted, run 'make fmt':"; echo "$$unformatted"; exit 1; fi

# Packages with goroutines and locks of their own. The rest is pure, or one goroutine at a time; test-long has the race detector
# look at that, too.
RACED := . ./internal/runtime/... ./internal/session/... ./internal/transport/... ./agent ./agent/access ./agent/core ./agent/httpd ./agent/metrics ./agent/patroni ./agent/processes ./agent/socket ./agent/run/...

# The random runs of the runtime take ten times as long under the race detector: a few of them there, all of them without it.
RACED_SEEDS := 4

# What needs client-go, whose 500 packages take minutes to compile. Its rules, kube/regentlock/internal/rule, do not, and are tried by make test. The
# list is that of the table in internal/tidy/modules.go.
HEAVY := ./kube/regentlock ./kube/regentlock/contend ./kube/regentlock/examples/... ./kube/regentlock/processes

# Many tests wait for processes and their leases, so more is done at once than there are processors. Leases in tests are longer than the
# pauses that this costs.
AT_ONCE := -p 4

test: deps ## everything that must be green: deps, checks, all tests; it prints how long it took
	@./internal/tools/timed.sh $(MAKE) --no-print-directory check tests-together

# The go command does not see when a client in another language changes, and would take the result of an earlier test for this one.
export REGENT_CLIENTS = $(shell cat $$(git ls-files clients examples/socket 2>/dev/null) /dev/null | cksum)

# Both kinds side by side: many tests wait for processes, and the processors are free then.
tests-together:
	@./internal/tools/together.sh "$(MAKE) --no-print-directory tests" "$(MAKE) --no-print-directory tests-raced"

tests:
	$(GO) test -vet=off -timeout 15m $(AT_ONCE) ./internal/runtime $$($(GO) list $(PACKAGES) | grep -vxF "$$($(GO) list $(RACED) $(HEAVY))")

tests-raced:
	REGENT_RUNTIME_SEEDS=$(RACED_SEEDS) $(GO) test -vet=off -race -timeout 15m $(AT_ONCE) $(RACED)

test-kube: ## locks for electors of client-go and managers of controller-runtime: in fake time, and with processes for ten minutes
	REGENT_TEST=long $(GO) test ./internal/tidy
	$(GO) test -timeout 30m $(HEAVY)

test-long: test lint release-check mutants-quick hosts torture test-kube ## make test, and what takes longer: go vet and staticcheck, long simulations, the race detector everywhere, all mutants
	REGENT_TEST=long $(GO) test -timeout 60m ./sim/...
	REGENT_TEST=long $(GO) test -count 1 ./cmd/regent -run 'Starved|DiskIsLost'
	$(MAKE) cross CROSS_TAGS=
	$(MAKE) fuzz
	$(GO) test -race -timeout 60m -p 2 $(PACKAGES)
	$(MAKE) mutants

test-engines: ## engines on real servers, which it installs on Debian, on a stand-in for an API server, and the council, and elections for clients of etcd: processes that are paused, links and servers that fail (some minutes)
	./internal/tools/deps.sh engines
	$(GO) test -tags engines -count 1 -timeout 25m -p 1 -v $$($(GO) list github.com/regentproject/regent/engines/... github.com/regentproject/regent/facades/...) ./agent/cluster/asengine
	$(GO) test -tags engines -count 1 ./cmd/regent -run PostgreSQLRecipe

# How many seeds of simulated hosts to play.
SEEDS ?= 100000

hosts: ## tenures on simulated hosts, with many seeds (SEEDS=100000 takes about five minutes of one processor)
	$(GO) test ./sim/host -count 1 -host.seeds $(SEEDS) -timeout 2h -v

bench: ## all benchmarks
	$(GO) test -run '^$$' -bench . -benchmem $(PACKAGES)

# What is measured: bench-quick -help lists the flags.
BENCH ?=

bench-quick: ## fail-over and cost of councils of real processes (BENCH='-trials 20 -calm 0 -busy 0' is quicker)
	$(GO) build -o bin/bench-quick ./bench/quick
	bin/bench-quick $(BENCH)

bench-calm: ## changes of leader without a cause beside 40 busy processes for 15 minutes, and hashicorp/raft in the same run (BENCH='-for 1m -load 4' is quicker, BENCH='-for 0 -plan-runs 10' compares the bounds of regent plan with ten runs)
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/regent ./cmd/regent
	$(GO) build -o bin/bench-raft ./bench/peers/raft
	$(GO) build -o bin/bench-calm ./bench/calm
	bin/bench-calm $(BENCH)

bench-peers: ## Regent beside hashicorp/raft, etcd, Redis with redsync, ZooKeeper and keepalived, in one run of some hours (BENCH='-systems regent,raft -trials 5 -blocks 1 -for 10s -busy 10s -settings fastest' takes two minutes)
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/regent ./cmd/regent
	@mkdir -p bin/peers
	for c in regent raft etcd redis zookeeper keepalived; do $(GO) build -trimpath -o bin/peers/peer-$$c ./bench/peers/$$c || exit 1; done
	$(GO) build -trimpath -o bin/peers/bench-peers ./bench/peers
	bin/peers/bench-peers $(BENCH)

performance: ## write recorded measurements (docs/performance.json, docs/peers/peers.json) into the pages of the documentation, with what is missed
	$(GO) run ./bench/peers -render docs/peers
	$(GO) run ./internal/tools/performance

# Every fuzz target, one after the other, FUZZCPU of processor time each. FUZZ=./internal/wire looks at one package. Inputs that reach new
# code stay in bin/fuzz; those worth keeping for good belong below testdata/fuzz of their package. A campaign of hours has a FUZZREPORT: called
# again with the same one, it goes on with what is not done.
FUZZCPU ?= 10s
FUZZ ?=
FUZZREPORT ?=
fuzz: ## every decoder against random input, FUZZCPU=10s each (FUZZCPU=10m FUZZREPORT=FILE can be interrupted)
	@$(if $(FUZZREPORT),,rm -f bin/fuzz/report.json)
	$(GO) run ./internal/tools/fuzz -cpu $(FUZZCPU) -report $(or $(FUZZREPORT),bin/fuzz/report.json) $(FUZZ)

bench-sessions: ## what part of a core an agent uses for a minute whose programs lead 1,000 groups
	$(GO) test -run '^$$' -bench '^BenchmarkThousandSessions$$' -benchtime 1x ./agent

bench-flood: ## what a sender at full speed costs a leader, for a minute of each kind
	$(GO) build -o bin/bench-quick ./bench/quick
	bin/bench-quick -profile lan -members 3 -kinds '' -splits 0 -idle 0 -groups '' -calm 0 -busy 0 -flood 1m -scheduling realtime

# How many faults, and what happens: the seed of an earlier run, or 0 for a new one.
FAULTS ?= 2000
SEED   ?= 0

torture: build ## stop, kill and cut agents, runners, keepers and programs on a busy host, and judge (FAULTS=200 SEED=7; 2000 faults take ten minutes)
	$(GO) build -o bin/torture ./agent/cluster/torture
	bin/torture -faults $(FAULTS) -seed $(SEED) -regent bin/regent

mutants: ## break the protocols in known ways; each must be caught (MUTANTS=rank or MUTANTS=rank/never-suspect)
	REGENT_TEST=long $(GO) run ./internal/mutants $(MUTANTS)

mutants-quick: ## one mutant of each invariant, by the tests as make test runs them
	$(GO) run ./internal/mutants --quick

# How many distinct states of a small council to visit.
STATES ?= 10000000

explore: ## visit the reachable states of a small council, any order of messages (STATES=10000000 takes about an hour)
	$(GO) test ./sim/explore -run AnyOrder -explore.states $(STATES) -timeout 4h -v

screenshot: ## the pictures of the documentation, taken in Chromium from a demonstration and a recorded run
	$(GO) test ./sim/browser -run InTheBrowser -count 1 -pictures $(CURDIR)/docs/img

build: ## bin/regent and bin/regent-sim, with their version stamped
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./cmd/regent ./sim/cmd/regent-sim

# Where to install to. DESTDIR goes before it, for packages.
PREFIX ?= /usr/local
bindir  = $(PREFIX)/bin

install: build ## into PREFIX (/usr/local): the programs, the systemd unit, completions for shells
	install -d $(DESTDIR)$(bindir) $(DESTDIR)$(PREFIX)/lib/systemd/system $(DESTDIR)$(PREFIX)/share/regent \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions $(DESTDIR)$(PREFIX)/share/zsh/site-functions $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	install -m 755 bin/regent bin/regent-sim $(DESTDIR)$(bindir)
	sed 's|@bindir@|$(bindir)|g' packaging/regent.service > $(DESTDIR)$(PREFIX)/lib/systemd/system/regent.service
	sed 's|@bindir@|$(bindir)|g' packaging/regent-run.service.example > $(DESTDIR)$(PREFIX)/share/regent/regent-run.service.example
	bin/regent completion bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/regent
	bin/regent completion zsh > $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_regent
	bin/regent completion fish > $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/regent.fish

PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64

release: ## dist/: archives for all PLATFORMS, with the version stamped, and their digests
	GO='$(GO)' VERSION='$(VERSION)' packaging/release.sh $(PLATFORMS)

clean: ## remove what was built
	rm -rf bin dist
