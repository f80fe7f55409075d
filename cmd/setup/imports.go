//go:build tools

package main

import (
	_ "github.com/lanl/highs"
	_ "github.com/mitchellh/go-z3"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/schollz/progressbar/v3"
	_ "github.com/spf13/cobra"
	_ "github.com/stretchr/testify/assert"
	_ "github.com/stretchr/testify/require"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/term"
	_ "gonum.org/v1/gonum/graph/flow"
	_ "gonum.org/v1/gonum/graph/multi"
	_ "gonum.org/v1/gonum/graph/path"
	_ "gonum.org/v1/gonum/graph/simple"
	_ "gonum.org/v1/gonum/graph/topo"
	_ "gonum.org/v1/gonum/mat"
	_ "gonum.org/v1/gonum/stat/combin"
	_ "pgregory.net/rapid"
)
