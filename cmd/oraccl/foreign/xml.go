package foreign

import (
	"bytes"
	"fmt"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
)

// FirstElement returns the name of the first element of XML, or "" if there is none, and the
// text from where it begins, or where it is no XML.
func FirstElement(text []byte) (from []byte, name string) {
	const blank = " \t\r\n\ufeff"
	text = bytes.TrimLeft(text, blank)
	for _, skip := range []struct{ begin, end string }{{"<!--", "-->"}, {"<?", "?>"}, {"<!--", "-->"}, {"<!DOCTYPE", ">"}, {"<!--", "-->"}} {
		for bytes.HasPrefix(text, []byte(skip.begin)) {
			i := bytes.Index(text, []byte(skip.end))
			if i < 0 {
				return text, ""
			}
			text = bytes.TrimLeft(text[i+len(skip.end):], blank)
		}
	}
	if !bytes.HasPrefix(text, []byte("<")) {
		return text, ""
	}
	end := bytes.IndexAny(text[1:], " \t\r\n/><=\"'")
	if end < 0 {
		end = len(text) - 1
	}
	return text, string(text[1 : 1+end])
}

// noSchedule returns an error that names what a file is that should be XML and is no schedule
// of any tool.
func noSchedule(file string, text []byte) error {
	from, root := FirstElement(text)
	switch {
	case len(from) == 0:
		return fmt.Errorf("%s: is empty, want a schedule", file)
	case root == "system":
		return exit.Hint(fmt.Errorf("%s: is a topology of NCCL or RCCL (<system>), not a schedule", file), "--topology takes it")
	case root == "graphs":
		return fmt.Errorf("%s: is what NCCL or RCCL plans by itself (<graphs>), not a schedule", file)
	case root != "":
		return fmt.Errorf("%s: is XML whose first element is %q, not a schedule: want <algo> (MSCCL-IR)", file, "<"+root[:min(len(root), 40)]+">")
	}
	return fmt.Errorf("%s: is no XML, want a schedule", file)
}
