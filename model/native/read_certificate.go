package native

import (
	"math"

	"github.com/oraccl/oraccl/model"
)

func (d *decoder) certificate() *model.Certificate {
	c := &model.Certificate{}
	d.object("a certificate", d.withSchema(CertificateSchema, []field{
		{"problem", true, func() { c.Problem = d.problem("") }},
		{"bound_ps", true, func() { c.Bound = model.Time(d.whole(0, math.MaxInt64)) }},
		{"witness", true, func() { c.Witness = d.witness() }},
	}))
	return c
}
