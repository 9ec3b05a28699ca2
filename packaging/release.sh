#!/bin/sh
# Builds an archive for each platform that is named, such as linux/amd64, in dist/. VERSION is stamped into the programs.
set -eu
: "${VERSION:?say which version it is}" "${GO:=go}"
mkdir -p dist
rm -f dist/regent_"$VERSION"_*
for platform in "$@"; do
	os=${platform%/*} arch=${platform#*/}
	name=regent_${VERSION}_${os}_${arch}
	dir=$(mktemp -d)
	mkdir "$dir/$name"
	# Nothing of the builder goes into the program, so that whoever builds it again gets the same bytes.
	CGO_ENABLED=0 GOOS=$os GOARCH=$arch "$GO" build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$VERSION" -o "$dir/$name/" ./cmd/regent ./sim/cmd/regent-sim
	cp LICENSE README.md CHANGELOG.md "$dir/$name/"
	mkdir "$dir/$name/packaging"
	for unit in regent.service regent-run.service.example; do
		sed 's|@bindir@|/usr/local/bin|g' "packaging/$unit" >"$dir/$name/packaging/$unit"
		if grep -n '@' "$dir/$name/packaging/$unit"; then
			echo "packaging/$unit: the line above still has a place to fill in" >&2
			exit 1
		fi
	done
	tar -C "$dir" --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -c "$name" | gzip -n >"dist/$name.tar.gz"
	rm -rf "$dir"
	echo "dist/$name.tar.gz"
done
(cd dist && sha256sum regent_"$VERSION"_*.tar.gz >regent_"$VERSION"_sha256sums.txt)
