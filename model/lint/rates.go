package lint

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// key returns the figures of links, in an order of their own.
func key(links []model.Link) string {
	slices.SortFunc(links, func(a, b model.Link) int {
		return cmp.Or(cmp.Compare(a.Bandwidth, b.Bandwidth), cmp.Compare(a.Alpha, b.Alpha))
	})
	s := ""
	for _, k := range links {
		s += fmt.Sprintf("%d/%d ", k.Bandwidth, int64(k.Alpha))
	}
	return s
}

// ratio is a quotient by which a figure can be off, and what that means.
type ratio struct {
	num, den int64
	code     Code
	means    string
}

var ratios = []ratio{
	{1000, 1, Units, "a thousand"}, {1 << 10, 1, Units, "1024"},
	{1e6, 1, Units, "a million"}, {1 << 20, 1, Units, "2^20"},
	{1e9, 1, Units, "10^9"}, {1 << 30, 1, Units, "2^30"},
	{8, 1, Bits, "8: bits and bytes?"},
	{1024, 1000, BinaryUnits, "1.024: kB and KiB?"},
	{1 << 20, 1e6, BinaryUnits, "1.0486: MB and MiB?"},
	{1 << 30, 1e9, BinaryUnits, "1.0737: GB and GiB?"},
}

// is reports whether a/b is the ratio, exactly except for the rounding of a and b to whole
// numbers: |a·den - b·num| < den + num.
func (r ratio) is(a, b int64) bool {
	if b <= 0 || a <= b {
		return false
	}
	x := new(big.Int).Mul(big.NewInt(a), big.NewInt(r.den))
	y := new(big.Int).Mul(big.NewInt(b), big.NewInt(r.num))
	return x.Sub(x, y).CmpAbs(big.NewInt(r.den+r.num)) < 0
}

// units compares the figures of each link with what three quarters of its class have.
func (l *linter) units() {
	classes := map[[2]bool][]int{}
	var odd []int
	for i, k := range l.t.Links {
		c := [2]bool{l.t.IsRank(k.Src), l.t.IsRank(k.Dst)}
		classes[c] = append(classes[c], i)
		if k.Bandwidth < 1e6 || k.Bandwidth > 1e15 {
			odd = append(odd, i)
		}
	}
	if odd != nil {
		b := l.t.Links[odd[0]].Bandwidth
		l.add(Finding{Code: Rate, Links: odd}, "%s: a bandwidth of %d bytes per second, want 10^6 to 10^15", links(odd), b)
	}
	for _, c := range [][2]bool{{true, true}, {true, false}, {false, true}, {false, false}} {
		l.off(classes[c], "bandwidth", "bytes per second", false, func(k model.Link) int64 { return k.Bandwidth })
		l.off(classes[c], "latency", "ps", true, func(k model.Link) int64 { return int64(k.Alpha) })
	}
}

// off reports links of a class whose figure is off by a unit. Latencies are compared
// for thousands only: other ratios occur.
func (l *linter) off(class []int, what, unit string, latency bool, figure func(model.Link) int64) {
	count := map[int64]int{}
	usual := int64(0)
	for _, i := range class {
		f := figure(l.t.Links[i])
		count[f]++
		if count[f] > count[usual] || count[f] == count[usual] && f < usual {
			usual = f
		}
	}
	if len(class) < 4 || 4*count[usual] < 3*len(class) {
		return
	}
	for _, r := range ratios {
		if latency && r.num != 1000 && r.num != 1e6 && r.num != 1e9 || latency && r.den != 1 {
			continue
		}
		groups := map[int64][]int{}
		for _, i := range class {
			if f := figure(l.t.Links[i]); f != usual && (r.is(f, usual) || r.is(usual, f)) {
				groups[f] = append(groups[f], i)
			}
		}
		for f, alike := range groups {
			l.add(Finding{Code: r.code, Links: alike}, "%s: a %s of %d %s, off that of %d of the %d links of their kind, %d, by a factor of %s",
				links(alike), what, f, unit, count[usual], len(class), usual, r.means)
		}
	}
}

// latencies reports links without latency among links with, and absurd latencies.
func (l *linter) latencies() {
	var zero, huge []int
	for i, k := range l.t.Links {
		if k.Alpha == 0 {
			zero = append(zero, i)
		}
		if k.Alpha > 10*model.Millisecond {
			huge = append(huge, i)
		}
	}
	if zero != nil && len(zero) < len(l.t.Links) {
		l.add(Finding{Code: ZeroLatency, Links: zero}, "%s %s no latency, the other %d have one", links(zero), number(zero, "has", "have"), len(l.t.Links)-len(zero))
	}
	if huge != nil {
		l.add(Finding{Code: HugeLatency, Links: huge}, "%s: a latency of %v, want at most 10 ms", links(huge), l.t.Links[huge[0]].Alpha)
	}
}

// pairs compares the links of each pair of nodes, both ways.
func (l *linter) pairs() {
	between := map[[2]int][]int{}
	for i, k := range l.t.Links {
		between[[2]int{k.Src, k.Dst}] = append(between[[2]int{k.Src, k.Dst}], i)
	}
	figures := func(links []int) string {
		var all []model.Link
		for _, i := range links {
			all = append(all, l.t.Links[i])
		}
		return key(all)
	}
	for i, k := range l.t.Links {
		there, back := between[[2]int{k.Src, k.Dst}], between[[2]int{k.Dst, k.Src}]
		if i != there[0] {
			continue
		}
		from, to := l.t.NodeName(k.Src), l.t.NodeName(k.Dst)
		for _, j := range there {
			if o := l.t.Links[j]; o.Bandwidth != k.Bandwidth || o.Alpha != k.Alpha {
				l.add(Finding{Code: Parallel, Nodes: []int{k.Src, k.Dst}, Links: slices.Clone(there)}, "links %s from %s to %s differ in bandwidth or latency", list(there), from, to)
				break
			}
		}
		switch {
		case back == nil:
			l.add(Finding{Code: OneWay, Nodes: []int{k.Src, k.Dst}, Links: slices.Clone(there)}, "%s %s from %s to %s, and none leads back", links(there), number(there, "leads", "lead"), from, to)
		case i < back[0] && figures(there) != figures(back):
			l.add(Finding{Code: Asymmetric, Nodes: []int{k.Src, k.Dst}, Links: slices.Concat(there, back)}, "%s from %s to %s %s not like what leads back, %s", links(there), from, to, number(there, "is", "are"), links(back))
		}
	}
}

// ports reports ports that say the same twice, or nothing.
func (l *linter) ports() {
	first := map[string]int{}
	for i, p := range l.t.Ports {
		links := slices.Sorted(slices.Values(p.Links))
		k := fmt.Sprint(links)
		if j, twice := first[k]; twice {
			l.add(Finding{Code: DuplicatePort, Ports: []int{j, i}, Links: links}, "ports %d and %d are over the same links, %s: only the smaller capacity counts", j, i, list(links))
			continue
		}
		first[k] = i
		if p.Capacity >= len(p.Links) {
			l.add(Finding{Code: IdlePort, Ports: []int{i}, Links: links}, "port %d lets %d transfers use its %d links at once: it limits nothing", i, p.Capacity, len(p.Links))
		}
	}
}
