package main

// An offer is an example to start from: a file, or a change of one, or where no file is named the
// schedule by which its code is explained.
type offer struct {
	group, title, file string
	code               string            // of the fault that it shows, or of what it warns; "": neither
	edits              []string          // pairs: what stands in the file once, and what takes its place
	asked              map[string]string // what is asked of the page with it, by its fields
}

// The files that several examples change.
const (
	exchange = "cmd/oraccl-site/example/exchange.xml"
	signals  = "cmd/oraccl-site/example/allgather.plan.json"
	packets  = "cmd/oraccl-site/example/packets.plan.json"
	sccl     = "cmd/oraccl-site/example/sccl.json"
	teccl    = "cmd/oraccl-site/example/teccl.json"
	forest   = "cmd/oraccl-site/example/forestcoll.xml"
	ring     = "testdata/schedules/reject/ring4-allreduce-pipelined/"
	full     = "testdata/schedules/reject/full4-allreduce-group-pipelined/"
	line     = "testdata/schedules/reject/line3-"
)

// What the changes of plans are about: the last operations of the ranks, and others.
const (
	raises = `    {"name": "signal", "channel_ids": [0], "channel_type": "memory"}`
	wait   = `    {"name": "wait", "channel_ids": [0], "channel_type": "memory"}`
	first  = wait + "]}]},"  // the end of the first rank
	last   = wait + "]}]}]}" // that of the last
	nop    = `    {"name": "nop"},` + "\n"
	relax  = `    {"name": "rlxsignal", "channel_ids": [0], "channel_type": "memory"},` + "\n"
	await  = `    {"name": "rlxwait", "channel_ids": [0], "channel_type": "memory"},` + "\n"
	head   = `"inplace": true,`
	unpack = `    {"name": "upkt", "src_buff": [{"type": "s", "index": 0, "size": 1}], "dst_buff": [{"type": "o", "index": 0, "size": 1}]}`
	other  = `    {"name": "upkt", "src_buff": [{"type": "s", "index": 1, "size": 1}], "dst_buff": [{"type": "o", "index": 1, "size": 1}]}`
	pack   = `    {"name": "ppkt", "src_buff": [{"type": "o", "index": 0, "size": 1}], "dst_buff": [{"buffer_id": 0, "index": 0, "size": 1}], "channel_type": "memory"},` + "\n"
)

