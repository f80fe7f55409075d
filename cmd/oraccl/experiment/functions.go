package experiment

import (
	"errors"
	"fmt"

	"github.com/oraccl/oraccl/cmd/oraccl/experiment/expression"
)

// functions are what expressions may call beside the functions of package expression.
var functions = expression.Functions{
	// ranks returns how many ranks a topology has that is not from a file.
	"ranks": func(a []expression.Value) (expression.Value, error) {
		if len(a) != 1 {
			return expression.Value{}, errors.New("want the name of a topology")
		}
		t, err := network{}.Topology(a[0].String(), "", "")
		if err != nil {
			return expression.Value{}, err
		}
		return expression.Number(t.Ranks), nil
	},
	// sized writes a number of bytes with one decimal.
	"sized": func(a []expression.Value) (expression.Value, error) {
		if len(a) != 1 {
			return expression.Value{}, errors.New("want a number of bytes")
		}
		switch n, _ := a[0].Float(); {
		case n < 1000:
			return expression.Text(fmt.Sprintf("%.0f B", n)), nil
		case n < 1e6:
			return expression.Text(fmt.Sprintf("%.1f kB", n/1e3)), nil
		default:
			return expression.Text(fmt.Sprintf("%.1f MB", n/1e6)), nil
		}
	},
}
