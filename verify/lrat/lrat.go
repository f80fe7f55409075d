// Package lrat checks refutations of propositional formulas in the format LRAT
// (Cruz-Filipe, Heule, Hunt, Kaufmann, Schneider-Kamp, "Efficient certified RAT
// verification", CADE 2017): each line adds a clause and names, in order, the clauses
// that become unit or false by propagation once the new one is taken to be false, or
// deletes clauses. The formula is refuted when the empty clause has been added.
//
// Each step is checked by itself and the clauses that it names are looked up, so that
// nothing is searched for. A step that is not understood, or not needed for
// refutations such as SAT solvers write them (resolution on a blocked literal, RAT),
// ends the check: nothing is accepted by default.
package lrat

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/oraccl/oraccl/verify"
)

// Limits keep hostile files from using up memory.
const (
	maxVars  = 1 << 26
	maxArena = 1 << 31 // integers in clauses that are live, or were until lately
)

// ErrTooLarge is wrapped by errors for what is beyond a limit: whether it refutes is not
// known.
var ErrTooLarge = errors.New("too large")

// Checker holds a formula. Clauses are numbered from 1 in the order of Add.
type Checker struct {
	// arena holds clauses one after the other, each with its length before it.
	arena   []int32
	garbage int // integers in arena that belong to deleted clauses
	places  places
	last    uint64 // the largest number of a clause so far
	skipped uint64 // the largest number of a clause that was left out
	steps   uint64 // clauses added and lines read
	empty   bool   // a clause without literals was added

	value []int8  // by variable: 1 true, -1 false, 0 not known
	trail []int32 // the variables with a value
	work  *verify.Work
}

// places knows where in the arena the clause with a number is. Memory goes by how many
// clauses there are, not by their numbers: solvers count nearly without gaps, and have a
// slice; numbers far beyond the count of steps so far are in a map.
type places struct {
	dense  []uint32 // by number: place + 1; 0: there is no such clause
	sparse map[uint64]uint32
}

// of returns the place of a clause.
func (p *places) of(id uint64) (place uint32, live bool) {
	if id < uint64(len(p.dense)) && p.dense[id] != 0 {
		return p.dense[id] - 1, true
	}
	if len(p.sparse) == 0 {
		return 0, false
	}
	place, live = p.sparse[id]
	return place, live
}

// put notes the place of a clause whose number is larger than all so far.
func (p *places) put(id uint64, place uint32, steps uint64) {
	if id > 2*steps+1<<10 {
		if p.sparse == nil {
			p.sparse = map[uint64]uint32{}
		}
		p.sparse[id] = place
		return
	}
	for uint64(len(p.dense)) < id {
		p.dense = append(p.dense, 0)
	}
	p.dense = append(p.dense, place+1)
}

// remove forgets a clause.
func (p *places) remove(id uint64) {
	if id < uint64(len(p.dense)) {
		p.dense[id] = 0
	}
	delete(p.sparse, id)
}

// move gives every clause the place that to returns for the one it has.
func (p *places) move(to func(place uint32) uint32) {
	for id, place := range p.dense {
		if place > 0 {
			p.dense[id] = to(place-1) + 1
		}
	}
	for id, place := range p.sparse {
		p.sparse[id] = to(place)
	}
}

// New returns a checker of a formula without clauses.
func New() *Checker { return &Checker{value: make([]int8, 1)} }

// Variables makes the variables 1 to n known, beside those of the clauses that were added:
// a proof may name them.
func (c *Checker) Variables(n int) error {
	if n < 0 || n > maxVars {
		return fmt.Errorf("lrat: %w: %d variables, want 0 to %d", ErrTooLarge, n, maxVars)
	}
	if more := n + 1 - len(c.value); more > 0 {
		c.value = append(c.value, make([]int8, more)...)
	}
	return nil
}

// Skip leaves out the next clause of the formula, which no step of the proof names.
func (c *Checker) Skip() {
	c.last++
	c.skipped = c.last
}

// Add appends a clause to the formula, and makes its variables known. It returns an error if
// there are too many.
func (c *Checker) Add(lits []int32) error {
	for _, l := range lits {
		if l == 0 || l == math.MinInt32 {
			return fmt.Errorf("lrat: literal %d in clause %d", l, c.last+1)
		}
		if err := c.Variables(int(max(l, -l))); err != nil {
			return err
		}
	}
	c.empty = c.empty || len(lits) == 0
	c.steps++
	return c.store(c.last+1, lits)
}

func (c *Checker) known(l int64) bool {
	return l != 0 && l < int64(len(c.value)) && l > -int64(len(c.value))
}

// store keeps a clause under a number that is larger than all so far.
func (c *Checker) store(id uint64, lits []int32) error {
	if len(c.arena)+len(lits)+1 > maxArena {
		if c.collect(); len(c.arena)+len(lits)+1 > maxArena {
			return fmt.Errorf("lrat: %w: more than %d literals in live clauses", ErrTooLarge, maxArena)
		}
	}
	c.places.put(id, uint32(len(c.arena)), c.steps)
	c.last = id
	c.arena = append(append(c.arena, int32(len(lits))), lits...)
	return nil
}

