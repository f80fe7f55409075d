package quotient

// generations are left out of the page's program, which has to be small.
type generations struct{}

func (s *search) inGenerations() {}
