package model

import "slices"

// maxCount is how often a contribution may occur in a value.
const maxCount = 1 << 20

// validate reports what makes c meaningless on a topology of n ranks.
func (c *Collective) validate(n int) error {
	if err := c.validateUnordered(n); err != nil {
		return err
	}
	if err := validateOrder("pre", c.Pre); err != nil {
		return err
	}
	return validateOrder("post", c.Post)
}

// validateUnordered is validate for conditions in any order.
func (c *Collective) validateUnordered(n int) error {
	if int(c.Kind) >= len(kindNames) {
		return wrong("kind", "%d does not exist", c.Kind)
	}
	if int(c.Op) >= len(operatorNames) {
		return wrong("op", "%d does not exist", c.Op)
	}
	if int(c.DType) >= len(dtypeNames) {
		return wrong("dtype", "%d does not exist", c.DType)
	}
	if c.Group != nil && len(c.Group) == 0 {
		return wrong("group", "empty, want at least one rank")
	}
	seen := make(map[int]bool, len(c.Group))
	for i, r := range c.Group {
		if r < 0 || r >= n {
			return wrong(Element("group", i), "rank %d does not exist, want 0 to %d", r, n-1)
		}
		if seen[r] {
			return wrong(Element("group", i), "rank %d is named twice, want it once", r)
		}
		seen[r] = true
	}
	member := func(r int) bool { return r >= 0 && r < n && (c.Group == nil || seen[r]) }
	if c.Kind.Rooted() && !member(c.Root) {
		return wrong("root", "rank %d is not in the group", c.Root)
	}
	if !c.Kind.Rooted() && c.Root != 0 {
		return wrong("root", "%d, want none for %v", c.Root, c.Kind)
	}
	if c.Kind != Custom {
		switch {
		case c.Chunks != 0:
			return wrong("chunks", "%v has none of its own, custom has", c.Kind)
		case c.Pre != nil:
			return wrong("pre", "%v has its conditions by itself, want them with custom only", c.Kind)
		case c.Post != nil:
			return wrong("post", "%v has its conditions by itself, want them with custom only", c.Kind)
		case c.Ends != nil:
			return wrong("sizes", "%v has equal shards, want sizes with custom only", c.Kind)
		case c.Name != "":
			return wrong("name", "%v has none of its own, custom has", c.Kind)
		}
		return nil
	}
	if err := CheckName(c.Name); err != nil {
		return Within("name", err)
	}
	if k, err := ParseKind(c.Name); err == nil {
		return wrong("name", "%q is that of another collective, want one that is no kind", k)
	}
	if c.Chunks == 0 {
		return wrong("chunks", "missing, want 1 to %d", MaxChunks)
	}
	if c.Chunks < 1 || c.Chunks > MaxChunks {
		return wrong("chunks", "%d, want 1 to %d", c.Chunks, MaxChunks)
	}
	if len(c.Post) == 0 {
		return wrong("post", "empty, want at least one condition")
	}
	if c.Ends != nil && len(c.Ends) != c.Chunks {
		return wrong("sizes", "%d, want one for each of %d chunks", len(c.Ends), c.Chunks)
	}
	for i, n := range c.Sizes() {
		if n < 1 || c.Ends[i] > MaxSize {
			return wrong(Element("sizes", i), "%d bytes, want at least 1, and at most %d in all", n, int64(MaxSize))
		}
	}
	for i, d := range c.Pre {
		if err := c.validateCondition(d, member); err != nil {
			return Within(Element("pre", i), err)
		}
	}
	for i, d := range c.Post {
		if err := c.validateCondition(d, member); err != nil {
			return Within(Element("post", i), err)
		}
	}
	return nil
}

func (c *Collective) validateCondition(d Condition, member func(int) bool) error {
	if !member(d.Rank) {
		return wrong("rank", "rank %d is not in the group", d.Rank)
	}
	if d.Chunk < 0 || d.Chunk >= c.Chunks {
		return wrong("chunk", "chunk %d does not exist, want 0 to %d", d.Chunk, c.Chunks-1)
	}
	if d.Value.Len() == 0 {
		return wrong("contributions", "empty, want at least one")
	}
	last := -1
	for r, count := range d.Value.Terms() {
		if !member(r) {
			return wrong("contributions", "rank %d is not in the group", r)
		}
		if r <= last || count < 1 || count > maxCount {
			return wrong("contributions", "rank %d %d times, want each rank once by ascending rank, with a count of 1 to %d", r, count, maxCount)
		}
		last = r
	}
	return nil
}

// validateOrder checks that a list of conditions is sorted and has none twice.
func validateOrder(name string, list []Condition) error {
	for i := 1; i < len(list); i++ {
		switch order := compareConditions(list[i-1], list[i]); {
		case order == 0:
			return wrong(Element(name, i), "rank %d, chunk %d is named twice, want it once", list[i].Rank, list[i].Chunk)
		case order > 0:
			return wrong(Element(name, i), "rank %d, chunk %d is out of order, want order by chunk, then rank", list[i].Rank, list[i].Chunk)
		}
	}
	return nil
}

// Equal reports whether v and w hold the same contributions equally often.
func (v Value) Equal(w Value) bool {
	if v.Len() != w.Len() {
		return false
	}
	counts := make(map[int]int, v.Len())
	for r, n := range v.Terms() {
		counts[r] = n
	}
	for r, n := range w.Terms() {
		if counts[r] != n {
			return false
		}
	}
	return true
}

// equal compares all but the group and the name.
func (c *Collective) equal(d *Collective) bool {
	same := func(a, b Condition) bool {
		return a.Rank == b.Rank && a.Chunk == b.Chunk && a.Value.Equal(b.Value)
	}
	return c.Kind == d.Kind && c.Root == d.Root && c.Op == d.Op && c.Chunks == d.Chunks &&
		slices.Equal(c.Ends, d.Ends) &&
		slices.EqualFunc(c.Pre, d.Pre, same) && slices.EqualFunc(c.Post, d.Post, same)
}

// Normalise sorts the conditions of c and validates it for n ranks. Conditions in any order
// that state the same collective give the same one.
func (c *Collective) Normalise(n int) error {
	if err := c.validateUnordered(n); err != nil {
		return err
	}
	SortConditions(c.Pre)
	SortConditions(c.Post)
	return c.validate(n)
}
