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
			"NVIDIA/nccl-tests 153, 238, 279, 312, 366", "What does busbw mean where switches add up (NVLS, SHARP)? 480 GB/s were measured on links of 450.",
			"oraccl topo lint dgxh100 --collective allreduce --size 8GiB --claim-busbw 480GB/s",
			[]string{"REFUTED", "without in-network reduction", "at most a busbw of 449.991 GB/s"},
			"busbw is algbw times 2(n-1)/n, whatever ran: it is the bandwidth that links would need if no switch added. Without sums in switches no schedule exceeds the 450 GB/s of a link; where one does, switches add up.",
		},
		{
			"the same; NVIDIA/nccl 1374, 1455", "And how far does it go with NVLS?",
			"oraccl topo lint dgxh100-nvls --collective allreduce --size 8GiB --claim-busbw 480GB/s",
			[]string{"NOT REFUTED", "with in-network reduction", "at most a busbw of 699.961 GB/s"},
			"With NVLink SHARP a rank moves (n+1)/n of the buffer instead of 2(n-1)/n: on 8 GPUs 450 GB/s of the links are a busbw of 700. The 480 that are measured are two thirds of it.",
		},
		{
			"NVIDIA/nccl 1242; NVIDIA/nccl-tests 274", "What time should an allreduce take where switches add, and by rings and trees beside it? What factor leads from algbw to busbw for each?",
			"oraccl gap dgxh100-nvls --collective allreduce --size 1GiB --nccl --methods ring",
			[]string{"bound  2685.555 us  by volume", "nccl-nvls    2048      28672     2850.498     376.686   6.1%", "nccl-ring    1024      14336     4176.363     257.100  55.5%", "nccl-tree     512       7168     4176.363     257.100  55.5%"},
			"NVLS takes 2.85 ms and at best 2.69, rings and trees 4.18. nccl-tests multiplies each by 2·7/8: busbw is 659 GB/s for NVLS, with 424 on a link (9/8 of algbw), and 450 for both others, " +
				"whose links are full: trees of 8 channels begin at 8 GPUs, so that no link carries 2 S, which is what NCCL's own factor 2 for trees is for. busbw compares algorithms on one machine, and is what a link carries for rings alone.",
		},
		{
			"NVIDIA/nccl 1244, 1649", "NVLSTree on 2 hosts with 16 GPUs: what does it win over rings and trees?",
			"oraccl gap dgxh100-nvls:2 --collective allreduce --size 1GiB --nccl --methods ring",
			[]string{"bound  2688.180 us  by crossing", "nccl-nvls-tree    1024      30720     2948.364     364.182     9.7%", "nccl-tree     512      15360     4750.284     226.037    76.7%", "nccl-ring    1024      30720     5035.765     213.223    87.3%"},
			"With sums in the switches of each host it takes 2.95 ms, trees 4.75 ms and rings 5.04 ms on the same links: 1.6 and 1.7 times as long. The best schedule that is known takes 2.69 ms " +
				"(`--methods in-network`). On 4 hosts rings are ahead, 5.2 ms to 5.6: of the two trees over 4 hosts one host is inside each, and its NICs carry 2 S where a ring has 1.5 S.",
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
