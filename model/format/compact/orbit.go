package compact

import (
	"encoding/binary"
	"io"

	"github.com/oraccl/oraccl/model"
)

// WriteOrbit writes a whole file with a schedule that is the same for all ranks, which must
// be valid for p. Some seven bytes state as many transfers as there are ranks.
func WriteOrbit(w io.Writer, p *model.Problem, orbit *model.Orbit, o model.Origin) error {
	verdict := o.Verdict
	o.Verdict = nil
	if err := orbit.Validate(p); err != nil {
		return err
	}
	c, err := NewWriter(w, p, model.FormFor(p.Cost), o, nil)
	if err != nil {
		return err
	}
	buf := binary.AppendUvarint(nil, uint64(len(orbit.Sides)))
	for _, a := range orbit.Sides {
		buf = binary.AppendUvarint(buf, uint64(a))
	}
	at := model.Time(0)
	for _, t := range orbit.Turns {
		for _, v := range []int64{int64(t.Link), int64(t.Owner), int64(t.Part), int64(t.Start - at), int64(t.End - t.Start)} {
			buf = binary.AppendUvarint(buf, uint64(v))
		}
		at = t.Start
		c.last = max(c.last, t.End)
	}
	c.block('G', buf)
	c.count = uint64(orbit.Transfers())
	if o.Partial {
		return c.err
	}
	return c.Close(verdict)
}

// Orbit returns the schedule that is the same for all ranks, where the file states such a
// one, else nil. Read expands it.
func (c *Reader) Orbit() *model.Orbit { return c.orbit }

// End goes to the end of a file with an Orbit without expanding it. It returns nil if the
// file is complete, else what Read would return at its end.
func (c *Reader) End() error {
	if c.expander != nil {
		c.expander, c.count = nil, uint64(c.orbit.Transfers())
	}
	if _, err := c.Read(make([]model.Transfer, 1)); err != io.EOF {
		return err
	}
	return nil
}

// readOrbit reads a block G.
func (c *Reader) readOrbit(b []byte) error {
	o := &model.Orbit{}
	sides, err := c.number(&b, 64)
	if err != nil {
		return err
	}
	for range sides {
		a, err := c.number(&b, model.MaxNodes)
		if err != nil {
			return err
		}
		o.Sides = append(o.Sides, int(a))
	}
	at := model.Time(0)
	for len(b) > 0 {
		var v [5]uint64
		for i := range v {
			limit := uint64(model.MaxLinks)
			if i > 2 {
				limit = uint64(maxEnd - at)
			}
			if v[i], err = c.number(&b, limit); err != nil {
				return err
			}
			if i > 2 {
				at += model.Time(v[i])
			}
		}
		t := model.Turn{Link: int32(v[0]), Owner: int32(v[1]), Part: int32(v[2]), Start: at - model.Time(v[4]), End: at}
		at = t.Start
		o.Turns = append(o.Turns, t)
		c.last = max(c.last, t.End)
	}
	if c.expander, err = o.Expand(c.sol.Problem); err != nil {
		return c.damaged("its orbit: %v", err)
	}
	c.orbit = o
	c.sol.Schedule.Routes = model.EachLink(c.sol.Problem.Topology)
	return nil
}
