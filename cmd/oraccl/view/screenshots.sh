#!/bin/sh
# Takes the screenshots of the README again, with the browser of the tests: makes the
# schedules, writes their pages, and lets TestShoot open them. What is written is in
# testdata/screenshots. A line of the list is a page, a picture, a theme, and the part of
# the makespan at which the slider is (-1: where the page puts it).
set -eu
cd "$(dirname "$0")/../../.."
sh cmd/setup/setup.sh
sh cmd/setup/setup.sh browser
if [ -f .deps/env.sh ]; then . ./.deps/env.sh; fi
command -v go >/dev/null || PATH=$PATH:/usr/local/go/bin

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
out=$(pwd -P)/testdata/screenshots
mkdir -p "$out"
go build -o "$tmp/oraccl" ./cmd/oraccl
oraccl() { "$tmp/oraccl" "$@" >"$tmp/log" || { status=$?; [ $status -eq 1 ] || { cat "$tmp/log"; exit $status; }; }; }

oraccl solve dgx1 --collective allgather --size 8MiB --chunks 1 --method exact -o "$tmp/dgx1-allgather.json"
oraccl solve torus:4x4x4 --collective allreduce --size 64MiB --method tacos --tries 3 -o "$tmp/torus-4x4x4-allreduce.json"
oraccl solve torus:32x32 --collective allgather --size 64MiB --method cayley -o "$tmp/torus-32x32-allgather.oraccl"
cp testdata/schedules/reject/ring4-allreduce-pipelined/transfer-0-again-at-the-end.json "$tmp/refuted.json"

for f in "$tmp"/*.json "$tmp"/*.oraccl; do
	oraccl view "$f" -o "${f%.*}.html"
done
oraccl view "$tmp/dgx1-allgather.json" -o "$out/dgx1-allgather.svg"
{
	echo "$tmp/dgx1-allgather.html $out/dgx1-allgather.png light 0.6"
	echo "$tmp/torus-4x4x4-allreduce.html $out/torus-4x4x4-allreduce.png dark 0.55"
	echo "$tmp/torus-32x32-allgather.html $out/torus-32x32-allgather.png dark 0.4"
	echo "$tmp/refuted.html $out/refuted.png light 1"
} >"$tmp/list"
ORACCL_SHOOT=$tmp/list go test -count 1 -run '^TestShoot$' ./cmd/oraccl/view
ls -l "$out"
