package manual

import (
	"fmt"

	"github.com/oraccl/oraccl/model"
)

func costTopic() Topic {
	return Topic{
		Name:  "cost",
		Short: "The cost models: duration of a transfer, and occupation of a link",
		Body: func() ([]Block, error) {
			t := Table{Head: []string{"model", "as in", "busy", "what it says"}}
			w := model.Link{Src: 0, Dst: 1, Alpha: model.Microsecond, Bandwidth: 1e9}
			net := &model.Topology{Name: "one link", Ranks: 2, Links: []model.Link{w}}
			const bytes = 1000
			for _, c := range []struct{ name, says, as string }{
				{"blocking", "a link is busy for its latency and for the time that the bytes take", "TACOS"},
				{"pipelined", "a link is busy for the time that the bytes take, and they arrive its latency later; the default", "TE-CCL, ForestColl"},
				{"rounds", "time passes in rounds; in one per rank sends at most once and receives at most once, and a link carries at most one chunk; a round lasts as long as its longest transfer", "StragglAR"},
				{"link-rounds", "time passes in rounds; in each, a link carries at most one chunk, however many links a rank has, and a chunk goes no further than to the next rank (as many steps as rounds, in SCCL's words); the default with --objective rounds", "SCCL"},
			} {
				cost, err := model.ParseCostModel(c.name)
				if err != nil {
					return nil, err
				}
				busy := "the round"
				if !cost.Synchronous() {
					span := net.Busy(cost, []int{0}, bytes, nil)[0]
					busy = fmt.Sprintf("%v to %v", span.From, span.To)
				}
				t.Rows = append(t.Rows, []string{"`" + c.name + "`", c.as, busy, c.says})
			}
			return []Block{
				Para("`--cost` picks one. Under each a transfer of b bytes over a link of latency α and bandwidth B lasts α + ⌈b·10¹²/B⌉ ps. " +
					"Over switches it passes cut-through: all latencies, and the bytes at the rate of the slowest link. A rank on the way relays store-and-forward."),
				t,
				Para(fmt.Sprintf("\"Busy\" is for %d bytes over a link of %v and %s, which take %v under each model. Times are whole picoseconds, rounded up. "+
					"Sections 3 and 4 of the specification define it (`oraccl help spec 4`).", bytes, w.Alpha, rate(w.Bandwidth), net.Duration([]int{0}, bytes))),
			}, nil
		},
	}
}

// units are those that ParseTime and ParseBytes know.
var timeUnits = []string{"ps", "ns", "us", "ms", "s"}
var byteUnits = []string{"B", "KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB", "K", "M", "G", "T"}

func unitsTopic() Topic {
	return Topic{
		Name:  "units",
		Short: "Notation of times, sizes and bandwidths",
		Body: func() ([]Block, error) {
			times := Table{Head: []string{"unit", "picoseconds"}}
			for _, u := range timeUnits {
				v, err := model.ParseTime("1" + u)
				if err != nil {
					return nil, err
				}
				times.Rows = append(times.Rows, []string{"`" + u + "`", fmt.Sprint(int64(v))})
			}
			sizes := Table{Head: []string{"unit", "bytes"}}
			for _, u := range byteUnits {
				v, err := model.ParseBytes("1" + u)
				if err != nil {
					return nil, err
				}
				sizes.Rows = append(sizes.Rows, []string{"`" + u + "`", fmt.Sprint(v)})
			}
			return []Block{
				Para("A time of a network is a decimal number and a unit, as in `500ns`, `1.2ms` or `0`. It must be a whole number of picoseconds and less than 2⁶² of them. `µs` is `us`."),
				times,
				Para("A size is a number and a unit, as in `8MiB` or `1.5GB`, or bytes without one: a whole number of bytes, less than 2⁶². kB is KB; `8M` and `1G` are what nccl-tests means by them."),
				sizes,
				Para("A bandwidth is a size and `/s`, as in `50GiB/s`, of one link in one direction. There are no bits: 400 Gb/s are `50GB/s`, as the error for `400Gb/s` states."),
				Para("`--time-limit` is wall time as Go writes it: `90s`, `1m30s`. Files have whole numbers with the unit in the key: `_ps`, `_bytes`, `_bytes_per_s`. " +
					"Where makespans are printed, us are 10⁻⁶ s with three decimals, and GB/s are 10⁹ bytes per second."),
			}, nil
		},
	}
}
