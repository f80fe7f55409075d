package cert

import (
	"context"
	"fmt"
	"math/big"

	"github.com/oraccl/oraccl/model"
)

// Refutes reports whether c shows that no schedule of its problem has the algorithmic
// bandwidth claimed, in bytes per second: that the size, at that rate, takes less time
// than the witness of c says that every schedule takes. It decides in exact integers,
// and returns the bound too. An error explains why c is no certificate, or that the claim
// is not positive. Not refuted does not mean attainable.
func Refutes(ctx context.Context, c *model.Certificate, claimed int64) (refuted bool, bound model.Time, err error) {
	if claimed <= 0 {
		return false, 0, fmt.Errorf("claim: a bandwidth of %d bytes per second, want more than zero", claimed)
	}
	if bound, err = Yield(ctx, c); err != nil {
		return false, 0, err
	}
	// bound > size / claimed, with the bound in ps
	least := new(big.Int).Mul(big.NewInt(int64(bound)), big.NewInt(claimed))
	took := new(big.Int).Mul(big.NewInt(c.Problem.Size), big.NewInt(int64(model.Second)))
	return least.Cmp(took) > 0, bound, nil
}
