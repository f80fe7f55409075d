// Package published holds tables of published results, <paper>/<table>.csv, each value
// with its source, so that a binary has them wherever it runs.
package published

import "embed"

// Tables are the tables.
//
//go:embed *.yaml */*.csv
var Tables embed.FS
