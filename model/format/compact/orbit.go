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
	buf = binary.AppendUvarint(buf, uint64(len(orbit.Routes)))
	for _, route := range orbit.Routes {
		buf = binary.AppendUvarint(buf, uint64(len(route)))
		for _, l := range route {
			buf = binary.AppendUvarint(buf, uint64(l))
		}
	}
	at := model.Time(0)
	for _, t := range orbit.Turns {
		for _, v := range []int32{t.Route, t.Owner, t.Part} {
			buf = binary.AppendUvarint(buf, uint64(v))
		}
		buf = binary.AppendUvarint(buf, uint64(t.Start-at)<<1|uint64(t.Op))
		at = t.Start
	}
	c.last = orbit.Last(p)
	c.block('O', buf)
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
	if c.orbit != nil && c.expander == nil {
		c.count = uint64(c.orbit.Transfers())
		c.expanded = true
	}
	if _, err := c.Read(make([]model.Transfer, 1)); err != io.EOF {
		return err
	}
	return nil
}

// expand fills batch with the next transfers of the Orbit.
func (c *Reader) expand(batch []model.Transfer) (n int, err error) {
	if c.expander == nil {
		if c.expander, err = c.orbit.Expand(c.sol.Problem); err != nil {
			return 0, c.damaged("its orbit: %v", err)
		}
		c.sol.Schedule.Routes = c.expander.Routes()
	}
	if n = c.expander.Next(batch); n == 0 {
		c.expanded = true
	}
	c.count += uint64(n)
	return n, nil
}

// readOrbit reads a block O.
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
	routes, err := c.number(&b, uint64(len(b)))
	if err != nil {
		return err
	}
	for range routes {
		length, err := c.number(&b, 2)
		if err != nil {
			return err
		}
		route := make([]int, length)
		for i := range route {
			l, err := c.number(&b, model.MaxLinks)
			if err != nil {
				return err
			}
			route[i] = int(l)
		}
		o.Routes = append(o.Routes, route)
	}
	at := model.Time(0)
	for len(b) > 0 {
		var v [4]uint64
		for i := range v {
			limit := uint64(model.MaxLinks)
			if i == 3 {
				limit = 2*uint64(maxEnd-at) + 1
			}
			if v[i], err = c.number(&b, limit); err != nil {
				return err
			}
		}
		at += model.Time(v[3] >> 1)
		o.Turns = append(o.Turns, model.Turn{Route: int32(v[0]), Owner: int32(v[1]), Part: int32(v[2]), Op: model.Op(v[3] & 1), Start: at})
	}
	if err = o.Validate(c.sol.Problem); err != nil {
		return c.damaged("its orbit: %v", err)
	}
	c.orbit, c.last = o, o.Last(c.sol.Problem)
	return nil
}