// clause returns the literals of a clause.
func (c *Checker) clause(id uint64) ([]int32, bool) {
	at, live := c.places.of(id)
	if !live {
		return nil, false
	}
	return c.arena[at+1 : at+1+uint32(c.arena[at])], true
}

// remove forgets a clause with this many literals.
func (c *Checker) remove(id uint64, literals int) {
	c.garbage += literals + 1
	c.places.remove(id)
	if c.garbage > 1<<20 && c.garbage > len(c.arena)/2 {
		c.collect()
	}
}

// collect drops deleted clauses from the arena.
func (c *Checker) collect() {
	kept := make([]int32, 0, len(c.arena)-c.garbage)
	c.places.move(func(at uint32) uint32 {
		to := uint32(len(kept))
		kept = append(kept, c.arena[at:at+1+uint32(c.arena[at])]...)
		return to
	})
	c.arena, c.garbage = kept, 0
}

// Refute reads a proof to its end and returns nil if it refutes the formula. Otherwise
// the error names the line and what is wrong with it. A formula with an empty clause
// needs no proof. It takes O(proof + literals of the clauses that it names) time.
// Once ctx is done it returns an error that wraps the one of ctx. After Refute the checker
// is of no further use.
func (c *Checker) Refute(ctx context.Context, proof io.Reader) error {
	r := &reader{in: bufio.NewReaderSize(until{ctx, proof}, 1<<16), line: 1}
	c.work = verify.Begin(ctx, 0)
	if c.empty {
		_, err := io.Copy(io.Discard, r.in)
		return err
	}
	for {
		done, err := c.step(r)
		if err != nil && ctx.Err() != nil {
			return fmt.Errorf("line %d: the check has to stop: %w", r.line, ctx.Err())
		}
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("line %d: the proof ends without the empty clause", r.line)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", r.line, err)
		}
		if done {
			_, err := io.Copy(io.Discard, r.in)
			return err
		}
		r.line++
	}
}

// until is a reader that ends with its context.
type until struct {
	ctx context.Context
	in  io.Reader
}

func (u until) Read(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.in.Read(b)
}

// errStopped ends a step; Refute returns the error of its context instead.
var errStopped = errors.New("stopped")

// step executes one line. It returns io.EOF only at the end of the file.
func (c *Checker) step(r *reader) (done bool, err error) {
	id, deletion, err := r.number()
	if err != nil {
		return false, err
	}
	if id <= 0 || deletion {
		return false, errors.New("want the number of a clause")
	}
	c.steps++
	lits := r.lits[:0]
	first := true
	for {
		l, deletion, err := r.number()
		switch {
		case err != nil:
			return false, cut(err)
		case deletion && first:
			return false, c.deletions(r)
		case deletion:
			return false, errors.New(`"d" among literals`)
		}
		first = false
		if l == 0 {
			break
		}
		if !c.known(l) {
			return false, fmt.Errorf("literal %d, want variables 1 to %d", l, len(c.value)-1)
		}
		lits = append(lits, int32(l))
	}
	r.lits = lits
	if uint64(id) <= c.last {
		return false, fmt.Errorf("clause %d after clause %d, want ascending numbers", id, c.last)
	}
	if lits, err = c.propagate(r, lits); err != nil {
		return false, fmt.Errorf("clause %d: %w", id, err)
	}
	if len(lits) == 0 {
		return true, nil
	}
	return false, c.store(uint64(id), lits)
}

// deletions reads numbers up to 0 and forgets their clauses.
func (c *Checker) deletions(r *reader) error {
	for {
		id, deletion, err := r.number()
		switch {
		case err != nil:
			return cut(err)
		case deletion || id < 0:
			return errors.New("want the numbers of clauses to delete")
		case id == 0:
			return r.end()
		}
		clause, live := c.clause(uint64(id))
		switch {
		case live:
			c.remove(uint64(id), len(clause))
		case uint64(id) > c.skipped:
			return fmt.Errorf("clause %d is deleted, but there is none", id)
		}
	}
}

// propagate takes all literals to be false and reads hints up to 0: each must name a
// clause that has one literal left that is not false, which is true then, and the last
// one a clause that has none. It returns the literals once each: a clause then takes no
// longer to look at than the literals took to make false.
func (c *Checker) propagate(r *reader, lits []int32) ([]int32, error) {
	defer c.undo()
	once := lits[:0]
	for _, l := range lits {
		switch c.of(l) {
		case 1:
			return nil, fmt.Errorf("has %d and %d", l, -l)
		case 0:
			c.set(-l)
			once = append(once, l)
		}
	}
	return once, c.follow(r)
}

