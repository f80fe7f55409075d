package msccl

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Write writes the file with every attribute that a runtime needs, one element a line.
// The collective is written as it is named in Coll; reduce-scatter is the only one that no
// name serves all runtimes for, and CollName has each one's.
func (a *Algo) Write(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, `<algo name="%s" proto="%s" nchannels="%d" nchunksperloop="%d" ngpus="%d" coll="%s" inplace="%d" outofplace="%d" minBytes="%d" maxBytes="%d"`,
		text(a.Name), text(a.Proto), a.Channels, a.ChunksPerLoop, a.Ranks, text(a.Coll), bit(a.InPlace), bit(a.OutPlace), a.MinBytes, a.MaxBytes)
	if a.Threads != 0 {
		fmt.Fprintf(b, ` nthreads="%d"`, a.Threads)
	}
	fmt.Fprintln(b, ">")
	for i := range a.GPUs {
		g := &a.GPUs[i]
		fmt.Fprintf(b, "  <gpu id=\"%d\" i_chunks=\"%d\" o_chunks=\"%d\" s_chunks=\"%d\">\n", g.ID, g.Input, g.Output, g.Scratch)
		for j := range g.TBs {
			t := &g.TBs[j]
			fmt.Fprintf(b, "    <tb id=\"%d\" send=\"%d\" recv=\"%d\" chan=\"%d\">\n", t.ID, t.Send, t.Recv, t.Channel)
			for k := range t.Steps {
				s := &t.Steps[k]
				fmt.Fprintf(b, `      <step s="%d" type="%v" srcbuf="%v" srcoff="%d" dstbuf="%v" dstoff="%d" cnt="%d" depid="%d" deps="%d" hasdep="%d"/>`+"\n",
					s.S, s.Type, s.Src, s.SrcOff, s.Dst, s.DstOff, s.Count, s.DepID, s.Deps, s.HasDep)
			}
			fmt.Fprintln(b, "    </tb>")
		}
		fmt.Fprintln(b, "  </gpu>")
	}
	fmt.Fprintln(b, "</algo>")
	return b.Flush()
}

// text takes out of a text what would end a value or a line.
func text(s string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || strings.ContainsRune(`"<>&'`, c) {
			return '_'
		}
		return c
	}, s[:min(len(s), 63)])
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
