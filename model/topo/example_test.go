package topo_test

import (
	"fmt"

	"github.com/oraccl/oraccl/model/topo"
)

func ExampleParse() {
	t, err := topo.Parse("ring:3", topo.Options{Bandwidth: []int64{25e9}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, l := range t.Links {
		fmt.Printf("%d→%d %v %d GB/s\n", l.Src, l.Dst, l.Alpha, l.Bandwidth/1e9)
	}
	_, err = topo.Parse("mesh:0x4", topo.Options{})
	fmt.Println(err)
	// Output:
	// 0→1 500ns 25 GB/s
	// 1→0 500ns 25 GB/s
	// 1→2 500ns 25 GB/s
	// 2→1 500ns 25 GB/s
	// 2→0 500ns 25 GB/s
	// 0→2 500ns 25 GB/s
	// topology "mesh:0x4": dimension 1 is 0, want at least 2
}
