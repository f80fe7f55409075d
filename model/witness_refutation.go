package model

import (
	"encoding/hex"
	"errors"
	"strings"
)

// Refutation is a proof that the formula of section 10 of verify/SPEC.md, which states
// that the problem has a schedule within some epochs, or some rounds, is false. The
// formula is not kept: who checks the proof makes it from the problem.
type Refutation struct {
	Epoch   Time   `json:"epoch_ps" range:"0,"`             // 0: the horizon counts rounds
	Horizon int    `json:"horizon" range:"1,"`              // epochs or rounds, at least 1
	Steps   int    `json:"steps,omitempty" range:"0,"`      // into how many steps the rounds may fall; 0: any number
	Proof   string `json:"proof"`                           // name of the file beside the certificate that holds the proof, in the format LRAT
	SHA256  string `json:"sha256" pattern:"^[0-9a-f]{64}$"` // of that file, in 64 hexadecimal digits
}

var _ = witness(Refutation{})

// Kind implements Witness.
func (Refutation) Kind() string { return "lrat" }

func (w Refutation) validate(p *Problem) error {
	switch hash, err := hex.DecodeString(w.SHA256); {
	case w.Horizon < 1:
		return wrong("horizon", "%d, want 1 or more", w.Horizon)
	case w.Epoch < 0 || (w.Epoch == 0) != p.Cost.Synchronous():
		return wrong("epoch_ps", "%d under %v, want 0 where time is counted in rounds, else more", int64(w.Epoch), p.Cost)
	case w.Steps < 0 || w.Steps > 0 && w.Epoch > 0:
		return wrong("steps", "%d, want 0 or, in rounds, more", w.Steps)
	case w.Proof == "" || w.Proof == "." || w.Proof == ".." || strings.ContainsAny(w.Proof, "/\\\x00") || len(w.Proof) > 255:
		return wrong("proof", "%q is not the name of a file beside the certificate", w.Proof)
	case err != nil || len(hash) != 32 || strings.ToLower(w.SHA256) != w.SHA256:
		return wrong("sha256", "%q, want 64 hexadecimal digits", w.SHA256)
	case p.Chunks == nil:
		return errors.New("of kind lrat needs a problem with chunks")
	}
	return nil
}
