package trace

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/oraccl/oraccl/model"
)

// callLine is a collective as NCCL and RCCL log it. What a launcher puts before it is ignored.
var callLine = regexp.MustCompile(`(\S+):([0-9]+):[0-9]+ \[([0-9]+)\] (?:[0-9]+ )?NCCL INFO ([A-Z][A-Za-z]+): opCount ([0-9a-f]+) sendbuff (\S+) recvbuff (\S+)(?: acc \S+)? count ([0-9]+) datatype ([0-9]+) op ([0-9]+) root ([0-9]+) comm (0x[0-9a-f]+)(?: \[nranks=([0-9]+)\])? stream (\S+)`)

var opCount = regexp.MustCompile(`opCount ([0-9a-f]+) `)

// ncclTypes are NCCL's data types, with the bytes of an element.
var ncclTypes = []struct {
	name  string
	bytes int64
}{{"int8", 1}, {"uint8", 1}, {"int32", 4}, {"uint32", 4}, {"int64", 8}, {"uint64", 8}, {"float16", 2}, {"float32", 4}, {"float64", 8}, {"bfloat16", 2}, {"float8e4m3", 1}, {"float8e5m2", 1}}

// ncclCall is a call of a rank.
type ncclCall struct {
	kind, op string
	count    int64
	datatype int
	ranks    int
	root     string
	whose    string // host:process[device]
	comm     string
}

// readNCCL reads the collectives of a log.
func readNCCL(ctx context.Context, t *Trace, r *bufio.Reader) error {
	t.Format = "NCCL log"
	var calls []ncclCall
	other, cut, garbled := 0, 0, 0
	hexadecimal := map[string]bool{}
	err := lines(ctx, r, func(line string) error {
		for _, m := range opCount.FindAllStringSubmatch(line, -1) {
			if strings.ContainsAny(m[1], "abcdef") {
				hexadecimal[m[1]] = true
			}
		}
		switch n := strings.Count(line, "opCount "); {
		case n == 0:
			other++
		case strings.Count(line, "NCCL INFO") != 1:
			garbled++
		default:
			m := callLine.FindStringSubmatch(line)
			if m == nil {
				if strings.Contains(line, "stream ") {
					garbled++
				} else {
					cut++
				}
				return nil
			}
			c := ncclCall{kind: m[4], op: m[5], root: m[11], comm: m[12], whose: fmt.Sprintf("%s:%s[%s]", m[1], m[2], m[3])}
			c.count, _ = strconv.ParseInt(m[8], 10, 64)
			c.datatype, _ = strconv.Atoi(m[9])
			c.ranks, _ = strconv.Atoi(m[13])
			calls = append(calls, c)
		}
		return nil
	})
	if err = t.cutOff(err); err != nil {
		return err
	}
	if len(hexadecimal) > 0 {
		t.value("opCount_is_hexadecimal", "", "%s", strings.Join(slices.Sorted(maps.Keys(hexadecimal)), " "))
	}
	whose := map[string]bool{}
	for _, c := range calls {
		whose[c.whose] = true
		t.Ranks = max(t.Ranks, min(c.ranks, model.MaxNodes))
	}
	if cut+garbled > 0 {
		t.value("call_lines_complete", "", "%d", len(calls))
		t.value("call_lines_cut_off", "", "%d", cut)
		t.value("call_lines_garbled", "", "%d", garbled)
		t.Notes.Add(model.LeftOut, "%d calls that are cut off or mixed with others", cut+garbled)
	} else {
		t.value("call_lines", "", "%d", len(calls))
	}
	t.value("other_lines", "", "%d", other)
	t.value("ranks_seen", "", "%d", len(whose))
	if len(calls) == 0 {
		t.Notes.Add(model.Fact, "no collective in it: NCCL_DEBUG_SUBSYS=COLL logs them; oraccl gap --nccl-log reads the rings and trees")
		return nil
	}
	ncclJob(t, calls)
	return nil
}

// bytes returns the bytes of a collective as the tools count.
func (c *ncclCall) bytes() (send, total int64) {
	size := int64(0)
	if c.datatype >= 0 && c.datatype < len(ncclTypes) {
		size = ncclTypes[c.datatype].bytes
	}
	if c.count > model.MaxSize/8 {
		return 0, 0
	}
	send = c.count * size
	total = send
	if n := int64(max(c.ranks, 1)); (c.kind == "AllGather" || c.kind == "ReduceScatter") && send <= model.MaxSize/n {
		total = n * send
	}
	return send, total
}

// ncclJob matches calls of different ranks by their order within (communicator's size, kind, opCount,
// count): a communicator's name is a pointer of its process.
func ncclJob(t *Trace, calls []ncclCall) {
	type key struct {
		op, kind     string
		count        int64
		ranks, dtype int
	}
	var order []key
	ranksOf := map[key]map[string]bool{}
	first := map[key]*ncclCall{}
	for i := range calls {
		c := &calls[i]
		k := key{c.op, c.kind, c.count, c.ranks, c.datatype}
		if ranksOf[k] == nil {
			ranksOf[k] = map[string]bool{}
			order = append(order, k)
			first[k] = c
		}
		ranksOf[k][c.whose] = true
	}
	missing := 0
	job := Job{Name: base(t.File), Ranks: t.Ranks}
	for _, k := range order {
		c := first[k]
		send, total := c.bytes()
		name := "unknown type"
		if c.datatype >= 0 && c.datatype < len(ncclTypes) {
			name = ncclTypes[c.datatype].name
		}
		there := len(ranksOf[k])
		t.value("calls_of_opCount_0x"+c.op, "", "%s, %d of %d ranks, count %d %s, send %d B per rank, result %d B", c.kind, there, c.ranks, c.count, name, send, total)
		if there < c.ranks && c.kind != "Send" && c.kind != "Recv" {
			missing++
		}
		if total > 0 {
			job.Buckets = append(job.Buckets, Bucket{Kind: strings.ToLower(c.kind), Bytes: total})
		}
	}
	if missing > 0 {
		t.value("incomplete", "", "%d of %d calls lack ranks", missing, len(order))
		t.Notes.Add(model.Fact, "%d of %d collectives are not called by all ranks in the log: it is not of all of them, or it shows where the run hangs", missing, len(order))
		var who []string
		for _, k := range order {
			if there := len(ranksOf[k]); there < k.ranks && k.kind != "Send" && k.kind != "Recv" && len(who) < 8 {
				who = append(who, fmt.Sprintf("%s 0x%s has %d of %d: %s", k.kind, k.op, there, k.ranks, strings.Join(slices.Sorted(maps.Keys(ranksOf[k])), " ")))
			}
		}
		for _, w := range who {
			t.value("lacking", "", "%s", w)
		}
	}
	t.Jobs = append(t.Jobs, job)
}
