package msccl

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
)

func exchange(t *testing.T, changes ...string) *Algo {
	b, err := os.ReadFile("testdata/exchange.xml")
	require.NoError(t, err)
	text := string(b)
	for i := 0; i+1 < len(changes); i += 2 {
		require.Contains(t, text, changes[i])
		text = strings.Replace(text, changes[i], changes[i+1], 1)
	}
	a, err := Read("exchange.xml", strings.NewReader(text))
	require.NoError(t, err)
	return a
}

// TestLoad changes a file that both runtimes load, and says who refuses the change,
// in which line and why. "" is a runtime that loads it.
func TestLoad(t *testing.T) {
	for _, r := range Runtimes() {
		require.Empty(t, exchange(t).Load(r).Refusals)
		require.Empty(t, exchange(t).Load(r).Notes)
		back, err := ParseRuntime(r.String())
		require.NoError(t, err)
		require.Equal(t, r, back)
	}
	_, err := ParseRuntime("nccl")
	require.Error(t, err)
	for _, c := range []struct {
		from, to    string
		line        int
		msccl, rccl string
	}{
		{` outofplace="0"`, ``, 1, "", "no attribute outofplace"},
		{` minBytes="0"`, ``, 1, "", "no attribute minBytes"},
		{` maxBytes="1048576"`, ``, 1, "", "no attribute maxBytes"},
		{` coll="allreduce"`, ``, 1, "no attribute coll", "no attribute coll"},
		{` inplace="1"`, ``, 1, "no attribute inplace", "no attribute inplace"},
		{` depid="-1"`, ``, 4, "no attribute depid", "no attribute depid"},
		{`"allreduce"`, `"custom"`, 1, "", "does not know"},
		{`"allreduce"`, `"reduce_scatter"`, 1, "", "does not know"},
		{`"allreduce"`, `"reducescatter"`, 1, "does not know", ""},
		{`"allreduce"`, `"allgather"`, 2, "do not fit nchunksperloop", ""},
		{`i_chunks="1"`, `i_chunks="2"`, 2, "do not fit nchunksperloop", ""},
		{`i_chunks="1"`, `i_chunks="0"`, 4, "declared with 0 chunks", "declared with 0 chunks"},
		{`s_chunks="0"`, `s_chunks="-1"`, 2, "none below 0", "none below 0"},
		{`"Simple"`, `"simple"`, 1, "want Simple, LL or LL128", "want Simple, LL or LL128"},
		{`ngpus="2"`, `ngpus="0"`, 1, "at least 1", "at least 1"},
		{`ngpus="2"`, `ngpus="32768"`, 1, "at most 32767", "at most 32767"},
		{`ngpus="2"`, `ngpus="1"`, 3, "ranks below 1", "ranks below 1"},
		{`nchunksperloop="1"`, `nchunksperloop="0"`, 1, "at least 1", "at least 1"},
		{`minBytes="0"`, `minBytes="2000000"`, 1, "above maxBytes", ""},
		{`minBytes="0"`, `minBytes="-1"`, 1, "below 0", ""},
		{` minBytes`, ` nthreads="100" minBytes`, 1, "multiple of 32", ""},
		{`gpu id="1"`, `gpu id="0"`, 8, "gpu 0 again", "gpu 0 again"},
		{`tb id="0"`, `tb id="1"`, 2, "none with id 0", "none with id 0"},
		{`tb id="0"`, `tb id="216"`, 3, "id=216, want 0 to 215", "id=216, want 0 to 63"},
		{`send="1"`, `send="0"`, 3, "its own peer", "its own peer"},
		{`send="1"`, `send="-2"`, 3, "want a rank or -1", "want a rank or -1"},
		{`send="1"`, `send="-1"`, 4, "no peer to send to", "no peer to send to"},
		{`recv="1"`, `recv="-1"`, 5, "no peer to receive from", "no peer to receive from"},
		{`chan="0"`, `chan="32"`, 3, "want 0 to 31", ""},
		{`step s="0"`, `step s="64"`, 4, "", "s=64, want 0 to 63"},
		{`step s="0"`, `step s="256"`, 4, "s=256", "s=256"},
		{`cnt="1"`, `cnt="72"`, 4, "cnt=72", "cnt=72"},
		{`hasdep="0"`, `hasdep="2"`, 4, "want 0 or 1", "want 0 or 1"},
		{`depid="-1"`, `depid="128"`, 4, "8 bits", "8 bits"},
		{`srcoff="0"`, `srcoff="1"`, 4, "declared with 1 chunks", "declared with 1 chunks"},
		{`srcoff="0"`, `srcoff="-2"`, 4, "declared with 1 chunks", "declared with 1 chunks"},
		{`type="s" srcbuf="i"`, `type="s" srcbuf="s"`, 4, "in s, which is declared with 0", "in s, which is declared with 0"},
		{`type="s"`, `type="nop"`, 0, "", ""},
		{`type="s" srcbuf="i" srcoff="0" dstbuf="s" dstoff="0" cnt="1" depid="-1" deps="-1"`, `type="nop" srcbuf="i" srcoff="0" dstbuf="s" dstoff="0" cnt="1" depid="0" deps="0"`, 5,
			"after a nop with a dependency", "after a nop with a dependency"},
		{"    <tb", "\t<tb", 3, "a tab between elements", "a tab between elements"},
		{"<algo", "<?xml version=\"1.0\"?>\n<algo", 1, "XML declaration", "XML declaration"},
		{`chan="0"`, `chan='0'`, 3, `end a value at '"'`, `end a value at '"'`},
		{`<tb id`, "<tb\n id", 4, "a line break or tab inside <tb>", "a line break or tab inside <tb>"},
		{`</tb>`, "</tb >", 6, "a blank in </tb >", "a blank in </tb >"},
		{`chan="0"`, `chan ="0"`, 3, "a blank before '='", "a blank before '='"},
		{`chan="0"`, `chan= "0"`, 3, "a blank after '='", "a blank after '='"},
		{`minBytes`, `a="" b="" c="" d="" e="" f="" g="" minBytes`, 1, "17 attributes", "17 attributes"},
	} {
		a := exchange(t, c.from, c.to)
		for r, want := range map[Runtime]string{MSCCL: c.msccl, RCCL: c.rccl} {
			l := a.Load(r)
			if want == "" {
				require.Empty(t, l.Refusals, "%s -> %s: %v", c.from, c.to, r)
				continue
			}
			require.NotEmpty(t, l.Refusals, "%s -> %s: %v", c.from, c.to, r)
			require.Contains(t, l.Refusals[0].Message, want, "%s -> %s: %v", c.from, c.to, r)
			require.Equal(t, c.line, l.Refusals[0].Line, "%s -> %s: %v", c.from, c.to, r)
		}
	}
}

