package trace

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// TestMutations reads damaged traces of every format: nothing crashes. ORACCL_MUTATIONS sets how many.
func TestMutations(t *testing.T) {
	runs := 5000
	if n, err := strconv.Atoi(os.Getenv("ORACCL_MUTATIONS")); err == nil {
		runs = n
	}
	r := rand.New(rand.NewPCG(1, 2))
	whole := 0
	for i := range runs {
		b := []byte(seeds[i%len(seeds)])
		for range 1 + r.IntN(4) {
			at := r.IntN(len(b))
			switch r.IntN(5) {
			case 0:
				b[at] = byte(r.IntN(256))
			case 1:
				b = b[:at+1]
			case 2:
				to := min(len(b), at+1+r.IntN(40))
				b = append(b[:at:at], b[to:]...)
			case 3:
				from := r.IntN(len(b))
				b = append(b[:at:at], b[from:min(len(b), from+60)]...)
			case 4:
				words := []string{"-1", "9223372036854775807", "1e308", "{", "]", "\"", "null", "0.5", "[]"}
				b = append(append(b[:at:at], words[r.IntN(len(words))]...), b[at:]...)
			}
			if len(b) == 0 {
				b = []byte("[")
			}
		}
		x, err := Read(context.Background(), "x", bytes.NewReader(b), Options{})
		if err == nil {
			whole++
			_, _ = Join([]*Trace{x, x})
		}
	}
	if whole == 0 || whole == runs {
		t.Fatalf("%d of %d damaged files were read", whole, runs)
	}
}
