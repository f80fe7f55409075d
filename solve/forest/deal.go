package forest

import (
	"cmp"
	"math"
	"slices"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/arborescence"
)

// dealer deals out chunks among trees.
type dealer struct {
	trees [][]weighed // by block
	total []float64   // by block: the weights of its trees
	load  []float64   // by link, in seconds; of links with a mirror image or, where they are pooled, twins, both carry what one does
	norms []float64   // of these loads
	most  float64     // the largest load of a link once each tree has its share
	power int         // the norm is this power of 2
}

// weighed is a tree with the seconds for which a byte keeps each link busy.
type weighed struct {
	*arborescence.Tree
	uses  []use
	given float64
}

type use struct {
	link    int
	seconds float64
}

// deal gives each chunk a tree of its block: first each tree its share, then, a few times,
// each chunk the tree with which the largest load of a link is the least, or almost: in
// norms that are closer and closer to it. Of all these the one with the least load of the busiest link stays.
func (f *forest) deal(forests [][]arborescence.Tree, p *model.Problem, block []int, chosen []*arborescence.Tree) {
	d := f.dealer(forests, p)
	of := make([]int, len(chosen)) // by chunk: its tree among those of its block
	passed := make([]float64, len(forests))
	for k, c := range p.Chunks {
		b := block[k]
		passed[b] += float64(c.Size)
		lacking := math.Inf(-1)
		for i := range d.trees[b] {
			t := &d.trees[b][i]
			if lacks := passed[b]*float64(t.Weight)/d.total[b] - t.given; lacks > lacking {
				lacking, of[k] = lacks, i
			}
		}
		t := &d.trees[b][of[k]]
		t.given += float64(c.Size)
		d.carry(t, float64(c.Size))
	}
	d.most = slices.Max(d.load)
	least, best := d.most, slices.Clone(of)
	again := rounds
	if d.work(block) > maxDealt {
		again = 0
	}
	for d.power = lowest; d.power < lowest+again; d.power++ {
		for l, x := range d.load {
			d.norms[l] = d.norm(x)
		}
		for k, c := range p.Chunks {
			trees, size, cheapest := d.trees[block[k]], float64(c.Size), math.Inf(1)
			d.carry(&trees[of[k]], -size)
			for i := range trees {
				if more := d.more(&trees[i], size); more < cheapest-1e-9 {
					cheapest, of[k] = more, i
				}
			}
			d.carry(&trees[of[k]], size)
		}
		if now := slices.Max(d.load); now < least {
			least = now
			copy(best, of)
		}
	}
	for k := range chosen {
		chosen[k] = d.trees[block[k]][best[k]].Tree
	}
}

const (
	// rounds is how often chunks are dealt out again, and lowest the power of 2 that the norm is at first.
	rounds = 4
	lowest = 5
	// maxDealt is how many links of trees are looked at in a round at most: about a second's work.
	maxDealt = 1 << 26
)

// work returns how many links of trees a round looks at.
func (d *dealer) work(block []int) (n int) {
	each := make([]int, len(d.trees))
	for b, trees := range d.trees {
		for i := range trees {
			each[b] += len(trees[i].uses)
		}
	}
	for _, b := range block {
		n += each[b]
	}
	return n
}

func (f *forest) dealer(forests [][]arborescence.Tree, p *model.Problem) *dealer {
	n := len(p.Topology.Links)
	d := &dealer{load: make([]float64, n), norms: make([]float64, n), total: make([]float64, len(forests))}
	same := twinsOf(p.Topology)
	for b, trees := range forests {
		list := make([]weighed, len(trees))
		for i := range trees {
			t := &trees[i]
			list[i].Tree = t
			d.total[b] += float64(t.Weight)
			links := t.Links()
			if up := f.paired[t]; up != nil {
				links = slices.Concat(links, up.Links())
			}
			for _, l := range links {
				first, bandwidth := l, float64(p.Topology.Links[l].Bandwidth)
				if f.pooled {
					first, bandwidth = same.of[l][0], same.bandwidth(l)
				}
				if f.mirror != nil {
					back := f.mirror(first)
					if f.pooled {
						back = same.of[back][0]
					}
					first = min(first, back)
				}
				list[i].add(first, 1/bandwidth)
			}
			slices.SortFunc(list[i].uses, func(a, b use) int { return cmp.Compare(a.link, b.link) })
		}
		d.trees = append(d.trees, list)
	}
	return d
}

// add adds that a byte keeps a link busy.
func (t *weighed) add(link int, seconds float64) {
	for i := range t.uses {
		if t.uses[i].link == link {
			t.uses[i].seconds += seconds
			return
		}
	}
	t.uses = append(t.uses, use{link, seconds})
}

// norm returns a power of a load.
func (d *dealer) norm(x float64) float64 {
	x /= d.most
	for range d.power {
		x *= x
	}
	return x
}

// carry has a tree carry more bytes.
func (d *dealer) carry(t *weighed, size float64) {
	for _, u := range t.uses {
		d.load[u.link] += size * u.seconds
		if d.most > 0 {
			d.norms[u.link] = d.norm(d.load[u.link])
		}
	}
}

// more returns by how much the sum of all norms grows if a tree carries more bytes.
func (d *dealer) more(t *weighed, size float64) (sum float64) {
	for _, u := range t.uses {
		sum += d.norm(d.load[u.link]+size*u.seconds) - d.norms[u.link]
	}
	return sum
}
