package manual

// Question is one that users of NCCL asked in public, with a command that answers it.
type Question struct {
	Thread  string // NVIDIA/nccl 1576
	Asked   string
	Command string
	Prints  []string // what it prints, in part
	Answer  string
}

// Questions returns them. A test runs the commands, and holds what they print.
func Questions() []Question {
	return []Question{
		{
			"NVIDIA/nccl 1576, 812; NVIDIA/nccl-tests 196", "Why does the busbw of an allreduce on two hosts, by trees, exceed the bandwidth of the NICs?",
			"oraccl gap dgxa100:2 --collective allreduce --size 1GiB --nccl --methods ring",
			[]string{"nccl-tree     512      15360     6293.556     170.610      1.6%", "nccl-ring    1024      30720    10068.930     106.639     62.5%", "bound  6195.511 us  by volume"},
			"The tree's algbw of 170.6 GB/s is a busbw (2·15/16 of it) of 319.9, and the 8 NICs of a host have 200. On two hosts a tree sends each byte over the network once and back, " +
				"a ring 15/8 times, so that its busbw, 199.9, is what the NICs have. The bound says that NVLink is what limits the best schedule, at a busbw of 325.",
		},
		{
			"NVIDIA/nccl 1357; NVIDIA/nccl-tests 232", "Two hosts with several NICs: why does an allreduce of one GPU on each have the bandwidth of one NIC?",
			"oraccl gap dgxh100:2 --collective allreduce --size 1GiB --group 0,8 --methods direct",
			[]string{"direct       2          4    21480.036      49.988  699.2%", "bound  2687.567 us  by cut"},
			"A GPU sends over the NIC beside it: 50 GB/s. The bound, 399.5 GB/s, is for schedules in which the other GPUs of the host relay to their NICs (NCCL does so for PXN, if they take part). " +
				"`oraccl topo fit` of the table in the thread finds 45.7 GB/s (42.4 to 49.6), that of one NIC.",
		},
		{
			"NVIDIA/nccl 1712", "The busbw on one host with 8 A100 ends under 100 GB/s: is that the hardware?",
			"oraccl topo lint dgxa100 --collective allreduce --size 1GiB --claim-busbw 240GB/s",
			[]string{"NOT REFUTED", "at most a busbw of 299.966 GB/s"},
			"No: the links of the host allow 300 GB/s, so that 240 is no wonder. 100 GB/s is what 4 NICs of 25 GB/s have: look whether NVLink is used at all.",
		},
		{
			"NVIDIA/nccl-tests 153, 238, 274, 312; NVIDIA/nccl 1242", "What does busbw mean where switches add up (NVLS, SHARP)? 480 GB/s were measured on links of 450.",
			"oraccl topo lint dgxh100 --collective allreduce --size 8GiB --claim-busbw 480GB/s",
			[]string{"REFUTED", "without in-network reduction", "at most a busbw of 449.991 GB/s"},
			"busbw is algbw times 2(n-1)/n, whatever ran. Without sums in switches no schedule exceeds the 450 GB/s of a link; where one does, switches add up.",
		},
		{
			"the same", "And how far does it go with NVLS?",
			"oraccl topo lint dgxh100-nvls --collective allreduce --size 8GiB --claim-busbw 480GB/s",
			[]string{"NOT REFUTED", "with in-network reduction", "at most a busbw of 699.977 GB/s"},
			"With NVLink SHARP a rank moves (n+1)/n of the buffer instead of 2(n-1)/n: on 8 GPUs 450 GB/s of the links are a busbw of 700. The 480 that are measured are two thirds of it.",
		},
		{
			"NVIDIA/nccl 1244, 1649", "NVLSTree on 2 hosts with 16 GPUs: what can it win over rings and trees?",
			"oraccl gap dgxh100-nvls:2 --collective allreduce --size 1G --chunks 64 --methods in-network",
			[]string{"in-network    1024      30720     2740.979     391.737  2.0%"},
			"With sums in the switches of each host an allreduce takes 2.74 ms. NCCL's trees take 4.75 ms and its rings 5.04 ms on the same links " +
				"(`oraccl gap dgxh100:2 --collective allreduce --size 1GiB --nccl`): 1.7 and 1.8 times as long.",
		},
	}
}

func questionsTopic() Topic {
	return Topic{
		Name:  "questions",
		Short: "What users of NCCL asked, with the command that answers it",
		Body: always(func() []Block {
			blocks := []Block{Para("Each of these was asked in public, in an issue of NVIDIA/nccl or NVIDIA/nccl-tests. The numbers are of the model: links at their rated bandwidth, NCCL's protocol Simple, " +
				"rings and trees as its search would choose them. `--nccl-log FILE` takes those of a log in their place, `topo fit` the bandwidths that were measured, and `--scale 0.85` an efficiency.")}
			for _, q := range Questions() {
				blocks = append(blocks, Para(q.Thread+": "+q.Asked), Code("$ "+q.Command), Para(q.Answer))
			}
			return blocks
		}),
	}
}
