package model

// Precedence is what the transfers of a schedule wait for, beside links and ports. Each list
// is nil, or has an entry for each transfer, the numbers of others.
type Precedence struct {
	Ended  [][]int32 // must have ended when it starts
	Left   [][]int32 // must have left their source when it starts: they occupy their first link no more
	Begun  [][]int32 // must have begun before it ends: they read what it replaces
	Landed [][]int32 // must have ended before it ends: it replaces what they write
}
