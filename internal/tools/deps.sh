#!/bin/sh
# Makes sure that the programs which the tests call are there. On Debian and its relatives, as root, it installs what is
# missing; everywhere else it says what to install. Libraries and Go tools are not its business: Go fetches those itself,
# at the versions in go.mod and internal/tools/go.mod.
set -eu

# One line each: program, Debian package, what it is for.
needed='
git git the version stamp and the list of tracked files
gcc gcc the race detector, which needs cgo
curl curl the tests of the agent: a client of its HTTP interface
haproxy haproxy the tests of the agent: a load balancer that follows the leader
nginx nginx the tests of the recipes: a load balancer that follows the leader
openssl openssl the tests of the recipes: certificates
systemd-analyze systemd the tests of the recipes: the checker of units
promtool prometheus the tests of the agent: the checker of metrics
python3 python3 the tests of the agent: the client in Python
node nodejs the tests of the agent: the client in JavaScript
chromium chromium the tests of the dashboard, in a real browser
npm npm the tests of the dashboard: the client that installs axe-core
'

# With the argument engines: the servers of make test-engines, which are not in the PATH everywhere.
if [ "${1-}" = engines ]; then
	PATH="$PATH:/usr/sbin:$(echo /usr/lib/postgresql/*/bin | tr ' ' ':')"
	needed="$needed
initdb postgresql make test-engines
faketime faketime make test-engines
etcd etcd-server make test-engines
etcdctl etcd-client make test-engines
"
fi

packages= # of Debian, to install
missing=  # for people, one line each
while read -r program package purpose; do
	[ -n "$program" ] || continue
	if ! command -v "$program" >/dev/null 2>&1; then
		packages="$packages $package"
		missing="$missing  $program: $purpose (Debian package $package)
"
	fi
done <<END
$needed
END
# The interpreter alone is not enough: python3-minimal lacks modules.
if command -v python3 >/dev/null 2>&1 && ! python3 -c 'import asyncio, http.client, json, unittest' >/dev/null 2>&1; then
	packages="$packages python3"
	missing="$missing  the standard library of python3: the tests of the agent (Debian package python3)
"
fi
# Nor is the compiler alone, on a bare image: cgo also wants the headers of the C library.
if command -v gcc >/dev/null 2>&1 && ! echo '#include <stdlib.h>' | gcc -E -x c - >/dev/null 2>&1; then
	packages="$packages libc6-dev"
	missing="$missing  the headers of the C library: the race detector (Debian package libc6-dev)
"
elif ! command -v gcc >/dev/null 2>&1; then
	packages="$packages libc6-dev"
fi

if [ -n "$packages" ]; then
	if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
		echo "deps: installing$packages"
		export DEBIAN_FRONTEND=noninteractive
		apt-get update -qq </dev/null
		# shellcheck disable=SC2086 # a list of names
		apt-get install -y -qq --no-install-recommends $packages </dev/null
	else
		printf 'deps: these are missing; install them and run this again:\n%s' "$missing" >&2
		exit 1
	fi
fi

# axe-core looks at the dashboard for what keeps people from using it. The client compares it with the lock file.
axe=sim/browser/axe
if [ ! -e "$axe/node_modules/.package-lock.json" ] || [ "$axe/package-lock.json" -nt "$axe/node_modules/.package-lock.json" ]; then
	(cd "$axe" && npm ci --silent --ignore-scripts --no-audit --no-fund && touch node_modules/.package-lock.json)
fi

want=$(sed -n 's/^go //p' go.mod)
if ! command -v go >/dev/null 2>&1; then
	echo "deps: go is missing: install Go $want or later from https://go.dev/dl" >&2
	exit 1
fi
# `go env` fetches the toolchain that go.mod asks for, unless GOTOOLCHAIN forbids it; then it says which one to install.
go env GOVERSION >/dev/null
