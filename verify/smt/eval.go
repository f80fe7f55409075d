package smt

import (
	"cmp"
	"fmt"
	"math/big"
)

// Assignment gives each unknown a value; that of a Bool is 0 or 1.
type Assignment map[string]*big.Int

// values holds the value of every term of a table under one assignment. Numbers
// that fit are kept in small; big is nil then.
type values struct {
	small []int64
	big   []*big.Int
}

// truth returns the value of a term.
func (v *values) truth(x Bool) bool { return v.small[x.id] != 0 }

// number returns the value of a term. The caller must not change it.
func (v *values) number(id int32) *big.Int {
	if b := v.big[id]; b != nil {
		return b
	}
	return big.NewInt(v.small[id])
}

// evaluate computes every term of the table exactly. It returns an error if an
// unknown has no value. It reuses v, if that is not nil, and takes O(terms) time
// as long as numbers fit into 64 bits.
func (t *Terms) evaluate(a Assignment, v *values) (*values, error) {
	if v == nil {
		v = &values{}
	}
	if len(v.small) < len(t.nodes) {
		v.small, v.big = make([]int64, len(t.nodes)), make([]*big.Int, len(t.nodes))
	}
	for i := range t.nodes {
		n := &t.nodes[i]
		v.small[i], v.big[i] = 0, nil
		switch n.op {
		case opBoolVar, opIntVar:
			x, ok := a[n.name]
			if !ok {
				return nil, fmt.Errorf("no value for %s", n.name)
			}
			v.set(i, x)
		case opNum, opAdd, opScale:
			v.arithmetic(i, n)
		case opBoolName, opIntName:
			v.small[i], v.big[i] = v.small[n.args[0]], v.big[n.args[0]]
		default:
			if v.logic(n) {
				v.small[i] = 1
			}
		}
	}
	return v, nil
}

func (v *values) set(i int, x *big.Int) {
	if x.IsInt64() {
		v.small[i] = x.Int64()
		return
	}
	v.big[i] = x
}

func (v *values) arithmetic(i int, n *node) {
	switch n.op {
	case opNum:
		v.small[i] = n.num
	case opAdd:
		sum, fits := int64(0), true
		for _, a := range n.args {
			s := sum + v.small[a]
			fits = fits && v.big[a] == nil && (s >= sum) == (v.small[a] >= 0)
			sum = s
		}
		if v.small[i] = sum; !fits {
			total := new(big.Int)
			for _, a := range n.args {
				total.Add(total, v.number(a))
			}
			v.small[i] = 0
			v.set(i, total)
		}
	case opScale:
		v.set(i, new(big.Int).Mul(big.NewInt(n.num), v.number(n.args[0])))
	}
}

func (v *values) logic(n *node) bool {
	switch n.op {
	case opTrue:
		return true
	case opNot:
		return v.small[n.args[0]] == 0
	case opAnd:
		for _, a := range n.args {
			if v.small[a] == 0 {
				return false
			}
		}
		return true
	case opOr:
		for _, a := range n.args {
			if v.small[a] != 0 {
				return true
			}
		}
		return false
	case opXor:
		return v.small[n.args[0]] != v.small[n.args[1]]
	case opImplies:
		return v.small[n.args[0]] == 0 || v.small[n.args[1]] != 0
	case opEq:
		return v.compare(n) == 0
	case opDistinct:
		return v.compare(n) != 0
	case opLt:
		return v.compare(n) < 0
	case opLe:
		return v.compare(n) <= 0
	}
	return false // opFalse
}

func (v *values) compare(n *node) int {
	a, b := n.args[0], n.args[1]
	if v.big[a] == nil && v.big[b] == nil {
		return cmp.Compare(v.small[a], v.small[b])
	}
	return v.number(a).Cmp(v.number(b))
}
