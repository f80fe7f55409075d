package smt

import (
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseStatus(t *testing.T) {
	for text, want := range map[string]Status{"sat\n": Sat, "unsat": Unsat, " unknown\n": Undecided} {
		got, err := ParseStatus(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Contains(t, text, want.String())
	}
	for _, text := range []string{"", "unsat\nunsat", "(error \"x\")\nunsat", "UNSAT", "timeout", "not unsat"} {
		got, err := ParseStatus(text)
		require.Error(t, err, "%q", text)
		require.Equal(t, Undecided, got)
	}
}

func TestParseValues(t *testing.T) {
	large, _ := new(big.Int).SetString("123456789012345678901234567890", 10)
	got, err := ParseValues("((x 0)\n (y (- 123456789012345678901234567890))\n (p true) (q false))\n", []string{"x", "y", "p", "q"})
	require.NoError(t, err)
	require.Equal(t, Assignment{"x": new(big.Int), "y": large.Neg(large), "p": big.NewInt(1), "q": new(big.Int)}, got)
	for _, text := range []string{"", "((x 1)", "((y 1))", "((x 1) (y 2))", "((x 1)) 2", "((x))", "((x 1.5))", "((x -1))", "((x (+ 1)))", "((x (- )))", "((x (- 1))", "x"} {
		_, err := ParseValues(text, []string{"x"})
		require.Error(t, err, "%q", text)
	}
}

func FuzzParseValues(f *testing.F) {
	f.Add("((x (- 5)) (y true))")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseValues(text, []string{"x", "y"})
		require.True(t, err != nil || len(got) == 2)
	})
}