// TestNotes are what runtimes load and read otherwise than it may be meant.
func TestNotes(t *testing.T) {
	for _, c := range []struct {
		from, to string
		line     int
		want     string
	}{
		{`gpu id="1"`, `gpu id="7"`, 8, "is ignored"},
		{`nchannels="1"`, `nchannels="0"`, 3, "connects channels below"},
		{`nchannels="1"`, `nchannels="129"`, 1, "at most"},
		{`    <tb`, `    <copy i_off="0" o_off="0"/><tb`, 3, "copies nothing"},
		{`type="s"`, `type="nop"`, 4, "a nop without a dependency"},
		{`type="rrc" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1"`, `type="nop" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="0"`, 5, "is lost"},
	} {
		for _, r := range Runtimes() {
			if c.want == "at most" && r == MSCCL {
				continue // has a message of its own
			}
			l := exchange(t, c.from, c.to).Load(r)
			require.NotEmpty(t, l.Notes, c.to)
			require.Contains(t, l.Notes[0].Message, c.want)
			require.Equal(t, c.line, l.Notes[0].Line, c.to)
		}
	}
}

func TestSelection(t *testing.T) {
	for _, c := range []struct {
		changes     []string
		msccl, rccl string
	}{
		{nil, "in place, 0 to 1048575 bytes, elements a multiple of 1", "in place, 0 to 1048576 bytes, elements a multiple of 1"},
		{[]string{`maxBytes="1048576"`, `maxBytes="0"`}, "never: no size", "in place, any size, elements a multiple of 1"},
		{[]string{` maxBytes="1048576"`, ``}, "in place, 0 to 134217727 bytes", "in place, any size"},
		{[]string{`minBytes="0" maxBytes="1048576"`, `minBytes="4" maxBytes="0"`}, "in place", "4 bytes and more"},
		{[]string{`inplace="1"`, `inplace="0"`}, "out of place, 0 to", "never: inplace and outofplace"},
		{[]string{`outofplace="0"`, `outofplace="1"`}, "in place, 0", "in place and out of place, 0"},
		{[]string{`allreduce`, `alltoall`}, "never: alltoall", "a multiple of 2"},
	} {
		a := exchange(t, c.changes...)
		if c.changes != nil && strings.Contains(c.changes[0], "minBytes") {
			require.NotEmpty(t, a.Load(MSCCL).Refusals)
		} else {
			require.Contains(t, a.Selection(MSCCL).String(), c.msccl)
		}
		require.Contains(t, a.Selection(RCCL).String(), c.rccl)
	}
}

