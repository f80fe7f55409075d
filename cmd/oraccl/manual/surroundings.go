package manual

import "strings"

// Format is a kind of file.
type Format struct {
	Name   string
	Files  string // what they are called, or how they are known
	Reads  string // who reads them; empty: nobody
	Writes string // who writes them; empty: nobody
	Says   string
}

// Formats returns every format that is read or written.
func Formats() []Format {
	return []Format{
		{"oraccl", "JSON with a key `schema`", "every verb that wants a topology, collective, problem, schedule or certificate",
			"`topo show --json`, `solve -o`, `bound -o`, `throughput -o`, `gap --proofs`, `sweep --proofs`, `repro --proofs`, `convert --to oraccl`", "our own; `oraccl help json` has every key. Readers are strict"},
		{"compact", "`.oraccl`", "`verify`, `view`, `convert`", "`solve -o FILE.oraccl`, `convert --to oraccl -o FILE.oraccl`",
			"a schedule in a few bytes a transfer, or as what one rank does where all do the same; one that was interrupted is known as partial. `model/format/compact` has the layout"},
		{"MSCCL-IR", "XML with a root `algo`", "`verify`, `view`, `convert`", "`solve -o FILE.xml`, `convert --to msccl`",
			"what microsoft/msccl, RCCL and Azure's executor (msccl-executor-nccl) load. Read as their parsers read it, not by a schema"},
		{"MSCCL++ plan", "JSON with a key `gpus`", "`verify`, `view`, `convert`, `gap --schedule`", "`solve -o plan.json`, `convert --to mscclpp`", "execution plans of MSCCL++, both formats; `verify --runtime` names the version of the executor"},
		{"SCCL", "JSON with steps", "`verify`, `view`, `convert`", "", "schedules of SCCL and msccl-tools, judged by --topology and --collective or by what they name"},
		{"TE-CCL", "JSON with flows; inputs have a topology", "schedules: `verify`, `view`, `convert`, `gap --schedule`; inputs: wherever a topology is wanted", "", "judged in epochs, by section 13.2 of the specification; in a chassis the switches have the first numbers, and of an all-to-all chunk k of a rank is for the k-th rank"},
		{"ForestColl", "XML with trees", "`verify`, `view`, `convert`", "", "spanning trees; an order without times"},
		{"SyCCL", "JSON with epochs in ns", "`verify`, `view`, `convert`, `gap --schedule`", "", "results of SyCCL; routes are those of the topology"},
		{"NCCL dump", "XML with a root `system`", "wherever a topology is wanted", "", "what NCCL and RCCL write to NCCL_TOPO_DUMP_FILE; latencies are not in it"},
		{"nvidia-smi", "text, a matrix", "wherever a topology is wanted", "", "what `nvidia-smi topo -m` prints; --bandwidth is then that of one NVLink"},
		{"rocm-smi", "text, matrices", "wherever a topology is wanted", "", "what `rocm-smi --showtopo` prints"},
		{"NCCL log", "text", "`gap --nccl-log`, `trace`", "", "what NCCL and RCCL print with NCCL_DEBUG=INFO: rings and trees (GRAPH), or calls (COLL)"},
		{"trace", "timelines of Horovod, PyTorch's profiles and execution traces, Chakra's, Muri's table, logs of StragglAR", "`trace`, `crossover`", "", "recordings of training jobs; `oraccl help trace` has what each yields"},
		{"measurements", "tables of nccl-tests, rccl-tests, OSU's benchmarks and p2pBandwidthLatencyTest, CSV", "`topo fit --measured`", "", "from which latencies and bandwidths of links are fitted"},
		{"chrome", "`.json`", "", "`convert --to chrome`, `view -o FILE.json`", "trace events, for Perfetto and chrome://tracing"},
		{"GOAL", "text", "", "`convert --to goal`", "for LogGOPSim and ATLAHS, with the L, o, g and G that are printed; `--unit` is that of `calc`, `--pairs` gives each directed pair of ranks a CPU and a NIC"},
		{"Chakra", "`OUT.RANK.et`", "", "`convert --to chakra`", "execution traces, one per rank, for ASTRA-sim as a custom collective: `\"all-gather-implementation-custom\": [\"OUT\"]` and the like with one active chunk in its system file (`oraccl help convert`); as a workload they take up to 7 times as long"},
		{"HTML", "`.html`", "", "`view -o FILE.html`, `repro all -o`", "one page that needs no network"},
		{"SVG", "`.svg`", "", "`view -o FILE.svg`, `gap --plot`, `sweep --dir`, `repro -o`", "drawings and charts; `gap --plot` also writes `.pdf`"},
		{"PNG", "`.png`", "", "`view -o FILE.png`, `gap --plot`", "the same as pixels"},
		{"LRAT", "`.lrat`", "`check`, `oraccl-check`", "`gap --proofs`, `solve --pareto --proofs`, `sweep --proofs`, `repro --proofs`", "a refutation, checked against a formula that is made from the problem; `lrat-check` takes it with the `.cnf` beside it (DIMACS)"},
		{"MPS", "`.mps`", "", "`gap --proofs`, `repro --proofs`", "the mixed-integer programs that `exact` solved; the name reports whether one is feasible"},
		{"SMT-LIB", "`.smt2`", "", "`verify --emit-smt2`, `gap --proofs`", "the claim about the data, for Z3, cvc5 and others: each answer must be unsat"},
		{"SARIF", "`.sarif`, JSON", "", "`verify --format sarif`", "version 2.1.0, of MSCCL-IR, for code scanning"},
		{"GitHub", "lines on standard output", "", "`verify --format github`", "annotations, of MSCCL-IR"},
		{"CSV", "`.csv`", "`repro FILE.yaml`, `repro --published`", "`sweep --dir`, `repro -o`", "tables; text that a spreadsheet would take for a formula has an apostrophe before it"},
		{"JSON Lines", "`.jsonl`", "", "`sweep --dir`", "a row of the table a line"},
		{"YAML", "`.yaml`", "`sweep`, `repro`", "", "a grid, of which `oraccl help sweep` has the keys, or an experiment, of which `oraccl help experiments` has them"},
	}
}

