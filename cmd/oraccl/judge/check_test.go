package judge

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/format/msccl"
	"github.com/oraccl/oraccl/verify"
	"github.com/oraccl/oraccl/verify/deploy"
	"github.com/oraccl/oraccl/verify/order"
)

// changedFile is an allreduce of two ranks that send each other a message of two chunks each; with
// changes, "old", "new", "old", "new".
func changedFile(changes []string) string {
	text := `<algo name="exchange" proto="Simple" nchannels="1" nchunksperloop="2" ngpus="2" coll="allreduce" inplace="1" outofplace="0" minBytes="0" maxBytes="0">
<gpu id="0" i_chunks="2" o_chunks="0" s_chunks="0">
<tb id="0" send="1" recv="1" chan="0">
<step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="2" depid="-1" deps="-1" hasdep="0"/>
<step s="1" type="rrc" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="2" depid="-1" deps="-1" hasdep="0"/>
</tb>
</gpu>
<gpu id="1" i_chunks="2" o_chunks="0" s_chunks="0">
<tb id="0" send="0" recv="0" chan="0">
<step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="2" depid="-1" deps="-1" hasdep="0"/>
<step s="1" type="rrc" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="2" depid="-1" deps="-1" hasdep="0"/>
</tb>
</gpu>
</algo>
`
	for i := 0; i+1 < len(changes); i += 2 {
		if !strings.Contains(text, changes[i]) {
			panic(changes[i])
		}
		text = strings.ReplaceAll(text, changes[i], changes[i+1])
	}
	return text
}

func changed(t *testing.T, changes ...string) *model.Deployable {
	a, err := msccl.Read("exchange.xml", strings.NewReader(changedFile(changes)))
	require.NoError(t, err)
	return a.Deployable()
}

// deadlocks sends three chunks of their own each before receiving any, so that large buffers
// need more slots than Simple has.
var deadlocks = []string{`nchunksperloop="2"`, `nchunksperloop="3"`, `i_chunks="2"`, `i_chunks="3"`, `cnt="2"`, `cnt="3"`}

