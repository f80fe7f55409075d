package model

// Imported is a schedule that another tool wrote, in the terms of this package, with
// what is wrong with it that shows before it is executed.
type Imported struct {
	Tool     string // who writes such files: "SCCL"
	Problem  *Problem
	Schedule *Schedule

	// Order is what the transfers wait for because of the form of the file, such as what a
	// threadblock does before; nil: nothing but what Schedule says.
	Order *Precedence

	// Objections say what cannot be put into a schedule at all, such as a send over
	// a link that does not exist. Where there are any, Schedule may lack transfers.
	Objections []Objection
	// Undecided is why Schedule has not the file's meaning, or empty. Where it is set,
	// what is found of Schedule says nothing of the file.
	Undecided string
	// Assumed is what the file does not say and Schedule takes for granted, or empty.
	// Where it is set, a schedule that is right proves nothing; one that is wrong refutes.
	Assumed string
	// Notes are about the file; those about its topology are in Problem.Topology.
	Notes Notes
	// Source names the part of the file that a transfer comes from: "step 2, send 14: [0, 2, 6]".
	Source func(transfer int) string
}

// Objection is something that is wrong with an imported schedule. Code is one of those
// that verify explains; it is a string, since this package knows nothing of verify.
type Objection struct {
	Code    string // "no-such-link"
	Where   string // in the file's terms
	Message string // what is there, and what was wanted
}

// MaxObjections is how many objections an import reports at most. One refutes.
const MaxObjections = 10

// Object adds an objection, up to MaxObjections.
func (m *Imported) Object(code, where, message string) {
	if len(m.Objections) < MaxObjections {
		m.Objections = append(m.Objections, Objection{code, where, message})
	}
}