// TestFold numbers steps as the runtimes do.
func TestFold(t *testing.T) {
	re := func(off int32, dep int32, has int32) Step {
		return Step{Type: Reduce, Src: Scratch, SrcOff: off, Dst: Input, Count: 1, DepID: dep, Deps: dep, HasDep: has}
	}
	nop := func(dep int32) Step { return Step{Type: Nop, DepID: dep, Deps: 3} }
	for _, c := range []struct {
		name  string
		steps []Step
		want  string // the sources of each instruction, its waits, * where it signals
	}{
		{"a chain", []Step{re(0, -1, 0), re(1, -1, 0), re(2, -1, 1)}, "0+1+2*"},
		{"ends where others wait", []Step{re(0, -1, 1), re(1, -1, 0)}, "0* 1"},
		{"ends at a dependency", []Step{re(0, -1, 0), re(1, 5, 0)}, "0 1<5"},
		{"another destination", []Step{re(0, -1, 0), {Type: Reduce, Src: Scratch, SrcOff: 1, Dst: Input, DstOff: 1, DepID: -1, Count: 1}}, "0 1"},
		{"a copy between", []Step{re(0, -1, 0), {Type: Copy, DepID: -1}, re(1, -1, 0)}, "0 0 1"},
		{"nops gather", []Step{nop(1), nop(2), re(0, 3, 0)}, "0<123"},
		{"a nop between", []Step{re(0, -1, 0), nop(1), re(1, -1, 0), re(2, 4, 0)}, "0+1 2<14"},
		{"a lost nop", []Step{re(0, -1, 0), nop(1)}, "0"},
	} {
		var got []string
		f := fold(&TB{Steps: c.steps})
		for _, in := range f.steps {
			s := string(rune('0' + in.Src.Offset))
			for _, m := range in.More {
				s += "+" + string(rune('0'+m))
			}
			for i, w := range in.Waits {
				if i == 0 {
					s += "<"
				}
				s += string(rune('0' + w.Process))
			}
			if in.Signals {
				s += "*"
			}
			got = append(got, s)
		}
		require.Equal(t, c.want, strings.Join(got, " "), c.name)
		require.Empty(t, f.refusals, c.name)
	}
	var long []Step
	for range 20 {
		long = append(long, re(0, -1, 0))
	}
	require.Len(t, fold(&TB{Steps: long}).steps, 2, "at most 16 are joined")
	require.Empty(t, fold(&TB{Steps: long}).refusals)
	require.NotEmpty(t, fold(&TB{Steps: append(long[:1], append([]Step{{Type: Copy, DepID: -1}}, append(long, long...)...)...)}).refusals,
		"the bound counts all re of the threadblock, so that a later chain has none")
}

