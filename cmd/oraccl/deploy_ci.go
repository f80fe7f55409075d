package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/oraccl/oraccl/model/format/msccl"
	"github.com/oraccl/oraccl/verify"
)

// finding is something to show in a file, for machines that do.
type finding struct {
	file    string
	line    int
	level   string // error, warning or note
	code    verify.Code
	message string
}

// findings returns the violations and conditions of a file, each with its line.
func (d *deployed) findings() []finding {
	var all []finding
	add := func(level string, v verify.Violation) {
		all = append(all, finding{d.file, lineOf(v), level, v.Code, v.Where + ": " + v.Message})
	}
	level := "error"
	if d.outcome == verify.Unknown {
		level = "warning"
	}
	for _, v := range d.bad {
		add(level, v)
	}
	for _, l := range d.loads {
		if l.Grade == msccl.NoRoom && d.grade() == msccl.NoRoom {
			all = append(all, finding{d.file, l.Refusals[0].Line, "warning", verify.WouldNotLoad, fmt.Sprintf("%v has no room for it as it is built: %s", l.Runtime, l.Refusals[0].Message)})
		}
	}
	for _, m := range d.modes {
		for _, v := range m.report.Conditions {
			add("warning", v)
		}
		if s := m.sizes; s.step > 0 && s.safe >= 0 {
			all = append(all, finding{d.file, d.algo.Line, "warning", verify.TooFewSlots,
				fmt.Sprintf("%v: connections need %d slots, %d for large buffers, and %s has %d: safe up to %s", m, s.step, s.chunk, d.algo.Proto, s.slots, binaryBytes(s.safe))})
		}
	}
	return all
}

// lineOf finds the line that a violation names first.
func lineOf(v verify.Violation) int {
	for _, text := range []string{v.Where, v.Message} {
		if i := strings.Index(text, "line "); i >= 0 {
			var n int
			if _, err := fmt.Sscanf(text[i:], "line %d", &n); err == nil {
				return n
			}
		}
	}
	return 1
}

// printGitHub writes annotations as GitHub's runners read them.
func printGitHub(w io.Writer, all []*deployed) {
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	text := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	for _, d := range all {
		for _, f := range d.findings() {
			fmt.Fprintf(w, "::%s file=%s,line=%d,title=%s::%s\n", f.level, property.Replace(f.file), f.line, property.Replace(string(f.code)), text.Replace(f.message))
		}
	}
}

// The parts of SARIF 2.1.0 that are written.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID    string    `json:"id"`
		Short sarifText `json:"shortDescription"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		Rule      string          `json:"ruleId"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		Line int `json:"startLine"`
	}
)

// printSARIF writes a log of one run.
func printSARIF(w io.Writer, all []*deployed) error {
	run := sarifRun{Tool: sarifTool{sarifDriver{Name: "oraccl", Version: version(), Rules: []sarifRule{}}}, Results: []sarifResult{}}
	known := map[verify.Code]bool{}
	for _, d := range all {
		for _, f := range d.findings() {
			if e, ok := verify.Explain(f.code); ok && !known[f.code] {
				known[f.code] = true
				run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{string(f.code), sarifText{e.Sentence}})
			}
			run.Results = append(run.Results, sarifResult{string(f.code), f.level, sarifText{f.message},
				[]sarifLocation{{sarifPhysical{sarifArtifact{strings.ReplaceAll(f.file, "\\", "/")}, sarifRegion{f.line}}}}})
		}
	}
	return printJSON(w, sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}
