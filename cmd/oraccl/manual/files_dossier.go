package manual

import (
	"github.com/oraccl/oraccl/verify/dossier"
)

// dossierRow is a dossier.Row with the limits of its fields.
type dossierRow struct {
	Topology       string   `json:"topology"`
	Whole          string   `json:"whole,omitempty"`
	Fail           string   `json:"fail,omitempty"`
	Alpha          string   `json:"alpha,omitempty"`
	Bandwidth      string   `json:"bandwidth,omitempty"`
	Collective     string   `json:"collective"`
	Cost           costName `json:"cost"`
	SizeBytes      int64    `json:"size_bytes" range:"0,"`
	Chunks         int64    `json:"chunks,omitempty" range:"1,"`
	DelayPs        int64    `json:"delay_ps,omitempty" range:"1,"`
	Straggler      int64    `json:"straggler,omitempty" range:"1,"`
	Seed           uint64   `json:"seed"`
	Method         string   `json:"method"`
	TopologyFile   string   `json:"topology_file,omitempty"`
	CollectiveFile string   `json:"collective_file,omitempty"`
	SizesFile      string   `json:"sizes_file,omitempty"`
	WholeFile      string   `json:"whole_file,omitempty"`
	Problem        string   `json:"problem,omitempty"`
	Schedule       string   `json:"schedule,omitempty"`
	Certificate    string   `json:"certificate,omitempty"`
}

type role string

func (role) shape(*generator) *Schema {
	s := &Schema{}
	for _, r := range dossier.Roles() {
		s.Enum = append(s.Enum, string(r))
	}
	return s
}

// dossierClaim is a claim, whose key "claim" decides which others it has.
type dossierClaim struct{}

func (dossierClaim) shape(g *generator) *Schema {
	zero, one := int64(0), int64(1)
	value := func(key string) *Schema {
		s := &Schema{Type: types{"string"}}
		switch key {
		case "chunks", "rounds", "steps":
			s = &Schema{Type: types{"integer"}, Minimum: &one}
		case "makespan_ps", "bound_ps":
			s = &Schema{Type: types{"integer"}, Minimum: &zero}
		case "gap":
			s = &Schema{Type: types{"number"}, Minimum: &zero}
		}
		s.Description = g.keys.describe("claims[]." + key)
		return s
	}
	all := &Schema{}
	for _, c := range dossier.Claims() {
		s := &Schema{Type: types{"object"}, Properties: properties{{"claim", &Schema{Const: string(c.Kind), Description: g.keys.describe("claims[].claim")}}}, Required: []string{"claim"}, Additional: false}
		for _, key := range c.Must {
			s.Properties, s.Required = append(s.Properties, Property{key, value(key)}), append(s.Required, key)
		}
		for _, key := range c.May {
			s.Properties = append(s.Properties, Property{key, value(key)})
		}
		all.OneOf = append(all.OneOf, s)
	}
	return all
}
