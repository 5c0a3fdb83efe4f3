#!/bin/sh
# Extraction of HTML on real pages: documentation out of Debian's packages, about 800 MB of it, of
# which a sample of 320 MB (times SCALE) is read. The packages are unpacked into build/pages, once,
# and never installed. HTML=FOLDER in the environment takes other pages. Run by bench/run.
set -eu
pages=${HTML:-build/pages}
packages='libstdc++-12-doc openjdk-17-doc python3.11-doc postgresql-doc-15 sqlite3-doc
	python-django-doc python-sqlalchemy-doc cmake-doc git-doc nodejs-doc libglib2.0-doc libgtk-3-doc
	cppreference-doc-en-html'

if [ ! -d "$pages" ]; then
	scratch=$(mktemp -d)
	trap 'rm -rf "$scratch"' EXIT
	trap 'exit 130' INT TERM
	for package in $packages; do
		(cd "$scratch" && apt-get -q download "$package" >log 2>&1) ||
			{ echo "  pages of $package: absent"; continue; }
		dpkg-deb -x "$scratch/$package"_*.deb "$scratch/tree"
	done
	[ -d "$scratch/tree" ] || { echo 'extract: no packages can be had: nothing is measured'; exit 0; }
	mkdir -p build
	cp -R "$scratch/tree" "$pages"
fi
ninja -C "$BUILD" bench/extract-html >/dev/null
"$BUILD/bench/extract-html" "$pages"