// TestDeployCheck: what changes in a right file, or in what is asked about it, make of its verdict.
func TestDeployCheck(t *testing.T) {
	for _, c := range []struct {
		name    string
		changes []string
		by      deploy.Options
		outcome verify.Outcome
		kind    order.Kind
		proviso string
		first   string // of the findings
	}{
		{"as it is", nil, deploy.Options{}, verify.Proved, order.Pass, "", ""},
		{"named", nil, deploy.Options{Runtime: "azure"}, verify.Proved, order.Pass, "", ""},
		{"wrong", []string{`type="rrc"`, `type="r"`}, deploy.Options{}, verify.Refuted, order.Wrong, "", "error missing-contribution 5"},
		{"stuck", []string{`type="s"`, `type="rrc"`}, deploy.Options{}, verify.Refuted, order.Deadlock, "", "error deadlock 4"},
		{"lost", []string{`type="rrc"`, `type="nop"`}, deploy.Options{}, verify.Refuted, order.Unmatched, "", "error unmatched-send 4"},
		{"beyond", []string{`cnt="2"`, `cnt="3"`}, deploy.Options{}, verify.Refuted, order.OutOfBounds, "", "error out-of-bounds 4"},
		{"no runtime loads it", []string{`proto="Simple"`, `proto="simple"`}, deploy.Options{}, verify.Refuted, deploy.Reject, "", "error would-not-load 1"},
		{"wrong, and no runtime loads it", []string{`proto="Simple"`, `proto="simple"`, `type="rrc"`, `type="r"`}, deploy.Options{}, verify.Refuted, deploy.Reject, "", "error missing-contribution 5"},
		{"wrong, and refused for its chunks", []string{`i_chunks="2"`, `i_chunks="0"`, `type="rrc"`, `type="r"`}, deploy.Options{}, verify.Refuted, order.Wrong, "", "error missing-contribution 5"},
		{"refused for its chunks", []string{`i_chunks="2"`, `i_chunks="0"`}, deploy.Options{}, verify.Refuted, deploy.Reject, "", "error would-not-load 4"},
		{"not by the one that is named", []string{` outofplace="0"`, ``}, deploy.Options{Runtime: "rccl"}, verify.Refuted, deploy.Reject, "", "error would-not-load 1"},
		{"by another one", []string{` outofplace="0"`, ``}, deploy.Options{}, verify.Proved, order.Pass, "", ""},
		{"no room", []string{`chan="0"`, `chan="200"`}, deploy.Options{}, verify.Proved, order.Pass, "; no runtime loads it as it is built", "warning would-not-load 3"},
		{"no room in the one that is named", []string{`chan="0"`, `chan="100"`}, deploy.Options{Runtime: "msccl"}, verify.Refuted, deploy.Reject, "", "error would-not-load 3"},
		{"room in another one", []string{`chan="0"`, `chan="100"`}, deploy.Options{}, verify.Proved, order.Pass, "", ""},
		{"too large", []string{`s_chunks="0"`, `s_chunks="2147483647"`}, deploy.Options{}, verify.Unknown, order.Unknown, "", ""},
		{"another collective", nil, deploy.Options{Collective: "alltoall"}, verify.Refuted, order.Wrong, "", "error wrong-value 5"},
		{"an unknown one", nil, deploy.Options{Collective: "allsum"}, verify.Refuted, deploy.Reject, "", "error would-not-load 1"},
		{"out of place", nil, deploy.Options{Mode: deploy.OutOfPlace}, verify.Refuted, order.Wrong, "", "error missing-contribution 0"},
		{"both", []string{`outofplace="0"`, `outofplace="1"`}, deploy.Options{}, verify.Refuted, order.Wrong, "", "error missing-contribution 0"},
		{"custom", []string{`coll="allreduce"`, `coll="custom"`}, deploy.Options{}, verify.Proved, order.Pass, "", ""},
		{"custom, and not quite", []string{`coll="allreduce"`, `coll="custom"`, "\"s\" srcbuf=\"i\" srcoff=\"0\"", "\"s\" srcbuf=\"i\" srcoff=\"-1\""}, deploy.Options{}, verify.Refuted, order.OutOfBounds, "", "error out-of-bounds 4"},
		{"a small buffer", deadlocks, deploy.Options{Size: 6 << 20}, verify.Proved, order.Pass, "", "warning too-few-slots 1"},
		{"a large one", deadlocks, deploy.Options{Size: 6<<20 + 6}, verify.Refuted, order.Deadlock, "", "error too-few-slots 1"},
		{"any", deadlocks, deploy.Options{}, verify.Proved, order.Pass, ", up to 3 MiB", "warning too-few-slots 1"},
		{"which no runtime picks it for", append([]string{`maxBytes="0"`, `maxBytes="3145728"`}, deadlocks...), deploy.Options{}, verify.Proved, order.Pass, ", up to 3 MiB", "note too-few-slots 1"},
		{"which one picks it for", append([]string{`maxBytes="0"`, `maxBytes="3145729"`}, deadlocks...), deploy.Options{}, verify.Proved, order.Pass, ", up to 3 MiB", "warning too-few-slots 1"},
		{"which the one that is named does not pick it for", append([]string{`maxBytes="0"`, `maxBytes="3145729"`}, deadlocks...), deploy.Options{Runtime: "msccl"}, verify.Proved, order.Pass, ", up to 3 MiB", "note too-few-slots 1"},
		{"which no runtime picks it for at all", append([]string{`inplace="1"`, `inplace="0"`}, deadlocks...), deploy.Options{Mode: deploy.InPlace}, verify.Proved, order.Pass, ", up to 3 MiB", "note too-few-slots 1"},
	} {
		if c.name == "a small buffer" || c.name == "a large one" { // 2 MiB is a transfer: of 2 chunks up to 3 MiB, of 1 above
			c.by.Size /= 2
		}
		r, err := deploy.Check(context.Background(), changed(t, c.changes...), c.by)
		require.NoError(t, err, c.name)
		require.Equal(t, c.outcome, r.Verdict.Outcome, "%s: %+v", c.name, r.Verdict)
		require.Equal(t, c.kind, r.Kind, "%s: %+v", c.name, r.Verdict)
		require.Equal(t, c.proviso, r.Proviso, c.name)
		first := ""
		if len(r.Findings) > 0 {
			f := r.Findings[0]
			first = fmt.Sprintf("%v %s %d", f.Level, f.Code, f.Line)
		}
		require.Equal(t, c.first, first, "%s: %+v", c.name, r.Findings)
		if c.outcome == verify.Unknown {
			require.NotEmpty(t, r.Verdict.Reason, c.name)
		}
		require.Equal(t, c.outcome == verify.Refuted, len(r.Verdict.Violations) > 0, c.name)
	}
}
