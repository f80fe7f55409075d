//go:build !js

package main

import (
	_ "embed" // JSON.md
	"slices"
	"strings"

	"github.com/oraccl/oraccl/cmd/oraccl/convert"
	"github.com/oraccl/oraccl/cmd/oraccl/manual"
	"github.com/oraccl/oraccl/cmd/oraccl/report"
	"github.com/oraccl/oraccl/cmd/oraccl/turns"
	"github.com/oraccl/oraccl/model/table"
	"github.com/oraccl/oraccl/solve"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/oraccl/oraccl/solve/certify/workloads"
	"github.com/oraccl/oraccl/verify/dossier"
)

// documented returns the methods in the order of the tables: those first that start from
// the best of the others.
func documented() []manual.Method {
	methods := certify.Methods()
	first := slices.IndexFunc(methods, func(m solve.Solver) bool { return strings.HasPrefix(m.Name(), "sat") })
	ordered := methods[first:]
	slices.Reverse(ordered)
	ordered = slices.Concat(ordered, methods[:first])
	var all []manual.Method
	for _, m := range ordered {
		d := manual.Method{Name: m.Name(), About: m.About()}
		switch {
		case d.About.ComparisonOnly:
			d.When = "named only"
		case d.About.LateOnly:
			d.When = "named only where no rank is late"
		case d.About.SwitchesOnly:
			d.When = "where switches add or copy"
		}
		all = append(all, d)
	}
	return all
}

// forWorkloads returns the methods for workloads.
func forWorkloads() (all []manual.Value) {
	for _, m := range workloads.Methods() {
		all = append(all, manual.Value{Name: m.Name, Summary: m.Does})
	}
	return all
}

// jsonKeys states what the keys of all JSON documents mean.
//
//go:embed JSON.md
var jsonKeys string

// inManual is what the manual has to know of the program.
func inManual() manual.Program {
	return manual.Program{
		Methods: documented(), Workloads: forWorkloads(), BusFactor: report.BusFactor, Keys: jsonKeys, Experiments: aboutExperiments(),
		Documents: []manual.Document{
			{Schema: "oraccl/gap/2", Types: []any{report.GapJSON{}}},
			{Schema: "oraccl/bound/1", Types: []any{report.BoundsJSON{}}},
			{Schema: "oraccl/throughput/1", Types: []any{report.ThroughputJSON{}}},
			{Schema: "oraccl/pareto/1", Types: []any{report.ParetoJSON{}}},
			{Schema: "oraccl/lint/1", Types: []any{report.LintJSON{}}},
			{Schema: "oraccl/verify/1", Types: []any{report.VerifyJSON{}, report.DeployJSON{}}},
			{Schema: "oraccl/trace/1", Types: []any{report.TraceJSON{}}},
			{Schema: turns.JobsSchema, Types: []any{turns.JobsFile{}}},
			{Schema: turns.Schema, Types: []any{turns.Report{}}},
			{Schema: turns.ComparisonSchema, Types: []any{turns.ComparisonJSON{}}},
			{Schema: "oraccl/check/2", Types: []any{dossier.JSON{}}},
			{Schema: table.Schema, Types: []any{table.JSON{}}},
		},
		Shared: map[string]any{"oraccl/gap/2 bound": report.BoundJSON{}, "oraccl/pareto/1 points[]": report.PointJSON{}, "oraccl/verify/1 violations[]": report.ViolationJSON{}, "oraccl/check/2 files[]": dossier.FileJSON{}},
	}
}

// manualTopics returns the topics of the manual.
func manualTopics() []manual.Topic { return manual.Topics(inManual()) }

// completed is what the arguments and flags may be that shells complete.
func completed() map[string][]manual.Value {
	var methods []string
	for _, m := range certify.Methods() {
		methods = append(methods, m.Name())
	}
	var targets []manual.Value
	for _, t := range convert.Targets() {
		targets = append(targets, manual.Value{Name: t.Name, Summary: t.Summary})
	}
	return manual.Values(methods, targets)
}
