package quotient

// A page leaves out slots and rings, which few networks need: each visitor loads the program.

func (s *search) slotted() {}

func (s *search) ring() {}
