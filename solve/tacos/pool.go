package tacos

import (
	"sync"

	"github.com/oraccl/oraccl/model"
)

// pool is some goroutines that serve the blocks of a slot together.
type pool struct {
	serve      func(block, slot int, set [][]model.Transfer)
	work       chan task
	done, gone sync.WaitGroup
}

type task struct {
	from, to, slot int
	set            [][]model.Transfer
}

// tasks is how many parts the blocks of a slot are divided into, for each goroutine.
const tasks = 4

// newPool starts the goroutines; with one or none run serves the blocks itself.
func newPool(threads int, serve func(block, slot int, set [][]model.Transfer)) *pool {
	p := &pool{serve: serve}
	if threads < 2 {
		return p
	}
	p.work = make(chan task, tasks*threads)
	for range threads {
		p.gone.Go(func() {
			for t := range p.work {
				for b := t.from; b < t.to; b++ {
					p.serve(b, t.slot, t.set)
				}
				p.done.Done()
			}
		})
	}
	return p
}

// run serves all blocks of a slot and returns when that is done.
func (p *pool) run(blocks, slot int, set [][]model.Transfer) {
	if p.work == nil {
		for b := range blocks {
			p.serve(b, slot, set)
		}
		return
	}
	parts := min(blocks, cap(p.work))
	p.done.Add(parts)
	for i := range parts {
		p.work <- task{i * blocks / parts, (i + 1) * blocks / parts, slot, set}
	}
	p.done.Wait()
}

func (p *pool) close() {
	if p.work != nil {
		close(p.work)
		p.gone.Wait()
	}
}
