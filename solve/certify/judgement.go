package certify

import (
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify"
)

// Judgement is what is decided about a schedule in a file.
type Judgement struct {
	File     string
	Claim    string     // what was decided, in words
	Makespan model.Time // 0: not known
	Verification
	Asked   []string    // the engines that were asked, in the order of the text
	Partial bool        // the run that wrote the file was interrupted
	Tool    string      // another tool that writes such files; "": they are ours
	Notes   model.Notes // of those who read the file and its topology
}

// Judge returns the judgement of the engines asked about the schedule s of p in a file. Where
// the transfers are not in s, because the file is not held in memory, the caller sets Makespan.
func Judge(file string, p *model.Problem, s *model.Schedule, v Verification, asked []string) *Judgement {
	j := &Judgement{File: file, Claim: verify.Claim(p, s), Makespan: p.Makespan(s), Verification: v, Asked: asked, Notes: p.Topology.Notes}
	if v.Verdict.Decides != nil { // no engine that was asked decides the whole
		j.Claim = v.Verdict.Claim
	}
	return j
}
