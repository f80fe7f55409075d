#!/usr/bin/env bash
# Tries "oraccl sweep --on slurm", and repro likewise, against a real Slurm: one node, this machine, with
# a munged, a slurmctld and a slurmd of its own in a temporary directory, which end
# with this script. Nothing of a Slurm that is there already is touched.
#
#   1. an array of tasks computes a sweep; a worker is killed (SIGKILL) in the middle:
#      its finished cells are kept, and the same command submits what is missing, only;
#   2. the node dies in the middle, slurmd, its step and the worker, and comes back:
#      Slurm starts the tasks again, and the sweep ends as if nothing had been.
#
# Both tables must be, byte for byte, that of a sweep without Slurm. Then an array computes an
# experiment ("oraccl repro --on slurm"), and after a loss the missing line alone.
#
# The programs are taken from PATH; where they are missing, root gets them from the
# distribution (Debian, Ubuntu: slurmctld slurmd slurm-client munge), others are told so.
#
# usage: slurm-test.sh [ORACCL]     the program to try, by default one that is built here
#
# The exit status is 2 where no Slurm can be had, or started, and 1 where a sweep is wrong.
set -euo pipefail
if [ $# -gt 0 ]; then set -- "$(realpath "$1")"; fi
cd "$(dirname "$0")/../../.."

PATH=$PATH:/usr/sbin:/sbin:/usr/local/go/bin
needed=(munged slurmctld slurmd sbatch squeue scontrol sinfo flock)
missing() { for p in "${needed[@]}"; do command -v "$p" >/dev/null || echo "$p"; done; }
if [ -n "$(missing)" ]; then
	if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
		echo "slurm-test: missing: $(missing | tr '\n' ' '): want the packages slurmctld, slurmd, slurm-client and munge" >&2
		exit 2
	fi
	log=$(mktemp)
	export DEBIAN_FRONTEND=noninteractive
	if ! { apt-get update -q && apt-get install -qy --no-install-recommends slurmctld slurmd slurm-client munge; } >"$log" 2>&1; then
		tail -n 20 "$log" >&2
		rm -f "$log"
		exit 2
	fi
	rm -f "$log"
fi
if [ -f .deps/env.sh ]; then . .deps/env.sh; fi

T=$(mktemp -d)
chmod 711 "$T"
pids=()   # of what runs in the foreground of this script's jobs
stop() {  # PID: ends it, with SIGKILL if it does not listen
	kill "$1" 2>/dev/null || return 0
	for _ in $(seq 50); do
		kill -0 "$1" 2>/dev/null || return 0
		sleep 0.1
	done
	kill -9 "$1" 2>/dev/null || true
}
finish() {
	local status=$?
	set +e
	if [ "$status" -eq 2 ] && [ "$trouble" -eq 1 ]; then status=1; fi # a program's 2 is not ours
	for job in $(squeue --noheader --format=%A 2>/dev/null | sort -u); do scancel --full --signal=KILL "$job" 2>/dev/null; done
	for p in "${pids[@]}"; do stop "$p"; done
	if [ "$status" -ne 0 ]; then
		echo "slurm-test: failed; the last words of everybody:" >&2
		for f in "$T"/*.log "$T"/*/slurm/*/*.out; do [ -s "$f" ] && echo "--- $f" && tail -n 12 "$f"; done >&2
	fi
	for _ in 1 2 3 4 5; do rm -rf "$T" 2>/dev/null && break; sleep 0.5; done
	exit "$status"
}
trouble=2 # the status of a failure: 2 as long as there is no Slurm
trap finish EXIT
trap 'exit 130' INT TERM
say() { printf '%4d s  %s\n' "$SECONDS" "$*"; }
die() {
	echo "slurm-test: $*" >&2
	exit "$trouble"
}
# until_ SECONDS WHAT COMMAND...: waits until the command succeeds.
until_() {
	local limit=$((SECONDS + $1)) what=$2
	shift 2
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$limit" ] || die "waited in vain for $what"
		sleep 0.2
	done
}

oraccl=${1:-}
if [ -z "$oraccl" ]; then
	oraccl=$T/oraccl
	go build -o "$oraccl" ./cmd/oraccl
fi
say "oraccl is there, and Slurm: $(slurmd -V)"

# --- a Slurm of one node ------------------------------------------------------

node=$(hostname -s)
me=$(id -un)
# Two ports that nobody uses.
free_port() {
	local p
	while p=$((20000 + RANDOM % 12000)); (exec 3<>"/dev/tcp/127.0.0.1/$p") 2>/dev/null; do :; done
	echo "$p"
}
mkdir "$T/state" "$T/spool"
cat >"$T/slurm.conf" <<END
ClusterName=oraccl
SlurmctldHost=$node(127.0.0.1)
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
SlurmUser=$me
SlurmdUser=$me
AuthType=auth/munge
AuthInfo=socket=$T/munge.socket,cred_expire=5
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=1,sched_interval=2
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
StateSaveLocation=$T/state
SlurmdSpoolDir=$T/spool
SlurmctldPidFile=$T/slurmctld.pid
SlurmdPidFile=$T/slurmd.pid
SlurmdTimeout=10
KillWait=5
ReturnToService=2
MaxArraySize=9
NodeName=$node NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
export SLURM_CONF=$T/slurm.conf
# From 23 on a slurmd wants cgroups even where no plugin does, and can be told not to.
if [ "$(slurmd -V | sed 's/[^0-9]*\([0-9]*\).*/\1/')" -ge 23 ]; then echo "CgroupPlugin=disabled" >"$T/cgroup.conf"; fi
(umask 077 && head -c 1024 /dev/urandom >"$T/munge.key")
munged --force --foreground --key-file="$T/munge.key" --socket="$T/munge.socket" --pid-file="$T/munge.pid" \
	--log-file="$T/munge.file" --seed-file="$T/munge.seed" >"$T/munge.log" 2>&1 &
pids+=($!)
until_ 20 "munged" test -S "$T/munge.socket"
slurmctld -D >"$T/slurmctld.log" 2>&1 &
pids=($! "${pids[@]}")
slurmd() { command slurmd -D -N "$node" >>"$T/slurmd.log" 2>&1 & slurmd_pid=$!; pids=("$slurmd_pid" "${pids[@]}"); }
slurmd
idle() { sinfo --noheader --format=%T | grep -qE '^(idle|mixed|allocated)$'; }
until_ 60 "the node" idle
say "the node is $(sinfo --noheader --format=%T)"
trouble=1

# --- the sweeps ---------------------------------------------------------------

cat >"$T/grid.yaml" <<'END'
topologies: [ring:4, "mesh:2x3"]
collectives: [allgather, allreduce]
sizes: 64KiB..1MiB*4
chunks: 1
methods: [tacos, ring, rhd]
END
cp cmd/oraccl/experiment/example/* "$T"
cd "$T"
grid=(sweep grid.yaml --no-times)
list=(sweep grid.yaml --list)
"$oraccl" "${grid[@]}" --dir here >here.said
head -n 1 here.said

# hold DIR: claims the last cell, as another process would, so that the task that has
# it waits and can be hit in the middle of its work.
hold() {
	local key
	key=$("$oraccl" "${list[@]}" --dir "$1" | sed -n 's/^missing\t\([0-9a-f]*\)\t.*/\1/p' | tail -n 1)
	[ -n "$key" ] || die "nothing is missing in $1"
	exec 9>"$1/claims/$key"
	flock -x 9
}
all_but_one() { [ "$("$oraccl" "${list[@]}" --dir "$1" | grep -c '^missing')" = 1 ]; }
running() { [ "$(squeue --noheader --states=RUNNING --format=%i | wc -l)" = 1 ] && [ "$(squeue --noheader --format=%i | wc -l)" = 1 ]; }
# worker: the process that computes cells in the job that runs.
worker() {
	local job
	job=$(squeue --noheader --states=RUNNING --format=%A | head -n 1)
	for p in $(scontrol listpids "$job" | awk 'NR > 1 && $1 > 0 { print $1 }'); do
		if tr '\0' ' ' <"/proc/$p/cmdline" 2>/dev/null | grep -q 'sweep cells'; then echo "$p"; fi
	done | head -n 1
}
same() { cmp "here/table.csv" "$1/table.csv" && cmp "here/table.jsonl" "$1/table.jsonl"; }

mkdir killed
hold killed
"$oraccl" "${grid[@]}" --dir killed --on slurm --poll 1s >killed.out 2>killed.log 9>&- &
sweep=$!
pids=("$sweep" "${pids[@]}")
until_ 120 "all cells but the one that is held" all_but_one killed
until_ 60 "the task that waits for it" running
victim=$(worker)
[ -n "$victim" ] || die "no worker to be found"
kill -9 "$victim"
status=0
wait "$sweep" || status=$?
exec 9>&-
[ "$status" = 3 ] || die "a sweep that lost a worker ended with status $status, want 3: $(cat killed.log)"
grep -q '35 of 36 cells are kept' killed.log || die "not all others are kept: $(cat killed.log)"
say "a killed worker: $(tail -n 1 killed.log)"
"$oraccl" "${grid[@]}" --dir killed --on slurm --poll 1s >killed.out 2>killed.log
grep -q ': 1 cells in 1 tasks;' killed.log || die "more than what was missing is submitted: $(cat killed.log)"
grep -q '; 1 computed now, 35 kept from before' killed.out || die "more than what was missing is computed: $(cat killed.out)"
same killed
say "the same command again: $(head -n 1 killed.out)"

mkdir lost
hold lost
"$oraccl" "${grid[@]}" --dir lost --on slurm --poll 1s >lost.out 2>lost.log 9>&- &
sweep=$!
pids=("$sweep" "${pids[@]}")
until_ 120 "all cells but the one that is held" all_but_one lost
until_ 60 "the task that waits for it" running
victim=$(worker)
[ -n "$victim" ] || die "no worker to be found"
step=$(awk '/^PPid:/ { print $2 }' "/proc/$victim/status")
kill -9 "$slurmd_pid" "$step" "$victim"
wait "$slurmd_pid" 2>/dev/null || true
exec 9>&-
say "the node is dead"
slurmd
wait "$sweep" || die "a sweep whose node died and came back failed: $(cat lost.log)"
same lost
say "and back: $(head -n 1 lost.out)"
[ "$(grep -c 'cells in' lost.log)" = 1 ] || die "the sweep submitted twice: $(cat lost.log)"
say "both tables are that of a sweep without Slurm"

# --- an experiment ------------------------------------------------------------

"$oraccl" repro paper.yaml -o here >repro.here
repro() { "$oraccl" repro paper.yaml -o array --on slurm --poll 1s >repro.out 2>repro.log || die "repro failed: $(cat repro.log)"; }
repro
grep -q ': 3 lines in 3 tasks;' repro.log || die "not all lines are submitted: $(cat repro.log)"
grep -q '^0 results computed and verified now, 12 taken' repro.out || die "the tasks did not compute all: $(cat repro.out)"
cmp here/paper/times.csv array/paper/times.csv
rm "$(grep -l 'ring:8' array/paper/kept/*.json | head -n 1)"
repro
grep -q ': 1 lines in 1 tasks;' repro.log || die "more than what was missing is submitted: $(cat repro.log)"
grep -q '^0 results computed and verified now, 12 taken' repro.out || die "the task did not compute what was missing: $(cat repro.out)"
cmp here/paper/times.csv array/paper/times.csv
say "an experiment: $(head -n 1 repro.out)"
