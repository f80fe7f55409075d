package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/topo"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/classic"
	"github.com/oraccl/oraccl/solve/forest"
	"github.com/oraccl/oraccl/solve/innetwork"
	"github.com/oraccl/oraccl/solve/oneshot"
	"github.com/oraccl/oraccl/solve/quotient"
	"github.com/oraccl/oraccl/solve/tacos"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/cert"
	"github.com/oraccl/oraccl/verify/replay"
	"github.com/oraccl/oraccl/verify/verifytest"
)

// TestSoakCrossing: no allreduce that a method finds on machines of several levels ends before what parts of them yield by
// the lemma (crossing): parts that are machines, unions of those, what is near some ranks, or anything.
func TestSoakCrossing(t *testing.T) {
	methods := append(append(append(classic.All(), oneshot.All()...), innetwork.All()...), forest.New(), quotient.New(), tacos.New())
	often := map[string]float64{"yields": 1, "refused": 0.1, "within a tenth": 0.1, "sums": 0.02}
	soak(t, 60, often, func(c *trial) error {
		p := &model.Problem{Collective: model.Collective{Kind: model.AllReduce}, Cost: []model.CostModel{model.Blocking, model.Pipelined, model.Pipelined}[c.IntN(3)]}
		if c.IntN(2) == 0 {
			p.Topology = drawHosts(c.Rand)
			p.Size = int64(math.Exp(c.Float64()*6)) + int64(p.Topology.Ranks)
		} else {
			names := []string{"dgxh100-nvls:2", "dgxh100:2", "dgxa100:2", "dgxh100:2:rails+sharp", "dragonfly:2x2x2", "fattree:4x2", "torus:3x3", "mesh:3x4", "ring:6", "ring:9", "mi250", "hypercube:3", "rfs:2x2x2", "full:6", "dgx1"}
			tp, err := topo.Parse(names[c.IntN(len(names))], topo.Options{})
			if err != nil {
				return err
			}
			p.Topology, p.Size = tp, int64(math.Exp(6+c.Float64()*10))
		}
		if err := p.Validate(); err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		least := model.MaxTime
		for _, m := range methods {
			o := solve.Options{TimeLimit: 100 * time.Millisecond}
			if c.IntN(2) == 0 {
				o.Chunks = p.Topology.Ranks * (1 + c.IntN(3))
			}
			r, err := m.Solve(ctx, p, o)
			if err != nil || r.Schedule == nil || len(r.Schedule.Transfers) > 20000 {
				continue
			}
			if v := replay.Check(ctx, r.Problem, r.Schedule); v.Outcome != verify.Proved {
				return fmt.Errorf("%s: %v", m.Name(), v.Violations)
			}
			least = min(least, r.Makespan())
		}
		if least == model.MaxTime {
			c.count("none")
			return nil
		}
		for range 12 {
			w := model.Crossing{Parts: drawParts(c.Rand, p.Topology)}
			y, err := cert.Yield(ctx, &model.Certificate{Problem: p, Witness: w})
			if err != nil {
				c.count("refused")
				continue
			}
			c.count("yields")
			if y >= least-least/10 {
				c.count("within a tenth")
			}
			if y > least {
				return fmt.Errorf("%v yields %v, above %v, for %v: %+v", w, y, least, p, p.Topology)
			}
		}
		if _, adds := p.Topology.Reducer(); adds {
			c.count("sums")
		}
		return nil
	})
}

// drawHosts returns machines of one to three ranks that are at a switch, linked to each other by their switches or by some of their ranks; or
// others, whose switches may add.
func drawHosts(r *rand.Rand) *model.Topology {
	if r.IntN(3) == 0 {
		return verifytest.DrawMachines(r)
	}
	hosts, size := 2+r.IntN(3), 1+r.IntN(3)
	t := &model.Topology{Name: "hosts", Ranks: hosts * size}
	a, far := model.Time(r.IntN(3)), model.Time(r.IntN(9))
	fast, slow := int64(1e12), []int64{1e12, 5e11, 25e10}[r.IntN(3)]
	duplex := func(u, v int, alpha model.Time, b int64) {
		t.Links = append(t.Links, model.Link{Src: u, Dst: v, Alpha: alpha, Bandwidth: b}, model.Link{Src: v, Dst: u, Alpha: alpha, Bandwidth: b})
	}
	copies, gateways := r.IntN(2) == 0, r.IntN(2) == 0
	for h := range hosts {
		t.Switches = append(t.Switches, model.Switch{Name: fmt.Sprint("host", h), Copies: copies})
		for i := range size {
			duplex(h*size+i, t.Ranks+h, a, fast)
		}
	}
	t.Switches = append(t.Switches, model.Switch{Name: "core", Copies: r.IntN(3) == 0})
	for h := range hosts {
		if gateways {
			duplex(t.Ranks+h, t.Ranks+hosts, far, slow)
			continue
		}
		for i := range 1 + r.IntN(size) {
			duplex(h*size+i, t.Ranks+hosts, far, slow)
		}
	}
	return t
}

// drawParts returns disjoint sets of nodes that hold every rank: those that some nodes are nearest to, or any.
func drawParts(r *rand.Rand, t *model.Topology) [][]int {
	k := 1 + r.IntN(min(5, t.Ranks))
	parts, of := make([][]int, k), make([]int, t.Nodes())
	for v := range of {
		of[v] = -1
	}
	if r.IntN(4) > 0 {
		queue := r.Perm(t.Ranks)[:k]
		for i, v := range queue {
			of[v] = i
		}
		out := t.Out()
		for ; len(queue) > 0; queue = queue[1:] {
			for _, l := range out[queue[0]] {
				if v := t.Links[l].Dst; of[v] < 0 {
					of[v] = of[queue[0]]
					queue = append(queue, v)
				}
			}
		}
	}
	for v := range of {
		if of[v] < 0 {
			of[v] = r.IntN(k)
		}
		if v < t.Ranks || r.IntN(3) > 0 {
			parts[of[v]] = append(parts[of[v]], v)
		}
	}
	return parts
}
