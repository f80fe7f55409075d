package main

// examples are the files to start from: right ones, and one of each kind of fault.
var examples = []struct {
	group, title, file string
	code               string // of the fault that it shows; "": it is right
}{
	{"right", "MSCCL-IR: an exchange of two ranks", "cmd/oraccl-site/example/exchange.xml", ""},
	{"right", "allreduce on a ring of four", "testdata/schedules/accept/ring4-allreduce-pipelined.json", ""},
	{"right", "allgather on a ring of four, in rounds", "testdata/schedules/accept/ring4-allgather-rounds.json", ""},
	{"right", "allgather with a late rank", "testdata/schedules/accept/line3-allgather-late-blocking.json", ""},
	{"right", "allgather through a switch", "testdata/schedules/accept/star4-allgather-pipelined.json", ""},
	{"right", "broadcast, with an order instead of times", "testdata/schedules/accept/line3-broadcast-order.json", ""},
	{"wrong MSCCL-IR", "a contribution is missing", "cmd/oraccl-site/example/missing-contribution.xml", "missing-contribution"},
	{"wrong MSCCL-IR", "a deadlock", "cmd/oraccl-site/example/deadlock.xml", "deadlock"},
	{"wrong MSCCL-IR", "a race", "cmd/oraccl-site/example/race.xml", "read-write-race"},
	{"wrong MSCCL-IR", "nobody receives a message", "cmd/oraccl-site/example/unmatched-send.xml", "unmatched-send"},
	{"wrong MSCCL-IR", "a message of another length", "cmd/oraccl-site/example/count-mismatch.xml", "count-mismatch"},
	{"wrong MSCCL-IR", "beyond the end of a buffer", "cmd/oraccl-site/example/out-of-bounds.xml", "out-of-bounds"},
	{"wrong MSCCL-IR", "what nothing has written is read", "cmd/oraccl-site/example/uninitialised-read.xml", "uninitialised-read"},
	{"wrong MSCCL-IR", "no runtime loads it", "cmd/oraccl-site/example/would-not-load.xml", "would-not-load"},
	{"wrong schedules", "a contribution twice", "testdata/schedules/reject/ring4-allreduce-pipelined/transfer-0-again-at-the-end.json", "double-contribution"},
	{"wrong schedules", "a link carries two chunks", "testdata/schedules/reject/ring4-allreduce-pipelined/transfer-0-swapped-in-time-with-the-last.json", "link-overlap"},
	{"wrong schedules", "a port is overloaded", "testdata/schedules/reject/full4-allreduce-exchange-rounds/transfer-0-other-source.json", "port-overload"},
	{"wrong schedules", "faster than the link", "testdata/schedules/reject/ring4-allreduce-pipelined/transfer-0-shorter.json", "too-fast"},
	{"wrong schedules", "slower than the cost model says", "testdata/schedules/reject/ring4-allreduce-pipelined/transfer-0-longer.json", "too-slow"},
	{"wrong schedules", "no path to the destination", "testdata/schedules/reject/ring4-allreduce-pipelined/transfer-0-other-destination-same-link.json", "no-such-link"},
	{"wrong schedules", "what a rank does not hold is sent", "testdata/schedules/reject/full4-allreduce-group-pipelined/transfer-0-other-source.json", "send-undefined"},
	{"wrong schedules", "a sum into nothing", "testdata/schedules/reject/full4-allreduce-group-pipelined/transfer-0-retargeted.json", "reduce-into-undefined"},
	{"wrong schedules", "before a rank has arrived", "testdata/schedules/reject/line3-allgather-late-blocking/transfer-0-other-source.json", "before-release"},
	{"wrong schedules", "two transfers write one slot", "testdata/schedules/reject/line3-broadcast-order/transfer-0-other-chunk.json", "write-write-race"},
}
