package export

import (
	"bufio"
	"fmt"
	"io"
	"math/big"

	"github.com/oraccl/oraccl/model"
)

// GOALOptions set what GOAL leaves open.
type GOALOptions struct {
	// Unit is the time that one unit of calc is; 0: a nanosecond.
	Unit model.Time
	// Pairs gives every directed pair of ranks a CPU and a NIC of its own at both ends, the
	// one whose number is the distance of the ranks; else a rank has one of each, and sends
	// and receives one message at a time.
	Pairs bool
}

func (o GOALOptions) unit() model.Time {
	if o.Unit == 0 {
		return model.Nanosecond
	}
	return o.Unit
}

// maxPairs is how many CPUs and NICs GOAL can tell apart.
const maxPairs = 256

// GOAL writes a schedule as GOAL: for each rank its sends, receives and computations, with
// what each requires. Sizes are in bytes, computations in units, rounded up; a reduction
// takes none. Tags are the indices of transfers.
func GOAL(w io.Writer, p *model.Problem, s *model.Schedule, o GOALOptions) error {
	g, err := newProgram(p, s)
	if err != nil {
		return err
	}
	n, unit := p.Topology.Ranks, o.unit()
	if unit < 0 {
		return fmt.Errorf("a unit of %v, want more than zero", unit)
	}
	if o.Pairs && n > maxPairs {
		return fmt.Errorf("%d ranks, want at most %d: GOAL can number no more CPUs and NICs of a rank", n, maxPairs)
	}
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "num_ranks %d\n", n)
	for r := range n {
		fmt.Fprintf(b, "\nrank %d {\n", r)
		nodes := g.rank(r)
		for i, x := range nodes {
			cpu, nic := "", ""
			if t := o.pair(g, nodes, i); t != nil {
				k := (int(t.Dst-t.Src) + n) % n
				cpu, nic = fmt.Sprintf(" cpu %d", k), fmt.Sprintf(" nic %d", k)
			}
			switch x.kind {
			case send:
				t := &s.Transfers[x.transfer]
				fmt.Fprintf(b, "l%d: send %db to %d tag %d%s%s\n", i+1, p.Chunks[t.Chunk].Size, t.Dst, x.transfer, cpu, nic)
			case receive:
				t := &s.Transfers[x.transfer]
				fmt.Fprintf(b, "l%d: recv %db from %d tag %d%s%s\n", i+1, p.Chunks[t.Chunk].Size, t.Src, x.transfer, cpu, nic)
			case arrive:
				fmt.Fprintf(b, "l%d: calc %d%s\n", i+1, (p.ReleaseOf(r)+unit-1)/unit, cpu)
			default:
				fmt.Fprintf(b, "l%d: calc 0%s\n", i+1, cpu)
			}
			for _, d := range x.deps {
				fmt.Fprintf(b, "l%d requires l%d\n", i+1, d+1)
			}
		}
		fmt.Fprintln(b, "}")
	}
	return b.Flush()
}

// pair returns the transfer whose CPU node i of a rank is on, nil for the first CPU. A rank
// that arrives late does so on the CPU of what it sends or receives first.
func (o GOALOptions) pair(g *program, nodes []node, i int) *model.Transfer {
	if !o.Pairs {
		return nil
	}
	for ; i < len(nodes); i++ {
		if nodes[i].kind != arrive {
			return &g.s.Transfers[nodes[i].transfer]
		}
	}
	return nil
}

// LogGOPS are the parameters of LogGOPSim with which a GOAL file of ours takes as long as the
// schedule, in units. A message of b bytes is there L + (b-1)·G after it was sent, and its NIC
// is free again after g + (b-1)·G; so L is the latency and a byte, and g a byte. o and O are 0.
type LogGOPS struct {
	Unit             model.Time
	L, G             int64    // g is G
	Exact            *big.Rat // the time of a byte in units, which G is next to
	S                int64    // messages up to this size are sent without waiting for the receiver
	Latency, PerByte bool     // whether these are the same on all routes in use
	OnePort          bool     // the cost model has ranks send and receive one chunk at a time
}

// NewLogGOPS returns the parameters for a schedule: of its slowest route, where they differ. It
// takes O(transfers) time.
func NewLogGOPS(p *model.Problem, s *model.Schedule, unit model.Time) LogGOPS {
	x := LogGOPS{Unit: unit, Latency: true, PerByte: true, OnePort: p.Cost == model.Rounds}
	var latency model.Time
	var slowest int64
	seen := make([]bool, len(s.Routes))
	for i := range s.Transfers {
		t := &s.Transfers[i]
		x.S = max(x.S, p.Chunks[t.Chunk].Size)
		if seen[t.Route] {
			continue
		}
		seen[t.Route] = true
		var alpha model.Time
		bandwidth := int64(0)
		for _, l := range s.Routes[t.Route] {
			link := p.Topology.Links[l]
			alpha = alpha.Add(link.Alpha)
			if bandwidth == 0 || link.Bandwidth < bandwidth {
				bandwidth = link.Bandwidth
			}
		}
		x.Latency = x.Latency && (slowest == 0 || alpha == latency)
		x.PerByte = x.PerByte && (slowest == 0 || bandwidth == slowest)
		latency = max(latency, alpha)
		if slowest == 0 || bandwidth < slowest {
			slowest = bandwidth
		}
	}
	if slowest == 0 {
		slowest = int64(model.Second)
	}
	x.Exact = new(big.Rat).Quo(big.NewRat(int64(model.Second), slowest), big.NewRat(int64(unit), 1))
	x.G = nearest(x.Exact)
	x.L = nearest(new(big.Rat).Add(big.NewRat(int64(latency), int64(unit)), x.Exact))
	return x
}

// nearest rounds a number that is not negative.
func nearest(v *big.Rat) int64 {
	v = new(big.Rat).Add(v, big.NewRat(1, 2))
	return new(big.Int).Quo(v.Num(), v.Denom()).Int64()
}

// String returns the flags of LogGOPSim.
func (x LogGOPS) String() string {
	return fmt.Sprintf("-L %d -o 0 -g %d -G %d -O 0 -S %d", x.L, x.G, x.G, x.S)
}
