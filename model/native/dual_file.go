package native

import "github.com/oraccl/oraccl/model"

// instantPrices reads an array of [what, instant, price].
func (d *decoder) instantPrices() []model.InstantPrice {
	list := []model.InstantPrice{}
	d.array("an array of [what, instant, price]", func(int) {
		at, n := d.pos, 0
		var three [3]int64
		d.array("[what, instant, price]", func(i int) { three[i%3], n = d.whole(0, model.MaxPrice), i+1 })
		if n != len(three) {
			d.failAt(at, "%d numbers, want three, [what, instant, price]", n)
		}
		list = append(list, model.InstantPrice{Of: int(three[0]), Instant: int(three[1]), Price: three[2]})
	})
	return list
}

// dualGroups reads the groups of an LPDual.
func (d *decoder) dualGroups() []model.DualGroup {
	groups := []model.DualGroup{}
	var g model.DualGroup
	var one model.DualDemand
	demand := []field{
		{"source", true, func() { one.Source = int(d.whole(0, model.MaxNodes)) }},
		{"dest", true, func() { one.Dest = int(d.whole(0, model.MaxNodes)) }},
		{"shares", false, func() { one.Shares = d.instantPrices() }},
	}
	group := []field{
		{"chunks", true, func() { g.Chunks = d.ints("an array of chunks", 0, model.MaxChunks) }},
		{"demands", true, func() {
			g.Demands = []model.DualDemand{}
			d.array("an array of demands", func(int) {
				one = model.DualDemand{}
				d.object("a demand", demand)
				g.Demands = append(g.Demands, one)
			})
		}},
	}
	d.array("an array of groups", func(int) {
		g = model.DualGroup{}
		d.object("a group", group)
		groups = append(groups, g)
	})
	return groups
}

func (e *encoder) instantPrices(list []model.InstantPrice) {
	e.raw("[")
	for i, x := range list {
		if i > 0 {
			e.raw(", ")
		}
		e.raw("[")
		e.number(int64(x.Of))
		e.raw(", ")
		e.number(int64(x.Instant))
		e.raw(", ")
		e.number(x.Price)
		e.raw("]")
	}
	e.raw("]")
}

// dual returns the members of an LPDual. Lists of prices that are nil are left out.
func (e *encoder) dual(w *model.LPDual) []member {
	members := []member{{"instants_ps", func() { list(e, w.Instants) }}}
	for _, m := range []struct {
		key    string
		prices []model.InstantPrice
	}{{"links", w.Links}, {"ports", w.Ports}, {"sends", w.Sends}, {"receives", w.Receives}} {
		if m.prices != nil {
			members = append(members, member{m.key, func() { e.instantPrices(m.prices) }})
		}
	}
	return append(members, member{"groups", func() {
		e.lines(len(w.Groups), func(i int) {
			g := &w.Groups[i]
			e.block(member{"chunks", func() { list(e, g.Chunks) }}, member{"demands", func() {
				e.lines(len(g.Demands), func(j int) { e.demand(&g.Demands[j]) })
			}})
		})
	}})
}

func (e *encoder) demand(d *model.DualDemand) {
	e.raw(`{"source": `)
	e.number(int64(d.Source))
	e.raw(`, "dest": `)
	e.number(int64(d.Dest))
	if d.Shares != nil {
		e.raw(`, "shares": `)
		e.instantPrices(d.Shares)
	}
	e.raw("}")
}
