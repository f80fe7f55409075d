package lp_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/solve/lp"
)

func TestWriteMPS(t *testing.T) {
	m := &lp.Model{Name: "two words", Sense: lp.Maximise, Offset: lp.Frac(-5, 2)}
	f := m.AddBinary("F[0,0>1,t=2]", lp.Int(3))
	m.AddNonNegative("makespan", lp.Int(-1))
	k := m.AddColumn(lp.Column{Name: "k", Lower: lp.AtInt(-2), Upper: lp.PlusInf, Integer: true})
	free := m.AddColumn(lp.Column{Name: "k", Lower: lp.MinusInf, Upper: lp.PlusInf})
	neg := m.AddColumn(lp.Column{Name: "", Lower: lp.MinusInf, Upper: lp.AtInt(-1), Cost: lp.Frac(1, 3)})
	m.AddColumn(lp.Column{Name: "* über", Upper: lp.AtInt(0)})
	m.AddColumn(lp.Column{Name: "zero", Lower: lp.AtInt(0), Upper: lp.AtInt(-1)})
	up := m.AddColumn(lp.Column{Name: "up", Upper: lp.At(lp.Frac(3, 8))})
	m.AddLE("cap 1", lp.Int(4), lp.T(f, 2), lp.T(k, 1))
	m.AddGE("cap 1", lp.Int(0), lp.T(free, 1))
	m.AddEQ("obj", lp.Int(7), lp.T(neg, 1), lp.T(f, 1))
	m.AddRow("", lp.AtInt(1), lp.AtInt(5), lp.T(up, 1))
	m.AddRow("free", lp.MinusInf, lp.PlusInf, lp.Term{Col: up, Coef: lp.Frac(2, 7)})
	m.AddGE("empty", lp.Int(-3))
	var b strings.Builder
	require.NoError(t, m.WriteMPS(&b))
	require.Equal(t, `NAME two_words
OBJSENSE
 MAX
ROWS
 N obj
 L cap_1
 G cap_1_1
 E obj_2
 G r3
 N free
 G empty
COLUMNS
 MARKER0 'MARKER' 'INTORG'
 F[0,0>1,t=2] obj 3
 F[0,0>1,t=2] cap_1 2
 F[0,0>1,t=2] obj_2 1
 MARKER1 'MARKER' 'INTEND'
 makespan obj -1
 MARKER2 'MARKER' 'INTORG'
 k cap_1 1
 MARKER3 'MARKER' 'INTEND'
 k_3 cap_1_1 1
 c4 obj 0.33333333333333333
 c4 obj_2 1
 ____ber obj 0
 zero obj 0
 up r3 1
 up free 0.28571428571428571
RHS
 rhs obj 2.5
 rhs cap_1 4
 rhs obj_2 7
 rhs r3 1
 rhs empty -3
RANGES
 rng r3 4
BOUNDS
 LO bnd F[0,0>1,t=2] 0
 UP bnd F[0,0>1,t=2] 1
 LO bnd k -2
 PL bnd k
 FR bnd k_3
 MI bnd c4
 UP bnd c4 -1
 FX bnd ____ber 0
 LO bnd zero 0
 UP bnd zero -1
 UP bnd up 0.375
* 2 numbers are rounded to 17 digits
ENDATA
`, b.String())
}

func TestWriteMPSOfNothing(t *testing.T) {
	var b strings.Builder
	require.NoError(t, (&lp.Model{}).WriteMPS(&b))
	require.Equal(t, "NAME model\nROWS\n N obj\nCOLUMNS\nRHS\nBOUNDS\nENDATA\n", b.String())
}

func TestWriteMPSRefusesEmptyRanges(t *testing.T) {
	m := &lp.Model{}
	x := m.AddNonNegative("x", lp.Int(1))
	m.AddRow("r", lp.AtInt(2), lp.AtInt(1), lp.T(x, 1))
	require.ErrorContains(t, m.WriteMPS(io.Discard), `row 0 (r) must be from 2 to 1`)
	m.SetRowBounds(0, lp.PlusInf, lp.PlusInf)
	require.Error(t, m.WriteMPS(io.Discard))
	m.SetRowBounds(0, lp.AtInt(2), lp.PlusInf)
	require.NoError(t, m.WriteMPS(io.Discard))
	m.SetBounds(x, lp.MinusInf, lp.MinusInf)
	require.Error(t, m.WriteMPS(io.Discard))
}

type fullDisk struct{}

var errFull = errors.New("no space left")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestWriteMPSReportsTheWritersError(t *testing.T) {
	m := &lp.Model{}
	require.ErrorIs(t, m.WriteMPS(fullDisk{}), errFull)
}

func TestNamesAreUnique(t *testing.T) {
	m := &lp.Model{}
	long := strings.Repeat("x", 300)
	for _, name := range []string{"a b", "a_b", "a_b_0", "a_b_1", "a b", long, long + "y", "*", "$", ""} {
		m.AddNonNegative(name, lp.Int(1))
	}
	var b strings.Builder
	require.NoError(t, m.WriteMPS(&b))
	names := map[string]bool{}
	_, columns, _ := strings.Cut(b.String(), "COLUMNS\n")
	columns, _, _ = strings.Cut(columns, "RHS\n")
	for line := range strings.Lines(columns) {
		f := strings.Fields(line)
		require.Len(t, f, 3)
		require.False(t, names[f[0]], f[0])
		require.Less(t, len(f[0]), 256)
		names[f[0]] = true
	}
	require.Len(t, names, 10)
}

func million() *lp.Model {
	m := &lp.Model{}
	const n = 100_000
	for range n {
		m.AddBinary("", lp.Int(1))
	}
	var terms [10]lp.Term
	for i := range n {
		for k := range terms {
			terms[k] = lp.T((i*7+k*k*31)%n, int64(k+1))
		}
		m.AddLE("", lp.Int(9), terms[:]...)
	}
	return m
}

func BenchmarkBuild(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if d := million().Dims(); d.Nonzeros != 1_000_000 {
			b.Fatal(d)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	m := million()
	x := make([]lp.Rat, m.NumColumns())
	for j := range x {
		x[j] = lp.Int(int64(j % 2))
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Check(x); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWriteMPS(b *testing.B) {
	m := million()
	b.ReportAllocs()
	for b.Loop() {
		if err := m.WriteMPS(io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}