// follow reads hints.
func (c *Checker) follow(r *reader) error {
	conflict := false
	for {
		id, deletion, err := r.number()
		switch {
		case err != nil:
			return cut(err)
		case deletion:
			return errors.New(`"d" among hints`)
		case id < 0:
			return fmt.Errorf("hint %d: a step by RAT, which refutations here do not need", id)
		case id == 0 && !conflict:
			return errors.New("does not follow by propagation from the clauses that are named")
		case id == 0:
			return r.end()
		case conflict:
			return fmt.Errorf("hint %d after a clause that is false already", id)
		}
		clause, live := c.clause(uint64(id))
		if !live {
			return fmt.Errorf("hint %d: there is no such clause", id)
		}
		if !c.work.Go(len(clause)) {
			return errStopped
		}
		unit := int32(0)
		for _, l := range clause {
			switch v := c.of(l); {
			case v < 0 || l == unit:
			case v > 0:
				return fmt.Errorf("hint %d: the clause is true already", id)
			case unit != 0:
				return fmt.Errorf("hint %d: the clause is not unit", id)
			default:
				unit = l
			}
		}
		if conflict = unit == 0; !conflict {
			c.set(unit)
		}
	}
}

// of returns 1 if l is true, -1 if it is false, 0 if that is not known.
func (c *Checker) of(l int32) int8 {
	if l > 0 {
		return c.value[l]
	}
	return -c.value[-l]
}

func (c *Checker) set(l int32) {
	v, sign := l, int8(1)
	if l < 0 {
		v, sign = -l, -1
	}
	if c.value[v] == 0 {
		c.trail = append(c.trail, v)
	}
	c.value[v] = sign
}

func (c *Checker) undo() {
	for _, v := range c.trail {
		c.value[v] = 0
	}
	c.trail = c.trail[:0]
}

func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("the file ends within the line")
	}
	return err
}

// reader reads words of a proof.
type reader struct {
	in   *bufio.Reader
	line uint64
	lits []int32
	last byte // what ended the word that was read last
}

// number reads a whole number, or "d", over blanks but not over the end of a line,
// except before the first word of a line.
func (r *reader) number() (n int64, deletion bool, err error) {
	b, err := r.in.ReadByte()
	for err == nil && (b == ' ' || b == '\t') {
		b, err = r.in.ReadByte()
	}
	if err != nil {
		return 0, false, err
	}
	if b == 'd' {
		next, err := r.in.ReadByte()
		if err != nil || next != ' ' {
			return 0, false, errors.New(`want a blank after "d"`)
		}
		return 0, true, nil
	}
	negative := b == '-'
	if negative {
		if b, err = r.in.ReadByte(); err != nil {
			return 0, false, err
		}
	}
	digits := 0
	for ; err == nil && '0' <= b && b <= '9'; b, err = r.in.ReadByte() {
		if n > math.MaxInt64/100 {
			return 0, false, errors.New("a number that is too large")
		}
		n = 10*n + int64(b-'0')
		digits++
	}
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return 0, false, err
	case digits == 0:
		return 0, false, fmt.Errorf("%q, want a number", b)
	case err == nil && !slices.Contains([]byte(" \t\r\n"), b):
		return 0, false, fmt.Errorf("%q after a number", b)
	case err != nil:
		b = '\n' // the last line may lack its end
	}
	if r.last = b; negative {
		n = -n
	}
	return n, false, nil
}

// end reads to the end of a line, on which nothing may follow.
func (r *reader) end() error {
	for b := r.last; b != '\n'; {
		next, err := r.in.ReadByte()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !slices.Contains([]byte(" \t\r\n"), next) {
			return fmt.Errorf("%q after the end of the step", next)
		}
		b = next
	}
	return nil
}

// Set is a set of numbers of clauses. Its memory goes by how many it holds.
type Set struct {
	bits   []uint64
	sparse map[uint64]bool
	held   uint64 // how often something was added
}

// Has reports whether the clause with a number is in the set.
func (s *Set) Has(id uint64) bool {
	return id/64 < uint64(len(s.bits)) && s.bits[id/64]>>(id%64)&1 != 0 || s.sparse[id]
}

func (s *Set) add(id uint64) {
	if s.held++; id > 64*s.held+1<<16 {
		if s.sparse == nil {
			s.sparse = map[uint64]bool{}
		}
		s.sparse[id] = true
		return
	}
	for uint64(len(s.bits)) <= id/64 {
		s.bits = append(s.bits, 0)
	}
	s.bits[id/64] |= 1 << (id % 64)
}

// Named returns the clauses that the steps of a proof name as hints. It reads to the end of the proof, or to where it is not
// understood: there Refute returns the error. Once ctx is done it returns an error that wraps
// the one of ctx.
func Named(ctx context.Context, proof io.Reader) (*Set, error) {
	r := &reader{in: bufio.NewReaderSize(until{ctx, proof}, 1<<16)}
	named := &Set{}
	for {
		if _, _, err := r.number(); err != nil {
			return named, done(ctx)
		}
		for zeros, first := 0, true; zeros < 2; first = false {
			n, deletion, err := r.number()
			switch {
			case err != nil:
				return named, done(ctx)
			case deletion && first:
				zeros = 2
				for n = 1; n != 0; {
					if n, _, err = r.number(); err != nil {
						return named, done(ctx)
					}
				}
			case n == 0:
				zeros++
			case zeros == 1 && n > 0:
				named.add(uint64(n))
			}
		}
		if r.end() != nil {
			return named, done(ctx)
		}
	}
}

// done returns an error once ctx is done.
func done(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("the check has to stop: %w", ctx.Err())
}