// examples are right ones and one of each kind of fault.
var examples = []offer{
	{group: "right", title: "MSCCL-IR: an exchange of two ranks", file: exchange},
	{group: "right", title: "MSCCL++: an execution plan with signals", file: signals},
	{group: "right", title: "MSCCL++: an execution plan with packets", file: packets},
	{group: "right", title: "SCCL: an allgather on a ring of three", file: sccl},
	{group: "right", title: "TE-CCL: an allgather on a mesh", file: teccl},
	{group: "right", title: "ForestColl: trees over a switch", file: forest, asked: map[string]string{"topology": "switch:3"}},
	{group: "right", title: "allreduce on a ring of four", file: "testdata/schedules/accept/ring4-allreduce-pipelined.json"},
	{group: "right", title: "allgather on a ring of four, in rounds", file: "testdata/schedules/accept/ring4-allgather-rounds.json"},
	{group: "right", title: "allgather with a late rank", file: "testdata/schedules/accept/line3-allgather-late-blocking.json"},
	{group: "right", title: "allgather through a switch", file: "testdata/schedules/accept/star4-allgather-pipelined.json"},
	{group: "right", title: "allreduce over a switch that adds", file: "testdata/schedules/accept/turn3-allreduce-pipelined.json"},
	{group: "right", title: "broadcast, with an order instead of times", file: "testdata/schedules/accept/line3-broadcast-order.json"},

	{group: "wrong MSCCL-IR", title: "a contribution is missing", file: "cmd/oraccl-site/example/missing-contribution.xml", code: "missing-contribution"},
	{group: "wrong MSCCL-IR", title: "a deadlock", file: "cmd/oraccl-site/example/deadlock.xml", code: "deadlock"},
	{group: "wrong MSCCL-IR", title: "a step waits for one that never signals", file: "cmd/oraccl-site/example/never-signalled.xml", code: "never-signalled"},
	{group: "wrong MSCCL-IR", title: "a race", file: "cmd/oraccl-site/example/race.xml", code: "read-write-race"},
	{group: "wrong MSCCL-IR", title: "nobody receives a message", file: "cmd/oraccl-site/example/unmatched-send.xml", code: "unmatched-send"},
	{group: "wrong MSCCL-IR", title: "a message of another length", file: "cmd/oraccl-site/example/count-mismatch.xml", code: "count-mismatch"},
	{group: "wrong MSCCL-IR", title: "two threadblocks send on one connection", file: "cmd/oraccl-site/example/shared-connection.xml", code: "shared-connection"},
	{group: "wrong MSCCL-IR", title: "beyond the end of a buffer", file: "cmd/oraccl-site/example/out-of-bounds.xml", code: "out-of-bounds"},
	{group: "wrong MSCCL-IR", title: "what nothing has written is read", file: "cmd/oraccl-site/example/uninitialised-read.xml", code: "uninitialised-read"},
	{group: "wrong MSCCL-IR", title: "no runtime loads it", file: "cmd/oraccl-site/example/would-not-load.xml", code: "would-not-load"},
	{group: "wrong MSCCL-IR", title: "a number that is none", file: exchange, code: "malformed", edits: []string{`nchannels="1"`, `nchannels="one"`}},

	{group: "MSCCL-IR with a warning", title: "the last bits of ranks may differ", file: "cmd/oraccl-site/example/rank-order.xml", code: "rank-order"},
	{group: "MSCCL-IR with a warning", title: "the caller's input is written", file: "cmd/oraccl-site/example/clobbered-input.xml", code: "clobbered-input"},
	{group: "MSCCL-IR with a warning", title: "a later step signals", file: "cmd/oraccl-site/example/late-signal.xml", code: "late-signal"},
	{group: "MSCCL-IR with a warning", title: "a threadblock has a connection that another uses", file: exchange, code: "idle-owner", edits: []string{"  </gpu>\n  <gpu", "    <tb id=\"1\" send=\"1\" recv=\"-1\" chan=\"0\">\n    </tb>\n  </gpu>\n  <gpu"}},
	{group: "MSCCL-IR with a warning", title: "more messages than slots are on the way", file: "cmd/oraccl-site/example/too-few-slots.xml", code: "too-few-slots"},
	{group: "MSCCL-IR with a warning", title: "an order through another rank alone", file: "cmd/oraccl-site/example/remote-order.xml", code: "remote-order"},

	{group: "wrong MSCCL++ plans", title: "an operation names a channel that is not there", file: signals, code: "bad-reference", edits: []string{last, `    {"name": "wait", "channel_ids": [3], "channel_type": "memory"}]}]}]}`}},
	{group: "wrong MSCCL++ plans", title: "more threads than the kernel has", file: signals, code: "runtime-limit", edits: []string{head, head + ` "num_threads_per_block": 2048,`}},
	{group: "wrong MSCCL++ plans", title: "one signal more than is waited for", file: signals, code: "signal-balance", edits: []string{first, wait + ",\n" + raises + "]}]},"}},
	{group: "wrong MSCCL++ plans", title: "a barrier for two that one comes to", file: signals, code: "barrier-mismatch", edits: []string{first, wait + ",\n" + `    {"name": "barrier", "barrier_id": 0, "num_threadblocks": 2}]}]},`}},
	{group: "wrong MSCCL++ plans", title: "both wait before they signal", file: signals, code: "deadlock", edits: []string{raises + ",\n" + first, wait + ",\n" + raises + "]}]},", raises + ",\n" + last, wait + ",\n" + raises + "]}]}]}"}},
	{group: "wrong MSCCL++ plans", title: "a put before the other rank has started", file: signals, code: "entry-handshake", edits: []string{relax + await + nop + `    {"name": "put", "src_buff": [{"type": "o", "index": 0,`, `    {"name": "put", "src_buff": [{"type": "o", "index": 0,`, relax + await + nop + `    {"name": "put", "src_buff": [{"type": "o", "index": 1,`, `    {"name": "put", "src_buff": [{"type": "o", "index": 1,`}},
	{group: "wrong MSCCL++ plans", title: "the other rank may have ended", file: signals, code: "exit-handshake", edits: []string{nop + raises + ",\n" + first, `    {"name": "nop"}]}]},`, nop + raises + ",\n" + last, `    {"name": "nop"}]}]}]}`}},
	{group: "wrong MSCCL++ plans", title: "packets, and the protocol has none", file: packets, code: "packet-protocol", edits: []string{`"LL"`, `"Simple"`}},
	{group: "wrong MSCCL++ plans", title: "packets and plain bytes in one place", file: packets, code: "packet-mixed", edits: []string{unpack + "]}]}]}", unpack + ",\n" + nop + `    {"name": "copy", "src_buff": [{"type": "o", "index": 0, "size": 1}], "dst_buff": [{"type": "s", "index": 0, "size": 1}]}]}]}]}`}},
	{group: "wrong MSCCL++ plans", title: "no message is as small as it must be", file: signals, code: "size-limit", edits: []string{"1048576", "16"}},

	{group: "MSCCL++ plans with a warning", title: "a packet is written twice", file: packets, code: "packet-twice", edits: []string{pack, pack + pack}},
	{group: "MSCCL++ plans with a warning", title: "a relaxed signal at the end", file: signals, code: "relaxed-order", edits: []string{raises + ",\n" + first, relax + `    {"name": "rlxwait", "channel_ids": [0], "channel_type": "memory"}]}]},`, raises + ",\n" + last, relax + `    {"name": "rlxwait", "channel_ids": [0], "channel_type": "memory"}]}]}]}`}},
	{group: "MSCCL++ plans with a warning", title: "the next launch overtakes", file: packets, code: "next-launch", edits: []string{`"use_double_scratch_buffer": true`, `"use_double_scratch_buffer": false`}},
	{group: "MSCCL++ plans with a warning", title: "two threadblocks signal on one channel", file: packets, code: "shared-channel", edits: []string{other + "]}]},", other + ",\n" + raises + "]},\n" + `  {"id": 1, "channels": [{"channel_type": "memory", "channel_ids": [0]}], "remote_buffer_refs": [], "ops": [` + "\n" + raises + "]}]},", unpack + "]}]}]}", unpack + ",\n" + wait + ",\n" + last}},
	{group: "MSCCL++ plans with a warning", title: "a flush, for which the kernel does nothing", file: signals, code: "kernel-departs", edits: []string{first, wait + ",\n" + `    {"name": "flush", "channel_ids": [0], "channel_type": "memory"}]}]},`}},

	{group: "wrong schedules", title: "SCCL: what a rank should get is not sent", file: sccl, code: "missing-contribution", edits: []string{"[0, 0, 1], ", ""}},
	{group: "wrong schedules", title: "TE-CCL: a flow leaves before it can", file: teccl, code: "send-undefined", edits: []string{"3->2 in epoch 1", "3->2 in epoch 0"}},
	{group: "wrong schedules", title: "ForestColl: a rank is reached twice", file: forest, code: "write-write-race", asked: map[string]string{"topology": "switch:3"}, edits: []string{`    <send src="(0, 'GPU', 1)" dst="(0, 'GPU', 2)" path="(0, 'GPU', 1),(0, 'NVSwitch', 0),(0, 'GPU', 2)"/>` + "\n  </tree>\n  <tree root=\"(0, 'GPU', 1)\"", `    <send src="(0, 'GPU', 1)" dst="(0, 'GPU', 2)" path="(0, 'GPU', 1),(0, 'NVSwitch', 0),(0, 'GPU', 2)"/>` + "\n" + `    <send src="(0, 'GPU', 0)" dst="(0, 'GPU', 2)" path="(0, 'GPU', 0),(0, 'NVSwitch', 0),(0, 'GPU', 2)"/>` + "\n  </tree>\n  <tree root=\"(0, 'GPU', 1)\""}},
	{group: "wrong schedules", title: "a contribution twice", file: ring + "transfer-0-again-at-the-end.json", code: "double-contribution"},
	{group: "wrong schedules", title: "a contribution that does not belong there", code: "wrong-value"},
	{group: "wrong schedules", title: "a link carries two chunks", file: ring + "transfer-0-swapped-in-time-with-the-last.json", code: "link-overlap"},
	{group: "wrong schedules", title: "a port is overloaded", file: "testdata/schedules/reject/full4-allreduce-exchange-rounds/transfer-0-other-source.json", code: "port-overload"},
	{group: "wrong schedules", title: "faster than the link", file: ring + "transfer-0-shorter.json", code: "too-fast"},
	{group: "wrong schedules", title: "slower than the cost model says", file: ring + "transfer-0-longer.json", code: "too-slow"},
	{group: "wrong schedules", title: "no path to the destination", file: ring + "transfer-0-other-destination-same-link.json", code: "no-such-link"},
	{group: "wrong schedules", title: "what a rank does not hold is sent", file: full + "transfer-0-other-source.json", code: "send-undefined"},
	{group: "wrong schedules", title: "a sum into nothing", file: full + "transfer-0-retargeted.json", code: "reduce-into-undefined"},
	{group: "wrong schedules", title: "before a rank has arrived", file: line + "allgather-late-blocking/transfer-0-other-source.json", code: "before-release"},
	{group: "wrong schedules", title: "two transfers write one slot", file: line + "broadcast-order/transfer-0-other-chunk.json", code: "write-write-race"},
	{group: "wrong schedules", title: "what is on its way is out of date", code: "stale-sum"},
}