// TestProgram looks at how buffers alias and what must be in them.
func TestProgram(t *testing.T) {
	buffers := func(coll string, in bool) (*model.Program, [][]model.Buffer) {
		a := exchange(t, `nchunksperloop="1"`, `nchunksperloop="6"`)
		p, err := a.Program(Meaning{Collective: coll, InPlace: in})
		require.NoError(t, err)
		return p, p.Buffers
	}
	p, b := buffers("allreduce", true)
	require.Equal(t, []model.Buffer{{Name: "i", Cells: 6}, {Name: "o", Cells: 6}, {Name: "s", Base: 6}}, b[1])
	require.Equal(t, []int32{2, 8}, p.Wants[p.Post[0][2]])
	require.Nil(t, p.Kept[0])
	p, b = buffers("allreduce", false)
	require.Equal(t, []model.Buffer{{Name: "i", Cells: 6}, {Name: "o", Base: 6, Cells: 6}, {Name: "s", Base: 12}}, b[1])
	require.EqualValues(t, -1, p.Post[0][0])
	require.True(t, p.Kept[0][5])
	require.False(t, p.Kept[0][6])
	p, b = buffers("allgather", true)
	require.Equal(t, model.Buffer{Name: "i", Base: 3, Cells: 3}, b[1][0])
	require.Equal(t, []int32{3, 4, 5}, p.Pre[1][3:])
	require.Equal(t, []int32{4}, p.Wants[p.Post[0][4]])
	p, b = buffers("reduce_scatter", true)
	require.Equal(t, model.Buffer{Name: "o", Base: 3, Cells: 3}, b[1][1])
	require.EqualValues(t, -1, p.Post[1][2])
	require.Equal(t, []int32{3, 9}, p.Wants[p.Post[1][3]])
	p, _ = buffers("alltoall", false)
	require.Equal(t, []int32{9}, p.Wants[p.Post[1][6+3]])
	require.Equal(t, []int32{3}, p.Wants[p.Post[1][6]])
	p, _ = buffers("broadcast", false)
	require.EqualValues(t, -1, p.Pre[1][0])
	require.Equal(t, []int32{5}, p.Wants[p.Post[0][11]])
	p, _ = buffers("alltonext", false)
	require.EqualValues(t, -1, p.Post[0][6])
	require.Equal(t, []int32{5}, p.Wants[p.Post[1][11]])
	p, b = buffers("gather", true)
	require.Equal(t, []int{12, 12}, p.Memory)
	require.Equal(t, model.Buffer{Name: "i", Base: 6, Cells: 6}, b[1][0])
	require.Equal(t, []int32{6}, p.Wants[p.Post[0][6]])
	p, _ = buffers("scatter", false)
	require.Equal(t, []int32{6}, p.Wants[p.Post[1][12]])
	p, _ = buffers("custom", false)
	require.Empty(t, p.Wants)

	a := exchange(t, `nchunksperloop="1"`, `nchunksperloop="3"`) // halves of chunks
	p, err := a.Program(Meaning{Collective: "allgather", InPlace: true})
	require.NoError(t, err)
	require.Equal(t, 2, p.Grain)
	require.Equal(t, model.Buffer{Name: "i", Base: 3, Cells: 3}, p.Buffers[1][0])

	for _, coll := range Collectives() {
		for _, in := range []bool{false, true} {
			p, err := exchange(t).Program(Meaning{Collective: coll, InPlace: in})
			require.NoError(t, err, coll)
			require.Equal(t, coll == "custom", len(p.Wants) == 0, coll)
		}
	}
	_, err = exchange(t).Program(Meaning{Collective: "allsum"})
	require.Error(t, err)
	_, err = exchange(t).Program(Meaning{Root: 2})
	require.Error(t, err)
	_, err = exchange(t, ` coll="allreduce"`, ``).Program(Meaning{})
	require.ErrorContains(t, err, "no attribute coll")
	_, err = exchange(t, ` coll="allreduce"`, ``).Program(Meaning{Collective: "allreduce"})
	require.NoError(t, err)
	_, err = exchange(t, ` cnt="1"`, ``).Program(Meaning{Collective: "allreduce"})
	require.ErrorContains(t, err, "no attribute cnt")
	_, err = exchange(t, `nchunksperloop="1"`, `nchunksperloop="999999999"`).Program(Meaning{})
	require.ErrorIs(t, err, ErrTooLarge)
	_, err = exchange(t, `s_chunks="0"`, `s_chunks="2147483647"`).Program(Meaning{})
	require.ErrorIs(t, err, ErrTooLarge)
}

// TestLoadDeployed tells which deployed files no runtime loads.
func TestLoadDeployed(t *testing.T) {
	for _, file := range sharedData(t) {
		f, err := os.Open(file)
		require.NoError(t, err)
		a, err := Read(file, f)
		f.Close()
		if err != nil {
			continue
		}
		m, r := a.Load(MSCCL), a.Load(RCCL)
		if len(m.Refusals) > 0 && len(r.Refusals) > 0 {
			t.Log(filepath.Base(file), "msccl:", m.Refusals[0], "rccl:", r.Refusals[0])
		}
		p, err := a.Program(Meaning{InPlace: a.InPlace})
		if err != nil {
			require.NotEmpty(t, m.Refusals)
			require.NotEmpty(t, r.Refusals)
			continue
		}
		require.LessOrEqual(t, p.Steps(), steps(a))
	}
}
