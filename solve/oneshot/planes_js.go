package oneshot

// planes is nothing: on a web page, whose program each visitor loads, mixtures are searched for everywhere.
type planes struct{ Whole bool }

func (*search) planes() *planes { return nil }

func (*planes) mix() {}
