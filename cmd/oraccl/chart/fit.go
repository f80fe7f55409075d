package chart

import "math"

// PowerLaw fits y = c·x^e by least squares of the logarithms. It is not ok where a value is
// not above zero, or where there are fewer than two different x.
func PowerLaw(x, y []float64) (c, e float64, ok bool) {
	var mx, my float64
	for i := range x {
		if x[i] <= 0 || y[i] <= 0 {
			return 0, 0, false
		}
		mx += math.Log(x[i]) / float64(len(x))
		my += math.Log(y[i]) / float64(len(x))
	}
	var xx, xy float64
	for i := range x {
		dx := math.Log(x[i]) - mx
		xx += dx * dx
		xy += dx * (math.Log(y[i]) - my)
	}
	if xx < 1e-9 {
		return 0, 0, false
	}
	e = xy / xx
	return math.Exp(my - e*mx), e, true
}