func formatsTopic() Topic {
	return Topic{
		Name:  "formats",
		Short: "The file formats that are read or written",
		Body: always(func() []Block {
			t := Table{Head: []string{"format", "files", "read by", "written by", "remarks"}}
			for _, f := range Formats() {
				t.Rows = append(t.Rows, []string{f.Name, f.Files, f.Reads, f.Writes, f.Says})
			}
			return append([]Block{
				Para("Files of other tools are recognised by what is in them, not by their names. What cannot be read is refused with file, line and what was expected."),
				t,
				Para("A file is a regular file, a pipe (a FIFO, or `<(command)` of a shell) or `-`, standard input. A device is refused. In a directory that is checked, a file is a regular file, and no link leads out of the directory. " +
					"What you name may be compressed by gzip, and a text may begin with a byte order mark. " +
					"A file has at most 1 GiB, a compact schedule or a proof 16 GiB, and what comes from a pipe 1 GiB; `--max-file-size` sets another limit for all of them."),
			}, comparing()...)
		}),
	}
}

// Direct is a program in Python that writes an all-to-all of n ranks as MSCCL-IR: each rank sends to every other one.
const Direct = `n = 8
step = ('<step s="{}" type="{}" srcbuf="i" srcoff="{}" dstbuf="o" dstoff="{}" cnt="1"'
        ' depid="-1" deps="-1" hasdep="0"/>')
print(f'<algo name="direct" proto="Simple" nchannels="1" nchunksperloop="{n}" ngpus="{n}"'
      ' coll="alltoall" inplace="0" outofplace="1">')
for r in range(n):
    print(f'<gpu id="{r}" i_chunks="{n}" o_chunks="{n}" s_chunks="0">')
    for t, p in enumerate([*(p for p in range(n) if p != r), -1]):
        print(f'<tb id="{t}" send="{p}" recv="{p}" chan="0">')
        for s, x in enumerate([("s", p, r), ("r", r, p)] if p >= 0 else [("cpy", r, r)]):
            print(step.format(s, *x))
        print('</tb>')
    print('</gpu>')
print('</algo>')`

// Comparison has schedules of three tools in one table: one in MSCCL-IR, one that Direct writes, one of TE-CCL.
type Comparison struct {
	Command string
	Prints  []string // what it prints, in part
}

