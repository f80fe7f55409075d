package report

import (
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/oraccl/oraccl/cmd/oraccl/built"
	"github.com/oraccl/oraccl/model/quote"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/deploy"
)

// PrintGitHub writes annotations as GitHub's runners read them.
func PrintGitHub(w io.Writer, all []*deploy.Report, f *Filter) {
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	text := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	for _, d := range all {
		for _, x := range f.Shown(d) {
			fmt.Fprintf(w, "::%v file=%s,line=%d,title=%s::%s\n", x.Level, property.Replace(quote.Line(d.File)), max(1, x.Line), property.Replace(string(x.Code)), text.Replace(quote.Line(unnamed(x))))
		}
	}
}

// unnamed is a finding without its code, for what shows the code itself.
func unnamed(x deploy.Finding) string { return strings.TrimPrefix(x.String(), string(x.Code)+": ") }

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

// PrintSARIF writes a log of one run.
func PrintSARIF(w io.Writer, all []*deploy.Report, flags *Filter) error {
	run := sarifRun{Tool: sarifTool{sarifDriver{Name: "oraccl", Version: built.Version(), Rules: []sarifRule{}}}, Results: []sarifResult{}}
	known := map[verify.Code]bool{}
	for _, d := range all {
		at := sarifArtifact{uriOf(d.File)}
		for _, x := range flags.Shown(d) {
			if e, ok := verify.Explain(x.Code); ok && !known[x.Code] {
				known[x.Code] = true
				run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{string(x.Code), sarifText{e.Sentence}})
			}
			run.Results = append(run.Results, sarifResult{string(x.Code), x.Level.String(), sarifText{unnamed(x)}, []sarifLocation{{sarifPhysical{at, sarifRegion{max(1, x.Line)}}}}})
		}
	}
	return PrintJSON(w, sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}

// uriOf returns the name of a file as a reference of RFC 3986: a relative one stays relative.
func uriOf(file string) string {
	path := filepath.ToSlash(file)
	if filepath.IsAbs(file) {
		return (&url.URL{Scheme: "file", Path: path}).String()
	}
	return (&url.URL{Path: path}).String()
}
