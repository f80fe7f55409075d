package manual

func workloadsTopic(methods []Value) Topic {
	return Topic{
		Name:  "workloads",
		Short: "Several operations over groups of ranks: their files, methods and bounds",
		Body: always(func() []Block {
			t := Table{Head: []string{"method", "what it does"}}
			for _, m := range methods {
				t.Rows = append(t.Rows, []string{"`" + m.Name + "`", m.Summary})
			}
			return []Block{
				Para("A workload is several collectives on groups of ranks, computations and barriers, with what each waits for, on one network: once, or in each of periods " +
					"that are repeated for ever. Its file is of the schema oraccl/workload/1 (`oraccl help json workload`), in which the topology may be a name. `solve`, `gap` and `bound` take it in place of a " +
					"topology, or a schedule of one, oraccl/timetable/1, whose workload is then scheduled again; `workload` makes one of a hierarchical allreduce, HiTopKComm, SUMMA2.5-LM or Adasum, `crossover --write-workload` of jobs; `verify` decides about its schedules."),
				t,
				Para("Where collectives have no schedule of their own, each gets the shortest that a quick method finds for it alone, and its cut where the file has no `chunks`. " +
					"Methods in which jobs take turns serve workloads in which every operation belongs to a job, a job is one computation " +
					"and collectives that wait for it, and the next iteration waits for these; one job then has the network at a time."),
				Para("Every schedule is decided by three engines, and every bound checked; the bounds of `oraccl bound` hold for every cut of what has none."),
				Code("oraccl workload hierarchical dgxh100:2 --size 16MiB -o workload.json\noraccl gap workload.json\noraccl solve workload.json -o timetable.json\noraccl verify timetable.json\noraccl bound workload.json -o bound.json\noraccl check bound.json"),
			}
		}),
	}
}
