package cert

import (
	"fmt"
	"maps"
	"slices"

	"github.com/oraccl/oraccl/model"
)

// Kind describes a kind of certificate, in a sentence each.
type Kind struct {
	Name   string            // as model.Witness.Kind returns it; set by rule
	Shows  string            // what it is a proof of
	Holds  string            // what the certificate holds as evidence
	Needs  string            // what the bound needs beside that; empty: nothing
	Costs  []model.CostModel // under which it is one; nil: all
	Cut    bool              // only for a problem with chunks
	Lemmas string            // the lemmas of this package that prove it
}

var everyCost = []model.CostModel{model.Blocking, model.Pipelined, model.Rounds, model.LinkRounds}

// rules holds, by kind, what decides which bound a witness yields.
var rules = map[string]func(*job, model.Witness) (model.Time, error){}

// kinds holds the descriptions by kind.
var kinds = map[string]Kind{}

// rule makes a kind of witness known, with the function that computes the bound that one
// yields. Each kind's file calls it.
func rule[W model.Witness](k Kind, yield func(*job, W) (model.Time, error)) Kind {
	var zero W
	k.Name = zero.Kind()
	if k.Costs == nil {
		k.Costs = everyCost
	}
	kinds[k.Name] = k
	rules[k.Name] = func(j *job, w model.Witness) (model.Time, error) {
		if w, ok := w.(W); ok {
			return yield(j, w)
		}
		return 0, fmt.Errorf("witness: of unknown type %T", w)
	}
	return k
}

// Kinds returns all kinds of certificates, sorted by name.
func Kinds() []Kind {
	var all []Kind
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		all = append(all, kinds[name])
	}
	return all
}
