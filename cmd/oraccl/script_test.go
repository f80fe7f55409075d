package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == measuring {
		os.Exit(measure(os.Args[2], os.Args[3:]))
	}
	testscript.Main(m, map[string]func(){
		"oraccl": main,
	})
}

// TestScript runs the command line as users do: testdata/script/*.txtar.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			example, err := filepath.Abs("experiment/example")
			e.Setenv("EXAMPLE", example)
			return err
		},
		UpdateScripts: os.Getenv("UPDATE") != "",
	})
}
