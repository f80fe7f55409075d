package manual

func plansTopic() Topic {
	return Topic{
		Name:  "plans",
		Short: "Execution plans of MSCCL++: what is verified, drawn, timed and written",
		Body: always(func() []Block {
			return []Block{
				Para("The executor of MSCCL++ trusts its plans. `verify` proves or refutes them as its kernel carries them out, for every order of the threads and for a range of messages (`oraccl help spec`, section 18); `oraccl explain` has the smallest plan of each kind of fault. " +
					"Two releases' formats are read: v1 (up to 0.7) and v2 (0.8 and later)."),
				Table{Head: []string{"verb", "of a plan"}, Rows: [][]string{
					{"`verify plan.json`", "verdict, properties, the messages for which it is proved, which runtimes load it; `--size` asks about one message, `--runtime` about one release, `--topology` for its best times there and the bound"},
					{"`view plan.json -o plan.html`", "a row for each threadblock, arrows from what signals to what waits; of a deadlock the circle of waits is red, of a race the two operations. Right or wrong, one execution is drawn until it ends or gets stuck"},
					{"`gap TOPO --schedule plan.json`", "a row beside those of the methods, at the size that is asked for, if verify proves it for that"},
					{"`convert plan.json --to oraccl`", "a schedule of ours (or MSCCL-IR, GOAL, Chakra), in the largest parts that the plan moves whole. Refused by name: what a switch adds or copies (glres, gstore, gstorepkt), sendrecv, what is received and used twice, and values that a rank keeps apart"},
					{"`convert --to mscclpp`, `solve -o plan.json`", "written if `verify`, which reads what was written, proves it without a warning"},
				}},
				Para("Signals take no time in a schedule that is made of a plan, and threadblocks take turns at nothing but links: its times are the best ones that joins, barriers, signals, packets and port channels allow."),
				Para("Of 72 plans with expected verdicts, 27 of the repository of MSCCL++ and 45 of its plan language, 68 have the verdict that was expected, and all together take 0.4 s and 51 MB. The other four:"),
				Table{Head: []string{"plan", "expected", "here", "why"}, Rows: [][]string{
					{"multi_node_transfer_pkt", "right", "read-write-race", "no nop stands between cpkt, which all threads carry out, and ppkt through a port, which thread 0 hands to the proxy at once: slots may be sent that are not written yet"},
					{"a pipeline of the plan language", "right", "deadlock", "two threadblocks wait on one end of a channel; if the second comes first, it takes the signal of the handshake, and the first waits for a signal of the pipeline, which waits for it"},
					{"allreduce_naivy, 3 GPUs", "launches meet", "right", "a rank writes a slot in the next launch after it has read what the reader of that slot sent later, element by element"},
					{"packets without double scratch", "launches meet", "right", "the same"},
				}},
				Para("What is written, each plan verified at 1 KiB, 64 KiB, 1 MiB and 1 GiB, or up to the size where it ends, in at most 0.9 s and 92 MB:"),
				Table{Head: []string{"schedule", "protocol", "file", "proved for"}, Rows: [][]string{
					{"dgxh100 allreduce, tacos", "Simple", "258 kB", "256 B to 4 GiB"},
					{"", "LL", "184 kB", "256 B to 292 MiB"},
					{"dgxh100 allreduce, oneshot", "Simple", "65 kB", "32 B to 585 MiB"},
					{"", "LL", "51 kB", "32 B to 73 MiB"},
					{"dgxh100 allgather, tacos", "Simple", "59 kB", "128 B to 4 GiB"},
					{"", "LL", "47 kB", "128 B to 585 MiB"},
					{"dgxh100:2 allreduce, hierarchical", "Simple", "849 kB", "512 B to 4 GiB"},
					{"", "LL", "669 kB", "512 B to 255 MiB"},
					{"dgxh100:2 allreduce, oneshot", "Simple", "489 kB", "64 B to 273 MiB"},
					{"dgxh100:2 allgather, tacos --chunks 1", "Simple", "239 kB", "256 B to 4 GiB"},
					{"dgxh100-nvls allreduce, in-network --chunks 16", "Simple", "208 kB", "2 KiB to 4 GiB"},
					{"gb200-nvls:nvl72 allreduce, in-network --chunks 18", "Simple", "1.0 MB", "5 760 B to 4 GiB"},
					{"ring:8 allreduce, ring --chunks 512", "Simple", "153 kB", "64 KiB to 4 GiB"},
				}},
				Para("In the last one 4 096 chunks are pipelines: what is done alike with many chunks is a loop, whose iterations move as many bytes as a chunk of the schedule has. Without, it would exceed the 64 operations of a threadblock. In those in-network the switch adds and copies: each rank reads the sum of its share from all and writes it to all (multimem). A sum that is read and not written to all has no operation in any release, and is refused. With messages of up to 64 KiB ranks exchange packets, unless `--proto` asks for signals; no `nop` is written that could be left out."),
				Para("A message has to divide into the chunks: with 24 chunks no power of two does. Where all powers of two are wanted, choose `--chunks` so that there are a power of two in all. Offsets are of 32 bits, so no plan is proved beyond 4 GiB; scratch counts, too."),
				Para("In the CI of a project in Python, where programs of the plan language write plans:"),
				Code("python my_collective.py > plans/my_collective.json\noraccl verify plans/ --format github --fail-on warning\n"),
			}
		}),
	}
}
