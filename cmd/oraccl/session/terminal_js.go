package session

import "io"

// onTerminal returns nil: a web page has no terminal.
func onTerminal(io.Writer) bar { return nil }
