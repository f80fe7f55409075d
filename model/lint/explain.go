package lint

var meanings = map[Code]string{
	Unreachable:    "some ranks cannot be reached from others: the set of nodes that no link leaves, or enters, is named",
	Units:          "a latency or bandwidth is 10³, 10⁶, 10⁹, 2¹⁰, 2²⁰ or 2³⁰ times that of three quarters of the links of its class, or such a part of it: a unit was mixed up",
	RowWrap:        "a mesh in which the last rank of a row is linked to the first of the next, as happens where i is linked to i+1 throughout",
	Bits:           "a bandwidth is 8 times that of its class, or an eighth: bits were taken for bytes",
	BinaryUnits:    "a bandwidth is (1024/1000)^k of that of its class, k = 1, 2, 3, or the inverse: GB were taken for GiB",
	Rate:           "a bandwidth under 1 MB/s or over 1 PB/s",
	OneWay:         "nothing leads back from the end of a link to where it begins",
	Asymmetric:     "the links from one node to another are together faster, or have other latencies, than those back",
	RankAsSwitch:   "a rank with three neighbours or more that reach one another through it alone: a switch that was counted among the ranks",
	SwitchAsRank:   "a switch whose links are those of some rank, figure by figure: a rank that was counted among the switches",
	IsolatedSwitch: "a switch that nothing enters or nothing leaves",
	Parallel:       "parallel links of different bandwidths or latencies",
	ZeroLatency:    "some links have no latency, and others have one",
	HugeLatency:    "a latency of more than 10 ms",
	DuplicatePort:  "two ports over the same links",
	IdlePort:       "a port that lets all its links be used at once",
}

// Explain returns what a code means, in a phrase, or "" if there is no such code.
func Explain(c Code) string { return meanings[c] }
