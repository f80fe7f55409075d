package verify

import _ "embed" // SPEC.md

// Spec is SPEC.md, the text that states what is decided.
//
//go:embed SPEC.md
var Spec string
