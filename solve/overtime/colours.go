package overtime

// rounds is how often colours are refined: what is farther away is not seen.
const rounds = 12

// mix scatters the bits of a number (splitmix64, Steele, Lea and Flood, 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func join(list ...uint64) uint64 {
	h := uint64(0)
	for _, x := range list {
		h = mix(h ^ x)
	}
	return h
}

// refine gives nodes colours by those of their neighbours, again and again: nodes that get one
// colour look alike from where they stand. Programs whose columns are merged by such colours have
// the same optimum (Grohe, Kersting, Mladenov and Selman, 2014).
func (n *network) refine(colour []uint64, links []uint64) []uint64 {
	for range rounds {
		next := make([]uint64, len(colour))
		for v, c := range colour {
			next[v] = mix(c)
		}
		for i, a := range n.arcs {
			next[a.src] += join(colour[a.dst], links[i], 1)
			next[a.dst] += join(colour[a.src], links[i], 2)
		}
		colour = next
	}
	return colour
}

// colour finds the sources, one of those that look alike, and classes of arcs. From each node the
// network has colours of its own; nodes are alike if the others look alike from there, and arcs if
// their ends are alike, and look alike from each other.
func (n *network) colour(bytes [][]float64) {
	t := n.p.Topology
	links := n.arcLooks()
	base := make([]uint64, t.Nodes())
	senders := 0
	for v := range base {
		if t.IsRank(v) {
			base[v] = 1
			if bytes[v] != nil {
				base[v] = 2
				senders++
			}
		}
	}
	for _, list := range bytes {
		for v, b := range list {
			base[v] += mix(uint64(b)) // what it gets, of all
		}
	}
	base = n.refine(base, links)
	seen := make([][]uint64, t.Nodes())
	alike := make([]uint64, t.Nodes())
	for v := range seen {
		if senders == 1 && (v >= t.Ranks || bytes[v] == nil) {
			alike[v] = base[v]
			continue
		}
		from := make([]uint64, len(base))
		for u, c := range base {
			from[u] = c
			if v < t.Ranks && bytes[v] != nil {
				from[u] = join(c, uint64(bytes[v][u]))
			}
		}
		from[v] = mix(from[v] ^ 3)
		seen[v] = n.refine(from, links)
		for _, c := range seen[v] {
			alike[v] += mix(c)
		}
	}
	place := map[uint64]int{} // of sources
	for v := range t.Ranks {
		if bytes[v] == nil {
			continue
		}
		i, known := place[alike[v]]
		if !known {
			i = len(n.sources)
			place[alike[v]] = i
			n.sources = append(n.sources, source{rank: v, colour: seen[v], bytes: bytes[v]})
		}
		n.sources[i].alike++
	}
	class := map[uint64]int{}
	for i := range n.arcs {
		a := &n.arcs[i]
		key := join(links[i], alike[a.src], alike[a.dst])
		if senders == 1 {
			root := n.sources[0].colour
			key = join(key, root[a.src], root[a.dst])
		} else {
			key = join(key, seen[a.src][a.dst], seen[a.dst][a.src])
		}
		c, known := class[key]
		if !known {
			c = len(n.classes)
			class[key] = c
			n.classes = append(n.classes, 0)
		}
		a.class = c
		n.classes[c]++
	}
}
