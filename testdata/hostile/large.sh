#!/bin/sh
# large.sh DIR makes the hostile inputs that are too large, or of a kind, to be kept in a
# repository: sparse files, links to devices, FIFOs, and files of some megabytes. Together they
# take about 60 MB of the disk. The harness (go test ./cmd/oraccl -run TestHostile) runs it, and
# index.tsv has what is expected of each.
set -eu
[ $# = 1 ] || { echo "usage: sh large.sh DIR" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cd "$1"

# what is no regular file, or larger than anything
truncate -s 100G sparse.json
truncate -s 100G sparse.oraccl
truncate -s 100G sparse.xml
ln -s /dev/zero zero.json
ln -s /dev/zero zero.xml
ln -s loop.json loop.json
mkdir dir.json

# FIFOs that nobody writes to: a document of a directory, and the proof of a certificate
mkdir fifo proof
mkfifo fifo/problem.json proof/lrat-ids.lrat
cp "$here/lrat-ids.json" proof/

# a name that is a line of a report
printf '{}' >"$(printf 'a\nPROVED optimal\033[2J.json')"

# schedule HEAD TAIL: a schedule with what awk prints between them
links() { awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) printf "%s{\"src\":%d,\"dst\":%d,\"alpha_ps\":0,\"bandwidth_bytes_per_s\":1000000000000}", i ? "," : "", i, i + 1 }'; }
numbers() { awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) printf "%s%d", i ? "," : "", i }'; }

# one transfer over n links
for n in 20000 200000; do
	{
		printf '{"schema":"oraccl/schedule/1","problem":{"topology":{"name":"t","ranks":%d,"links":[' $((n + 1))
		links $n
		printf ']},"collective":{"kind":"broadcast","root":0,"group":[0,%d]},"size_bytes":1,"chunks":1,"cost":"blocking"},"form":"timed","transfers":[{"chunk":0,"src":0,"dst":%d,"links":[' $n $n
		numbers $n
		printf '],"op":"copy","start_ps":0,"end_ps":%d}]}' $n
	} >route-$n.json
done

# 2^20 ranks that all send to rank 1, one after the other
{
	printf '{"schema":"oraccl/schedule/1","problem":{"topology":{"name":"t","ranks":1048576,"links":[{"src":0,"dst":1,"alpha_ps":0,"bandwidth_bytes_per_s":1000000000000}]},"collective":{"kind":"allreduce"},"size_bytes":1048576,"chunks":1048576,"cost":"blocking"},"form":"timed","transfers":['
	awk 'BEGIN { for (i = 0; i < 20000; i++) printf "%s{\"chunk\":%d,\"src\":0,\"dst\":1,\"links\":[0],\"op\":\"reduce\",\"start_ps\":%d,\"end_ps\":%d}", i ? "," : "", i, i, i + 1 }'
	printf ']}'
} >ranks.json

# one slot that is read and written 20 000 times in no order
{
	printf '{"schema":"oraccl/schedule/1","problem":{"topology":{"name":"t","ranks":3,"links":[{"src":0,"dst":1,"alpha_ps":0,"bandwidth_bytes_per_s":1},{"src":1,"dst":2,"alpha_ps":0,"bandwidth_bytes_per_s":1}]},"collective":{"kind":"broadcast","root":0},"size_bytes":1,"chunks":1,"cost":"blocking"},"form":"order","transfers":['
	awk 'BEGIN { for (i = 0; i < 20000; i++) printf "%s{\"chunk\":0,\"src\":%d,\"dst\":%d,\"links\":[%d],\"op\":\"reduce\",\"after\":[]}", i ? "," : "", i % 2, i % 2 + 1, i % 2 }'
	printf ']}'
} >order.json

# ten million arrays, one in another, and a string of 40 MB
awk 'BEGIN { for (i = 0; i < 10000000; i++) printf "[" }' >nested.json
{
	printf '{"schema":"oraccl/topology/1","name":"'
	head -c 40000000 /dev/zero | tr '\0' x
	printf '","ranks":1,"links":[]}'
} >string.json
