package assign

import (
	"cmp"
	"slices"
)

// slack is how many messages a connection may hold: the runtimes have room for 2 at
// least.
const slack = 2

// connection is from one member to another, on a channel.
type connection struct{ src, dst, channel int32 }

// flight is when a message is sent and received: positions.
type flight struct{ sent, received int32 }

// end is a member's end of a connection.
type end struct{ member, peer, channel int32 }

// connected is a list of steps whose messages have channels, and which have
// threadblocks.
type connected struct {
	*flow
	steps   []step
	channel []int32 // by message
	flights []flight
	on      map[connection][]flight // sorted
	over    map[connection]int32    // the link of its first message
	sendsTo map[end]int32           // the peer that the threadblock which receives from a peer sends to, where one step does both
	gets    map[end]int32           // and the other way round
	peers   map[[2]int32][2]int     // of a member and a channel: how many it sends to, receives from
	room    int                     // messages a connection may carry in all
	limits  Limits

	tbs [][]threadblock // of a member
}

// threadblock has peers, or -1.
type threadblock struct {
	sendTo, recvFrom, channel int32
	steps                     []int32
}

// connect chooses a channel for every message. Messages that steps receive and send
// on form a chain on one channel, as a threadblock has only one. Chains come in the
// order of their first sends, and take the first channel on which nothing speaks
// against them; apart, that is also what goes over another link: a threadblock
// sends one message after the other, and two links carry two at once. If there is none,
// they fall into two where they must, and so does the step between.
func connect(f *flow, steps []step, limits Limits, room int) (*connected, error) {
	c := &connected{flow: f, steps: steps, limits: limits, room: room,
		channel: make([]int32, len(f.messages)), flights: make([]flight, len(f.messages)),
		on: map[connection][]flight{}, over: map[connection]int32{}, sendsTo: map[end]int32{}, gets: map[end]int32{}, peers: map[[2]int32][2]int{}}
	follows := make([]int32, len(f.messages)) // the step's own other message, or -1
	starts := make([]bool, len(f.messages))
	for i := range steps {
		s := &steps[i]
		if s.kind != moves && s.kind != stages {
			continue
		}
		if s.recv >= 0 {
			c.flights[s.recv].received = int32(2 * i)
			follows[s.recv] = s.send
		}
		if s.send >= 0 {
			c.flights[s.send].sent = int32(2*i + 1)
			starts[s.send] = s.recv < 0
		}
	}
	split := map[int32]bool{} // messages that are received by a step of their own after all
	var chain []int32
	for i := range steps {
		if steps[i].send < 0 || !starts[steps[i].send] {
			continue
		}
		chain = chain[:0]
		for m := steps[i].send; m >= 0; m = follows[m] {
			chain = append(chain, m)
		}
		for left := chain; len(left) > 0; {
			placed, channel := c.best(left)
			if placed == 0 {
				x := &f.messages[left[0]]
				return nil, tooSmall("rank %d needs more than %d channels to rank %d, for %d steps per threadblock", x.src, limits.Channels, x.dst, limits.Steps)
			}
			for j, m := range left[:placed] {
				c.place(m, channel)
				if j > 0 {
					x := &f.messages[m]
					c.sendsTo[end{x.src, f.messages[left[j-1]].src, channel}] = x.dst
					c.gets[end{x.src, x.dst, channel}] = f.messages[left[j-1]].src
				}
			}
			if placed < len(left) {
				split[left[placed-1]] = true
			}
			left = left[placed:]
		}
	}
	c.split(split)
	c.threadblocks()
	return c, c.merge()
}

// split makes two steps of each that receives one of some messages.
func (c *connected) split(messages map[int32]bool) {
	list := make([]step, 0, len(c.steps)+len(messages))
	for _, s := range c.steps {
		if s.recv >= 0 && s.send >= 0 && messages[s.recv] {
			r := s
			r.send, s.recv = -1, -1
			list = append(list, r)
		}
		list = append(list, s)
	}
	c.steps = list
}

// best returns how many of a chain fit on one channel, and the first channel on which
// most do.
func (c *connected) best(chain []int32) (placed int, channel int32) {
	for k := range int32(c.limits.Channels) {
		n := 0
		for n < len(chain) && c.fitsOn(chain, n, k) {
			n++
		}
		if n > placed {
			placed, channel = n, k
		}
		if n == len(chain) {
			break
		}
	}
	return placed, channel
}

// fitsOn reports whether a message of a chain may take a channel, given that those of the
// chain before it do, which may have come through the same member.
func (c *connected) fitsOn(chain []int32, i int, channel int32) bool {
	x := &c.messages[chain[i]]
	if i > 0 {
		before := c.messages[chain[i-1]].src
		if to, ok := c.sendsTo[end{x.src, before, channel}]; ok && to != x.dst {
			return false
		}
		if from, ok := c.gets[end{x.src, x.dst, channel}]; ok && from != before {
			return false
		}
		for j := 1; j < i; j++ {
			y := &c.messages[chain[j]]
			if y.src == x.src && (c.messages[chain[j-1]].src == before) != (y.dst == x.dst) {
				return false
			}
		}
	}
	name := connection{x.src, x.dst, channel}
	list := c.on[name]
	if c.way.apart && len(list) > 0 && c.over[name] != x.link {
		return false
	}
	out, in := c.peers[[2]int32{x.src, channel}][0], c.peers[[2]int32{x.dst, channel}][1]
	for _, m := range chain[:i] {
		y := &c.messages[m]
		if y.src == x.src {
			out++
		}
		if y.dst == x.dst {
			in++
		}
		if y.src == x.src && y.dst == x.dst {
			if c.way.apart && y.link != x.link {
				return false
			}
			at, _ := slices.BinarySearchFunc(list, c.flights[m], bySent)
			list = slices.Insert(slices.Clone(list), at, c.flights[m])
		}
	}
	if len(list) == 0 {
		return out < c.limits.Peers && in < c.limits.Peers
	}
	if len(list) >= c.room {
		return false
	}
	m := c.flights[chain[i]]
	at, _ := slices.BinarySearchFunc(list, m, bySent)
	if at > 0 && list[at-1].received > m.received || at < len(list) && list[at].received < m.received {
		return false
	}
	get := func(j int) flight {
		switch {
		case j < at:
			return list[j]
		case j == at:
			return m
		}
		return list[j-1]
	}
	for j := max(at, slack); j <= min(at+slack, len(list)); j++ {
		if get(j-slack).received > get(j).sent {
			return false
		}
	}
	return true
}

func bySent(a, b flight) int { return cmp.Compare(a.sent, b.sent) }

// place gives a message a channel.
func (c *connected) place(m, channel int32) {
	x := &c.messages[m]
	c.channel[m] = channel
	name := connection{x.src, x.dst, channel}
	list := c.on[name]
	if len(list) == 0 {
		out, in := [2]int32{x.src, channel}, [2]int32{x.dst, channel}
		c.peers[out] = [2]int{c.peers[out][0] + 1, c.peers[out][1]}
		c.peers[in] = [2]int{c.peers[in][0], c.peers[in][1] + 1}
		c.over[name] = x.link
	}
	at, _ := slices.BinarySearchFunc(list, c.flights[m], bySent)
	c.on[name] = slices.Insert(list, at, c.flights[m])
}
