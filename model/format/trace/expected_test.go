package trace

import (
	"bufio"
	"context"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestExpected: of the recordings under ORACCL_DATA, every value that is known is found, to the digit.
func TestExpected(t *testing.T) {
	dir := filepath.Join(os.Getenv("ORACCL_DATA"), "traces")
	list, err := os.Open(filepath.Join(dir, "expected.tsv"))
	if os.Getenv("ORACCL_DATA") == "" || err != nil {
		t.Skipf("left out: no %s; ORACCL_DATA names the directory", filepath.Join(dir, "expected.tsv"))
	}
	defer list.Close()
	traces := map[string]*Trace{}
	rows := 0
	for s := bufio.NewScanner(list); s.Scan(); {
		f := strings.Split(s.Text(), "\t")
		if f[0] == "file" || len(f) < 3 {
			continue
		}
		rows++
		if traces[f[0]] == nil {
			in, err := os.Open(filepath.Join(dir, f[0]))
			require.NoError(t, err)
			o := Options{}
			if strings.HasPrefix(f[0], "stragglar/") {
				o = Options{First: 1, Last: 23} // as the values are over
			}
			traces[f[0]], err = Read(context.Background(), f[0], in, o)
			require.NoError(t, err)
			in.Close()
		}
		found := traces[f[0]]
		var have []string
		ok := false
		for _, v := range found.Values {
			if v.Name == f[1] {
				have = append(have, v.Value)
				ok = ok || sameValue(f[2], v.Value)
			}
		}
		if words, is := inOtherWords[f[0]+" "+f[1]]; is {
			ok = true
			for name, value := range words {
				ok = ok && found.Get(name) == value
			}
		}
		if !ok {
			t.Errorf("%s: %s is %q, want %q", f[0], f[1], have, f[2])
		}
	}
	require.Greater(t, rows, 250)
}

// inOtherWords has sentences of the list, as the values that say the same.
var inOtherWords = map[string]map[string]string{
	"nccl/excerpts.log incomplete": {"incomplete": "4 of 4 calls lack ranks",
		"calls_of_opCount_0x1607": "AllGather, 3 of 4 ranks, count 2359808 float32, send 9439232 B per rank, result 37756928 B",
		"calls_of_opCount_0x1608": "Broadcast, 2 of 4 ranks, count 1 int64, send 8 B per rank, result 8 B",
		"calls_of_opCount_0x1609": "Broadcast, 1 of 4 ranks, count 3145 uint8, send 3145 B per rank, result 3145 B"},
	"nccl/variants.log bytes of opCount 0x1a..0x1c, communicator of 2": {
		"calls_of_opCount_0x1a": "AllReduce, 2 of 2 ranks, count 64 float32, send 256 B per rank, result 256 B",
		"calls_of_opCount_0x1b": "AllReduce, 2 of 2 ranks, count 237184 float32, send 948736 B per rank, result 948736 B",
		"calls_of_opCount_0x1c": "AllReduce, 2 of 2 ranks, count 386560 float32, send 1546240 B per rank, result 1546240 B"},
}

// sameValue compares texts word by word, numbers by what they are.
func sameValue(want, have string) bool {
	a, b := strings.Fields(strings.ReplaceAll(want, " a rank,", " per rank,")), strings.Fields(have)
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x, ok := new(big.Rat).SetString(a[i])
		y, also := new(big.Rat).SetString(b[i])
		if ok != also || !ok && a[i] != b[i] || ok && x.Cmp(y) != 0 {
			return false
		}
	}
	return true
}
