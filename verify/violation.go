package verify

import "fmt"

// Violation is one thing that is wrong, with the place. Wrong makes one.
type Violation struct {
	Code    Code
	Where   string // in the words of the field: "rank 3, chunk 1", "transfer 7"
	Message string // what is there, and what was wanted
	// Line is where it went wrong in the file that was read, or 0.
	Line int

	transfer, rank, chunk index
}

// index is the index of something, plus one, or 0 for none: so that what nobody has set is none.
type index int

func indexOf(i int) index { return index(max(i, -1) + 1) }

func (x index) get() (int, bool) { return int(x) - 1, x > 0 }

// Wrong returns a violation that concerns no transfer, rank or chunk.
func Wrong(code Code, where, message string) Violation {
	return Violation{Code: code, Where: where, Message: message}
}

// AtTransfer returns v with the index of the transfer at which it went wrong; below 0: none.
func (v Violation) AtTransfer(i int) Violation {
	v.transfer = indexOf(i)
	return v
}

// AtRank returns v with the rank that is concerned; below 0: none.
func (v Violation) AtRank(rank int) Violation {
	v.rank = indexOf(rank)
	return v
}

// AtChunk returns v with the chunk, or the cell of a program's buffer, that is concerned; below
// 0: none.
func (v Violation) AtChunk(chunk int) Violation {
	v.chunk = indexOf(chunk)
	return v
}

// AtSlot returns v with the rank and the chunk that are concerned; below 0: none.
func (v Violation) AtSlot(rank, chunk int) Violation { return v.AtRank(rank).AtChunk(chunk) }

// AtLine returns v with the line of the file that was read.
func (v Violation) AtLine(line int) Violation {
	v.Line = line
	return v
}

// Transfer returns the index of the transfer at which it went wrong, and whether there is one;
// -1 if not. Rank and Chunk are alike.
func (v Violation) Transfer() (int, bool) { return v.transfer.get() }

// Rank returns the rank that is concerned, and whether there is one.
func (v Violation) Rank() (int, bool) { return v.rank.get() }

// Chunk returns the chunk that is concerned, and whether there is one.
func (v Violation) Chunk() (int, bool) { return v.chunk.get() }

// String returns the code, the place and the message on one line.
func (v Violation) String() string {
	return fmt.Sprintf("%s: %s: %s", v.Code, v.Where, v.Message)
}
