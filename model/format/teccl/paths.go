package teccl

import (
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"strconv"

	"github.com/oraccl/oraccl/model"
)

var demandText = regexp.MustCompile(`^Demand at (\d+) for chunk (\d+) from (\d+) met by epoch \d+$`)

// paths reads how the parts of chunks go from hop to hop, which only all-to-alls need: a
// list of paths for each demand, each a list of epochs and flows.
func (r *reader) paths(f *File) error {
	if t, err := r.d.Token(); err != nil {
		return err
	} else if t != json.Delim('{') {
		return fmt.Errorf("chunk paths: %v, want an object", t)
	}
	for r.d.More() {
		key, err := r.d.Token()
		if err != nil {
			return err
		}
		var list []json.RawMessage
		if err := r.d.Decode(&list); err != nil {
			return err
		}
		if len(list) == 0 || list[0][0] == '"' {
			continue // the one path of an all-gather, which the flows say too
		}
		m := demandText.FindStringSubmatch(key.(string))
		if m == nil {
			return fmt.Errorf("chunk paths: %.80q, want one such as \"Demand at 1 for chunk 0 from 2 met by epoch 3\"", key)
		}
		for _, raw := range list {
			path, err := parsePath(m, raw)
			if err != nil {
				return err
			}
			for i := range path.Hops {
				path.Hops[i].Line = r.line()
			}
			if f.Paths = append(f.Paths, path); len(f.Paths) > maxFlows {
				return fmt.Errorf("more than %d paths, want at most that", maxFlows)
			}
		}
	}
	_, err := r.d.Token()
	return err
}

func parsePath(demand []string, raw json.RawMessage) (Path, error) {
	var p Path
	for i, into := range []*int{&p.Dest, &p.Chunk, &p.Source} {
		v, err := strconv.Atoi(demand[i+1])
		if err != nil || v > maxNode {
			return p, fmt.Errorf("chunk paths: %s is out of range, want 0 to %d", demand[i+1], maxNode)
		}
		*into = v
	}
	var hops [][]json.RawMessage
	if err := json.Unmarshal(raw, &hops); err != nil {
		return p, fmt.Errorf("chunk paths: %w", err)
	}
	for _, hop := range hops {
		var s string
		if len(hop) != 2 || json.Unmarshal(hop[1], &s) != nil {
			return p, fmt.Errorf("chunk paths: %.80q, want pairs of an epoch and a flow", raw)
		}
		flow, err := parseFlow(fmt.Sprintf("Chunk %d from %d traveled over %s", p.Chunk, p.Source, s))
		if err != nil {
			return p, err
		}
		p.Hops = append(p.Hops, flow)
	}
	return p, nil
}

// volume returns what part of its chunk goes along the path: the least that any hop carries.
func (p *Path) volume() *big.Rat {
	v := big.NewRat(1, 1)
	for _, hop := range p.Hops {
		if hop.Volume != nil && hop.Volume.Cmp(v) < 0 {
			v = hop.Volume
		}
	}
	return v
}

// split cuts the chunks of a problem into the parts that go along the paths, and what is
// left of them, and makes the transfers of these parts.
func (c *importer) split() error {
	p := c.m.Problem
	byChunk := make([][]*Path, len(p.Chunks))
	t := p.Topology
	for i := range c.f.Paths {
		path := &c.f.Paths[i]
		if max(path.Source, path.Dest) >= len(c.number) || !t.IsRank(c.number[path.Source]) || !t.IsRank(c.number[path.Dest]) {
			c.m.Object("malformed", fmt.Sprintf("path of chunk %d from %d to %d", path.Chunk, path.Source, path.Dest), "begins or ends at what is no rank")
			continue
		}
		if chunk, ok := c.chunk(c.number[path.Source], path.Chunk); ok && len(path.Hops) > 0 {
			byChunk[chunk] = append(byChunk[chunk], path)
		}
	}
	var parts []model.Chunk
	for chunk, paths := range byChunk {
		whole := p.Chunks[chunk]
		sum, from := new(big.Rat), int64(0)
		for _, path := range paths {
			sum.Add(sum, path.volume())
			to := upTo(whole.Size, sum)
			if to == from {
				c.m.Undecided = fmt.Sprintf("chunks of %d bytes are split into parts of less than a byte; --size with a multiple of the size would serve", whole.Size)
				return nil
			}
			parts = append(parts, model.Chunk{Offset: whole.Offset + from, Size: to - from})
			from = to
			for _, hop := range path.Hops {
				c.transfer(hop, len(parts)-1, path.volume())
			}
		}
		if from < whole.Size {
			parts = append(parts, model.Chunk{Offset: whole.Offset + from, Size: whole.Size - from})
		}
		if len(parts) > model.MaxChunks {
			return fmt.Errorf("more than %d parts of chunks", model.MaxChunks)
		}
	}
	p.Chunks = parts
	return p.Validate()
}

// upTo returns where a part of size ends that begins at its start; what is off by less
// than one in ten thousand is the whole.
func upTo(size int64, part *big.Rat) int64 {
	if part.Cmp(big.NewRat(9999, 10000)) >= 0 {
		return size
	}
	x := new(big.Rat).Mul(part, big.NewRat(size, 1))
	return new(big.Int).Quo(x.Num(), x.Denom()).Int64()
}
