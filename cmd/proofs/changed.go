package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/files"
	"github.com/oraccl/oraccl/model/native"
	"github.com/oraccl/oraccl/verify/cert"
)

// changedEach is how many changed copies of each certificate there are.
const changedEach = 6

// changed writes copies of the certificates of directories, each with a few things changed at
// random: of the network, the collective, the cut, the cost model or the witness. Of a copy
// that is a certificate for ours there are two, one with the greatest bound that ours accept
// and one with a picosecond more, so that rules that differ by anything give other answers.
func changed(ctx context.Context, into string, from ...string) error {
	if err := os.MkdirAll(into, 0o755); err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(19, 0))
	for _, dir := range from {
		names, err := files.Glob(dir, "*.json")
		if err != nil {
			return err
		}
		if err := besides(ctx, into, dir); err != nil {
			return err
		}
		for _, name := range names {
			text, err := files.ReadRegular(ctx, name)
			if err != nil {
				return err
			}
			for i := range changedEach {
				base := fmt.Sprintf("%s-%d", filepath.Base(name[:len(name)-len(".json")]), i)
				if err := changedCopy(ctx, r, text, filepath.Join(into, base)); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
		}
	}
	return nil
}

// besides copies the proofs of certificates of a directory.
func besides(ctx context.Context, into, dir string) error {
	names, err := files.Glob(dir, "*.lrat")
	if err != nil {
		return err
	}
	for _, name := range names {
		text, err := files.ReadRegular(ctx, name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(into, filepath.Base(name)), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// changedCopy writes a changed copy of a certificate, or two, to files whose names begin with base.
func changedCopy(ctx context.Context, r *rand.Rand, text []byte, base string) error {
	d := object{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&d); err != nil {
		return err
	}
	for range 1 + r.IntN(3) {
		changes[r.IntN(len(changes))](r, d)
	}
	write := func(name string) error {
		b, err := json.Marshal(d)
		if err != nil {
			return err
		}
		return os.WriteFile(name, b, 0o644)
	}
	b, err := json.Marshal(d)
	if err != nil {
		return err
	}
	c, err := native.ReadCertificate(base, bytes.NewReader(b))
	if err != nil {
		return write(base + "-invalid.json")
	}
	yield, err := cert.Yield(ctx, c)
	if err != nil || yield == model.MaxTime { // it shows nothing, or that there is no schedule
		return write(base + "-any.json")
	}
	for i, name := range []string{"-yield.json", "-more.json"} {
		d["bound_ps"] = int64(yield) + int64(i)
		if err := write(base + name); err != nil {
			return err
		}
	}
	return nil
}

type object = map[string]any

// some returns an object of a list in o, or an empty one.
func some(r *rand.Rand, o object, list string) object {
	if l, _ := o[list].([]any); len(l) > 0 {
		return l[r.IntN(len(l))].(object)
	}
	return object{}
}

func one[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// scale multiplies a number by a factor, in hundredths.
func scale(o object, key string, percent int64) {
	if n, ok := o[key].(json.Number); ok {
		if v, err := n.Int64(); err == nil && v < 1<<50 {
			o[key] = json.Number(strconv.FormatInt(v*percent/100, 10))
		}
	}
}

func part(d object, key string) object { return d["problem"].(object)[key].(object) }

// changes are what may be changed. What a document says of it need not make sense afterwards.
var changes = []func(r *rand.Rand, d object){
	func(r *rand.Rand, d object) {
		d["problem"].(object)["cost"] = one(r, "blocking", "pipelined", "rounds", "link-rounds")
	},
	func(r *rand.Rand, d object) {
		scale(some(r, part(d, "topology"), "links"), one(r, "alpha_ps", "bandwidth_bytes_per_s"), one[int64](r, 0, 50, 99, 150, 300))
	},
	func(r *rand.Rand, d object) {
		key, percent := one(r, "alpha_ps", "bandwidth_bytes_per_s"), one[int64](r, 0, 50, 99, 150, 300)
		links, _ := part(d, "topology")["links"].([]any)
		for _, l := range links {
			scale(l.(object), key, percent)
		}
	},
	func(r *rand.Rand, d object) {
		links, _ := part(d, "topology")["links"].([]any)
		if len(links) > 1 { // ports name links by their places
			i := r.IntN(len(links))
			links[i] = maps.Clone(links[r.IntN(len(links))].(object))
		}
	},
	func(r *rand.Rand, d object) {
		scale(d["problem"].(object), "size_bytes", one[int64](r, 50, 99, 101, 200))
	},
	func(r *rand.Rand, d object) {
		if r.IntN(3) == 0 {
			delete(d["problem"].(object), "chunks")
			return
		}
		scale(d["problem"].(object), "chunks", one[int64](r, 50, 200, 300))
	},
	func(r *rand.Rand, d object) {
		c := part(d, "collective")
		if c["kind"] == "custom" {
			return
		}
		c["kind"] = one(r, "allgather", "allreduce", "alltoall", "reducescatter", "broadcast", "reduce", "scatter", "gather")
		delete(c, "root")
		if slices.Contains([]any{"broadcast", "reduce", "scatter", "gather"}, c["kind"]) {
			c["root"] = r.IntN(3)
		}
	},
	func(r *rand.Rand, d object) {
		s := some(r, part(d, "topology"), "switches")
		switch r.IntN(3) {
		case 0:
			s["copies"] = s["copies"] != true
		case 1:
			delete(s, "reduces")
		case 2:
			s["reduces"] = one(r, "read", "turn")
		}
	},
	func(r *rand.Rand, d object) {
		n, _ := part(d, "topology")["ranks"].(json.Number).Int64()
		times := make([]int64, n)
		for i := range times {
			times[i] = r.Int64N(3) * 100_000
		}
		d["problem"].(object)["release_ps"] = times
	},
	func(r *rand.Rand, d object) {
		w := d["witness"].(object)
		n, _ := part(d, "topology")["ranks"].(json.Number).Int64()
		for _, key := range []string{"rank", "source", "dest"} {
			if w[key] != nil {
				w[key] = r.Int64N(n)
			}
		}
		if list, ok := w["nodes"].([]any); ok && len(list) > 1 {
			w["nodes"] = list[:len(list)-1]
		}
	},
}
