package report

import (
	"encoding/base64"
	"html/template"
	"io"
	"strings"
)

// index is the page: everything in it, nothing fetched.
var index = template.Must(template.New("index").Funcs(template.FuncMap{
	"paragraphs": func(s string) []string { return strings.Split(s, "\n\n") },
	"image": func(g *Figure) template.URL {
		return template.URL("data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(g.SVG))
	},
	"class": func(v Verdict) string { return strings.ReplaceAll(string(v), " ", "-") },
}).Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Published results beside ours</title>
<style>
:root { color-scheme: light dark; --line: #8886; --good: #0a7a4a; --bad: #b3431f; --dim: #777; }
@media (prefers-color-scheme: dark) { :root { --good: #4cc38a; --bad: #ff8b64; --dim: #aaa; } }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 90rem; padding: 0 1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; margin: .6rem 0; }
th, td { border-bottom: 1px solid var(--line); padding: .2rem .6rem; text-align: left; vertical-align: top; }
td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.agrees, .better { color: var(--good); } .worse { color: var(--bad); } .not-comparable, .not-published { color: var(--dim); }
img { background: white; max-width: 100%; }
small { color: var(--dim); }
</style>
</head>
<body>
<h1>Published results beside ours</h1>
<table>
<tr><th>experiment</th><th>what</th><th>rows</th></tr>
{{range .}}<tr><td><a href="#{{.Name}}">{{.Name}}</a></td><td>{{.Title}}</td><td>{{.Summary}}</td></tr>
{{end}}</table>
{{range $r := .}}<h2 id="{{.Name}}">{{.Title}}</h2>
<p>{{.Source}}</p>
{{range paragraphs .About}}<p>{{.}}</p>
{{end}}<p>{{.Summary}}. Files: <a href="{{.Name}}/report.md">report.md</a>, <a href="{{.Name}}/rows.csv">rows.csv</a>{{range .Figures}}, <a href="{{$r.Name}}/{{.Name}}.csv">{{.Name}}.csv</a>{{end}}</p>
{{range .Sections}}<h3>{{.Title}}</h3>
{{range paragraphs .About}}<p>{{.}}</p>
{{end}}{{with .Table}}<p><small>Published values: {{.}}</small></p>
{{end}}<div class="wide"><table>
<tr><th>instance</th><th>quantity</th><th>published</th><th>ours</th><th>bound</th><th>verdict</th><th>difference</th><th>by</th><th>proved by</th><th>source</th></tr>
{{range .Rows}}<tr><td>{{.Instance}}</td><td>{{.Quantity}}</td><td class="n">{{.Published}}</td><td class="n">{{.Ours}}</td><td class="n">{{.Bound}}{{with .Certificate}} <small>{{.}}</small>{{end}}</td><td class="{{class .Verdict}}">{{.Verdict}}</td><td>{{.Why}}</td><td>{{.By}}</td><td>{{.Proved}}</td><td><small>{{.Source}}{{with .Where}}, {{.}}{{end}}{{with .Certainty}} ({{.}}){{end}}</small></td></tr>
{{end}}</table></div>
{{end}}{{range .Figures}}{{if .SVG}}<figure><img alt="{{.Title}}" src="{{image .}}"></figure>
{{end}}{{with .Counts}}<div class="wide"><table>
{{range $i, $row := .}}<tr>{{range $j, $cell := $row}}{{if and $i $j}}<td class="n">{{$cell}}</td>{{else}}<th>{{$cell}}</th>{{end}}{{end}}</tr>
{{end}}</table></div>
{{end}}{{range .Text}}<p>{{.}}</p>
{{end}}{{range .Lists}}<p>{{.Title}}:</p><ul>
{{range .Items}}<li>{{.}}</li>
{{end}}</ul>
{{end}}{{end}}<p><small>{{range .Made.Lines}}{{.}}<br>{{end}}</small></p>
{{end}}</body>
</html>
`))

// WriteIndex writes one page of HTML with all reports, their charts in it.
func WriteIndex(w io.Writer, all []*Report) error { return index.Execute(w, all) }
