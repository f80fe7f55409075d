#!/bin/sh
# Takes screenshots with the browser of the tests: makes the schedules, writes their pages,
# and lets TestShoot open them. It is what "make screenshots" runs.
#
#   screenshots.sh readme   those of the README, in testdata/screenshots
#   screenshots.sh DIR      in DIR, each page light and dark, 1300 and 400 pixels wide, in whole, to be looked at
#
# A line of a list is a page, a picture, a theme, the part of the makespan at which the slider
# is (-1: where the page puts it), and the width of a picture of the whole page; for the page
# of "make site" the last two are the width, and the fragment of the address.
set -eu
[ $# -eq 1 ] || { echo "screenshots.sh: want readme, or a directory" >&2; exit 2; }
case $1 in readme) set=readme ;; *) set=all; mkdir -p "$1"; out=$(cd "$1" && pwd -P) ;; esac
cd "$(dirname "$0")/../../.."
if [ $set = readme ]; then out=$(pwd -P)/testdata/screenshots; fi
sh cmd/setup/setup.sh
sh cmd/setup/setup.sh browser
if [ -f .deps/env.sh ]; then . ./.deps/env.sh; fi
command -v go >/dev/null || PATH=$PATH:/usr/local/go/bin

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
go build -o "$tmp/oraccl" ./cmd/oraccl
# What is refuted has the status 1, and a picture.
oraccl() { "$tmp/oraccl" "$@" >"$tmp/log" 2>&1 || { status=$?; [ $status -eq 1 ] || { cat "$tmp/log"; exit $status; }; }; }
wrong=testdata/schedules/reject/ring4-allreduce-pipelined/transfer-0-again-at-the-end.json
examples=cmd/oraccl-site/example

if [ $set = readme ]; then
	oraccl solve dgx1 --collective allgather --size 8MiB --chunks 1 --method exact -o "$tmp/dgx1-allgather.json"
	oraccl solve torus:4x4x4 --collective allreduce --size 64MiB --method tacos --tries 3 -o "$tmp/torus-4x4x4-allreduce.json"
	oraccl solve torus:32x32 --collective allgather --size 64MiB --method cayley -o "$tmp/torus-32x32-allgather.oraccl"
	cp $wrong "$tmp/refuted.json"
	for f in "$tmp"/*.json "$tmp"/*.oraccl; do
		oraccl view "$f" -o "${f%.*}.html"
	done
	oraccl view "$tmp/dgx1-allgather.json" -o "$out/dgx1-allgather.svg"
	cat >"$tmp/list" <<-EOF
		$tmp/dgx1-allgather.html $out/dgx1-allgather.png light 0.6
		$tmp/torus-4x4x4-allreduce.html $out/torus-4x4x4-allreduce.png dark 0.55
		$tmp/torus-32x32-allgather.html $out/torus-32x32-allgather.png dark 0.4
		$tmp/refuted.html $out/refuted.png light 1
	EOF
	ORACCL_SHOOT=$tmp/list go test -count 1 -run '^TestShoot$' ./cmd/oraccl/view
	ls -l "$out"
	exit 0
fi

page() { oraccl view "$tmp/$1" -o "$tmp/${1%.*}.html"; } # writes a page
solved() {                                            # name, arguments of solve: a schedule and its page
	name=$1
	shift
	oraccl solve "$@" -o "$tmp/$name.json"
	page "$name.json"
}
cp $wrong "$tmp/wrong.json" && page wrong.json
for name in race deadlock missing-contribution; do
	cp $examples/$name.xml "$tmp" && page $name.xml
done
cp $examples/packets.plan.json "$tmp/plan.json" && page plan.json
solved late switch:8 --collective allreduce --size 1GiB --straggler 7 --delay 10ms --alpha 3us --bandwidth 450GiB/s --cost rounds --method stragglar
solved machines dgxh100:2 --collective allreduce --size 64MiB --method hierarchical
solved torus torus:16x16 --collective allreduce --size 64MiB --method tacos --chunks 1 --tries 1
solved quads dgx1 --collective allgather --size 8MiB --method tacos --tries 3
solved tree fattree:4x4 --collective alltoall --size 16MiB --method direct
oraccl topo join dgxh100 dgxa100 --nic 25GB/s --fabric rails -o "$tmp/mixed.json"
solved joined "$tmp/mixed.json" --collective allgather --size 16MiB --method tacos --tries 1
solved ring dgx1 --collective allgather --size 8MiB --chunks 1 --method ring
oraccl view "$tmp/quads.json" "$tmp/ring.json" -o "$tmp/two.html"
go run ./cmd/oraccl-site -quick -o "$tmp/site"

: >"$tmp/list"
: >"$tmp/list-of-site"
for theme in light dark; do
	for width in 1300 400; do
		for name in wrong race deadlock missing-contribution plan late machines torus quads tree joined two; do
			echo "$tmp/$name.html $out/$name-$theme-$width.png $theme -1 $width" >>"$tmp/list"
		done
		for name in exchange deadlock missing-contribution race; do
			echo "$tmp/site/index.html $out/site-$name-$theme-$width.png $theme $width #example=$name" >>"$tmp/list-of-site"
		done
	done
done
ORACCL_SHOOT=$tmp/list go test -count 1 -timeout 10m -run '^TestShoot$' ./cmd/oraccl/view
ORACCL_SHOOT=$tmp/list-of-site go test -count 1 -timeout 10m -run '^TestShoot$' ./cmd/oraccl-site
ls -l "$out"
