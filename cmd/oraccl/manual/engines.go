package manual

import (
	"github.com/oraccl/oraccl/verify/cert"
	"github.com/oraccl/oraccl/verify/epoch"
	"github.com/oraccl/oraccl/verify/orbit"
	"github.com/oraccl/oraccl/verify/order"
	"github.com/oraccl/oraccl/verify/replay"
	"github.com/oraccl/oraccl/verify/smt"
	"github.com/oraccl/oraccl/verify/stream"
	works "github.com/oraccl/oraccl/verify/workload"
)

// Engines are what gives verdicts: the name, what it decides, how, and when it is asked.
var Engines = [][4]string{
	{replay.Engine, "sections 2 to 6 of the specification, all of it", "executes the schedule exactly", "by `verify`, `gap`, `solve`, `check`, `view`, `convert`"},
	{smt.Engine, "sections 5 and 6: the data. Of workloads section 19. On MSCCL-IR section 12 without its structure", "formulas whose negation Z3 refutes; shares no code with replay", "by `verify`, `gap`, `solve`; on MSCCL-IR with `--engine smt` or `all`"},
	{works.ComposeEngine, "section 19: schedules of workloads, once or for ever", "each collective by itself, by replay; then that all fit together, one period and its wrap-around", "by `verify` on schedules of workloads, and by `crossover`"},
	{works.ExecuteEngine, "section 19 without 19.5 and 19.7, which are about any times", "executes all operations in order of time, on symbols; as many periods as reach into each other", "by `verify` on schedules of workloads, and by `crossover`"},
	{stream.Engine, "sections 2 to 6, for what section 11 serves: copies, and sums along trees", "while the file is read or made, in memory that is known before", "with `--engine stream`, and for compact files and schedules too large for memory"},
	{orbit.Engine, "sections 2 to 6, for schedules that are the same for all ranks (section 14)", "looks at what one rank does", "with `--engine orbit`, and for such files that are too large for memory"},
	{order.Engine, "section 12: MSCCL-IR, whatever order its threadblocks run in", "one execution and vector clocks, which decide for all", "by `verify` on MSCCL-IR"},
	{epoch.Engine, "section 13.2: capacities and arrivals in epochs", "counts", "by `verify` on schedules of TE-CCL, before replay and smt"},
	{"import", "what of another tool's file cannot be put into a schedule at all (section 13)", "reads it", "by `verify` on schedules of other tools"},
	{cert.Engine, "whether a certificate proves its bound (`oraccl help bounds`); of kind lrat by section 10", "exact integers, and `verify/lrat`", "wherever a bound is printed, and by `check`"},
}

func enginesTopic() Topic {
	return Topic{
		Name:  "engines",
		Short: "The engines that give verdicts: what they decide, and how",
		Body: always(func() []Block {
			t := Table{Head: []string{"engine", "decides", "how", "asked"}}
			for _, e := range Engines {
				t.Rows = append(t.Rows, []string{"`" + e[0] + "`", e[1], e[2], e[3]})
			}
			return []Block{
				Para("A verdict is `proved`, `refuted` or `unknown`, and unknown where nothing is established. Of several engines that are asked, one that refutes refutes; one that gives up takes nothing from the proof of another that decides as much: then the verdict reads `proved by replay; smt undecided`, with the reason. Where one refutes what another one proves, or a proved schedule ends before a certified bound, one of two checkers has a defect: every verb then fails with exit status 2, names both, and calls nothing proved or refuted. " +
					"None of them knows anything of the methods, nor the methods of them."),
				t,
				Para("The binary `oraccl-check` has replay and cert, and no solver."),
			}
		}),
	}
}