// Comparisons returns one on a machine with links between its GPUs, and one on a machine with switches. A test runs
// the commands, and holds what they print.
func Comparisons() []Comparison {
	const of = " --collective alltoall --size 8MiB --methods direct" +
		" --schedule alltoall.xml,direct.xml,teccl.json --max-gap 5%"
	return []Comparison{
		{"oraccl gap mi300x" + of, []string{
			"bound  17.084 us  by ingress, for every number of chunks; certificate checked",
			"alltoall.xml     256        224       17.084     491.021   0%  optimal (ingress)",
			"  direct.xml      64         56       17.084     491.021   0%  optimal (ingress)",
			"  teccl.json      64         56       17.084     491.021   0%  optimal (ingress)",
		}},
		{"oraccl gap dgxh100" + of, []string{
			"bound  17.011 us  by ingress, for every number of chunks; certificate checked",
			"  direct.xml      64         56       17.011     493.123       0%",
			"  teccl.json      64         56       17.011     493.123       0%",
			"alltoall.xml     256        224       17.011     493.123  0.0001%",
		}},
	}
}

// comparing is how the manual shows them.
func comparing() []Block {
	blocks := []Block{Para("Schedules of several tools come into one table, whatever their formats. Here alltoall.xml is a published schedule in MSCCL-IR (alltoall-8n-512kb-7mb.xml), direct.xml is what `python3 direct.py` prints, " +
		"and teccl.json is of TE-CCL, with the numbers of nodes as it gives them: on dgxh100 the switch is node 0 (`Chunk 1 from 1 traveled over 1->2 with volume 1.0 in epoch 0 via switches 0`). With --max-gap the exit status is 1 where one is further from the bound than that, or is refuted. This is direct.py:"), Code(Direct)}
	for _, c := range Comparisons() {
		blocks = append(blocks, Code("$ "+strings.Replace(c.Command, " --schedule", " \\\n    --schedule", 1)+"\n"+strings.Join(c.Prints, "\n")))
	}
	return blocks
}

// Variable is an environment variable.
type Variable struct{ Name, Says string }

// Environment returns the variables that are read.
func Environment() []Variable {
	return []Variable{
		{"ORACCL_CADICAL", "the program CaDiCaL that `sat` and `hierarchical` call, and no other; else `cadical` on the PATH or the one that `make setup` built, whichever writes LRAT"},
		{"ORACCL_PROGRESS", "`lines`: a line on stderr for each phase of the work, for logs; a terminal shows phases that take more than two seconds in any case"},
		{"ORACCL_CHROMIUM", "tests only: the browser in which pages are opened; else one that is installed (`sh cmd/setup/setup.sh browser` installs one)"},
		{"ORACCL_DATA", "tests only: a directory of other people's files; without it the tests that read them are left out, and say so"},
		{"ORACCL_PREFIX", "`make setup` only: install what is built below this directory"},
		{"ORACCL_MIRROR", "`make setup` only: a Debian mirror to take the sources from"},
		{"TMPDIR", "where proofs lie while they are made, and what is not yet renamed into place"},
		{"UPDATE", "tests only: 1 writes expected outputs, MANUAL.md and the outputs in the README again"},
	}
}

func environmentTopic() Topic {
	return Topic{
		Name:  "environment",
		Short: "Environment variables",
		Body: always(func() []Block {
			t := Table{Head: []string{"variable", "meaning"}}
			for _, v := range Environment() {
				t.Rows = append(t.Rows, []string{"`" + v.Name + "`", v.Says})
			}
			return []Block{t, Para("Some tests have variables of their own, which they name. There is no configuration file, and nothing is sent anywhere.")}
		}),
	}
}

// Status is an exit status, with a command that ends with it.
type Status struct {
	Code    int
	Says    string
	Example string
}

// Statuses returns the exit statuses.
func Statuses() []Status {
	return []Status{
		{0, "the claim holds, or the work is done", "oraccl explain deadlock"},
		{1, "the claim is refuted; `topo lint`: errors were found", "oraccl topo lint ndv2:2 --collective alltoall --size 1GB --claim 99GB/s"},
		{2, "bad usage, bad input or a failure, with a line on standard error", "oraccl solve ring:4"},
		{3, "a limit was reached, or Ctrl-C was pressed, and the answer is unknown; what there is by then is printed and written", "oraccl verify ag.json --engine smt --time-limit 1ns"},
	}
}

func exitTopic() Topic {
	return Topic{
		Name:  "exit",
		Short: "Exit statuses",
		Body: always(func() []Block {
			t := Table{Head: []string{"status", "meaning", "for example"}}
			for _, s := range Statuses() {
				t.Rows = append(t.Rows, []string{string(rune('0' + s.Code)), s.Says, "`" + s.Example + "`"})
			}
			return []Block{
				t,
				Para("They are the same with `--json`. Of several files the worst counts: failure over refuted over unknown. Remarks and progress go to standard error."),
			}
		}),
	}
}
