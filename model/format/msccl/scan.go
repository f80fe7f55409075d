package msccl

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/oraccl/oraccl/model"
)

// maxDepth is how deep elements may be nested; the format has four levels.
const maxDepth = 16

// maxText is how long a value may be.
const maxText = 4096

// What the runtimes' parser, which they have in common, has room for.
const (
	roomValue   = 255 // bytes of a value; it writes longer ones past their end
	roomElement = 253 // bytes of an element's name
	roomKey     = 254 // bytes of an attribute's name
	roomAttrs   = 16  // attributes of an element, of which it does not see more
)

// maxFaults is how many faults of a kind are kept.
const maxFaults = 8

// SyntaxError is what is wrong with a file that is no MSCCL-IR.
type SyntaxError struct {
	File    string
	Line    int
	Message string
	Err     error // what the reader failed with, or nil
}

// Error returns file, line and what is wrong.
func (e *SyntaxError) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message) }

// Unwrap returns the error of the underlying reader, if any.
func (e *SyntaxError) Unwrap() error { return e.Err }

// attribute is one of the tag that was read last; its text is valid until the next. Slot is
// where the runtimes' parser has it: every blank of the tag begins one, also an empty one.
type attribute struct {
	key, value string
	slot       int
}

// tagKind states what next found.
type tagKind uint8

const (
	atEnd tagKind = iota
	opened
	closed
)

// scanner takes XML apart: tags and their attributes, as a stream, so that no file
// takes more memory than its longest tag. Entities are left as they are, which is
// how the runtimes read; a document type is refused.
type scanner struct {
	file   string
	r      *bufio.Reader
	line   int
	stack  []string
	root   bool // the root has been seen
	selfly bool // the tag was self-closing: its end is still to be told

	name    string
	tagLine int
	attrs   []attribute
	slots   int // of the tag, so far
	text    []byte
	lexical faults
	names   map[string]string // names and values that occur again and again
}

func newScanner(file string, r io.Reader) *scanner {
	return &scanner{file: file, r: bufio.NewReaderSize(r, 1<<16), line: 1, names: map[string]string{}}
}

func (s *scanner) fail(line int, format string, args ...any) error {
	return &SyntaxError{File: s.file, Line: line, Message: fmt.Sprintf(format, args...)}
}

// odd notes what XML allows and the runtimes do not read.
func (s *scanner) odd(line int, format string, args ...any) {
	s.lexical.add(model.Unreadable, line, format, args...)
}

// long notes a text that the runtimes have no room for.
func (s *scanner) long(what, tag string, n, room int) {
	if n > room {
		s.lexical.add(model.NoRoom, s.line, "%s of %d bytes in <%s>, and the runtimes have room for %d", what, n, excerptOf(tag), room)
	}
}

// excerptOf shortens a name for a message.
func excerptOf(name string) string {
	if len(name) > 40 {
		return name[:40] + "..."
	}
	return name
}

// char returns the next byte, or 0 at the end.
func (s *scanner) char() (byte, error) {
	c, err := s.r.ReadByte()
	if err != nil {
		if errors.Is(err, io.EOF) {
			return 0, nil
		}
		return 0, &SyntaxError{File: s.file, Line: s.line, Message: "cannot be read: " + err.Error(), Err: err}
	}
	if c == '\n' {
		s.line++
	}
	if c == 0 {
		return 0, s.fail(s.line, "a zero byte, want XML")
	}
	return c, nil
}

func (s *scanner) intern(b []byte) string {
	if known, ok := s.names[string(b)]; ok {
		return known
	}
	text := string(b)
	if len(s.names) < 1<<14 && len(text) < 32 {
		s.names[text] = text
	}
	return text
}

// next reads the next tag.
func (s *scanner) next() (tagKind, error) {
	if s.selfly {
		s.selfly = false
		s.stack = s.stack[:len(s.stack)-1]
		return closed, nil
	}
	for {
		c, err := s.char()
		if err != nil {
			return atEnd, err
		}
		switch c {
		case ' ', '\n', '\r':
			continue
		case '\t':
			s.odd(s.line, "a tab between elements: the runtimes' parser expects '<' and stops")
			continue
		case 0:
			if len(s.stack) > 0 {
				return atEnd, s.fail(s.line, "ends inside <%s>, want </%s>", s.stack[len(s.stack)-1], s.stack[len(s.stack)-1])
			}
			if !s.root {
				return atEnd, s.fail(s.line, "is empty, want <algo>")
			}
			return atEnd, nil
		case '<':
		default:
			where := "before <algo>"
			switch {
			case len(s.stack) > 0:
				where = "in <" + s.top() + ">"
			case s.root:
				where = "after </algo>"
			}
			return atEnd, s.fail(s.line, "text %s (%s), want nothing but elements", where, s.excerpt(c))
		}
		kind, again, err := s.tag()
		if err != nil || !again {
			return kind, err
		}
	}
}

func (s *scanner) top() string { return s.stack[len(s.stack)-1] }

// excerpt quotes the text that begins with c.
func (s *scanner) excerpt(c byte) string {
	rest, _ := s.r.Peek(20)
	text := append([]byte{c}, rest...)
	for i, b := range text {
		if b == '\n' || b == '<' {
			text = text[:i]
			break
		}
	}
	return fmt.Sprintf("%q", text)
}

// tag reads what follows '<'; again says that it was a comment or a prologue.
func (s *scanner) tag() (kind tagKind, again bool, err error) {
	s.tagLine = s.line
	c, err := s.char()
	if err != nil {
		return atEnd, false, err
	}
	switch c {
	case '!':
		return atEnd, true, s.comment()
	case '?':
		if s.root || len(s.stack) > 0 {
			return atEnd, false, s.fail(s.line, "a processing instruction inside the document, want none")
		}
		s.odd(s.line, "an XML declaration <?...?>: the runtimes' parser expects '>' after an attribute and stops")
		return atEnd, true, s.until("?>", "a declaration")
	case '/':
		name, c, err := s.word()
		if err != nil {
			return atEnd, false, err
		}
		if isSpace(c) {
			s.odd(s.line, "a blank in </%s >: the runtimes' parser expects '>' and stops", name)
			if c, err = s.skipSpace(); err != nil {
				return atEnd, false, err
			}
		}
		switch {
		case c != '>':
			return atEnd, false, s.fail(s.line, "closing tag </%s is not closed, want '>'", name)
		case len(s.stack) == 0:
			return atEnd, false, s.fail(s.line, "closing tag </%s> without an opening one", name)
		case s.top() != name:
			return atEnd, false, s.fail(s.line, "closing tag </%s>, want </%s>", name, s.top())
		}
		s.stack = s.stack[:len(s.stack)-1]
		return closed, false, nil
	}
	if err := s.r.UnreadByte(); err != nil {
		return atEnd, false, s.fail(s.line, "ends after '<', want a tag")
	}
	if c == '\n' {
		s.line--
	}
	return opened, false, s.open()
}

// open reads an opening tag after its '<'.
func (s *scanner) open() error {
	name, c, err := s.word()
	if err != nil {
		return err
	}
	if name == "" {
		return s.fail(s.line, "'<' without a name, want a tag")
	}
	if len(s.stack) == 0 {
		if s.root {
			return s.fail(s.tagLine, "a second document begins (<%s>), want one", name)
		}
		s.root = true
	}
	if len(s.stack) >= maxDepth {
		return s.fail(s.tagLine, "elements are nested more than %d deep, want algo, gpu, tb and step", maxDepth)
	}
	s.name, s.attrs, s.slots = name, s.attrs[:0], 0
	s.long("an element's name", name, len(name), roomElement)
	for {
		switch {
		case c == '>':
			s.stack = append(s.stack, name)
			return s.finishTag()
		case c == '/':
			if c, err = s.char(); err != nil {
				return err
			}
			if c != '>' {
				return s.fail(s.line, "'/' in <%s>, want '/>'", name)
			}
			s.stack = append(s.stack, name)
			s.selfly = true
			return s.finishTag()
		case c == ' ':
		case isSpace(c):
			s.odd(s.line, "a line break or tab inside <%s>: the runtimes' parser wants single blanks there and stops", name)
		case c == 0:
			return s.fail(s.line, "ends inside the tag <%s", name)
		default:
			return s.fail(s.line, "%q in the tag <%s, want a blank, '/>' or '>'", c, name)
		}
		if c, err = s.attribute(name); err != nil {
			return err
		}
	}
}

func (s *scanner) finishTag() error {
	if n := len(s.attrs); n > 0 && s.attrs[n-1].slot >= roomAttrs {
		s.lexical.add(model.Loads, s.tagLine, "<%s> has more than %d attributes (a further blank counts as one), and the runtimes do not see %s", excerptOf(s.name), roomAttrs, excerptOf(s.attrs[n-1].key))
	}
	for i := range s.attrs {
		for j := range i {
			if s.attrs[i].key == s.attrs[j].key {
				return s.fail(s.tagLine, "attribute %s twice in <%s>, want it once", s.attrs[i].key, s.name)
			}
		}
	}
	return nil
}

// attribute reads one attribute, if there is one, and returns what follows it.
func (s *scanner) attribute(tag string) (byte, error) {
	s.slots++
	c, err := s.char()
	for ; err == nil && isSpace(c); c, err = s.char() {
		if s.slots++; c != ' ' {
			s.odd(s.line, "a line break or tab inside <%s>: the runtimes' parser wants single blanks there and stops", excerptOf(tag))
		}
	}
	if err != nil || c == '>' || c == '/' || c == 0 {
		return c, err
	}
	slot := s.slots - 1
	if err := s.r.UnreadByte(); err != nil {
		return 0, s.fail(s.line, "ends inside <%s", tag)
	}
	key, c, err := s.word()
	if err != nil {
		return 0, err
	}
	s.long("the name of an attribute", tag, len(key), roomKey)
	if isSpace(c) {
		s.odd(s.line, "a blank before '=' in <%s>: the runtimes do not find the attribute %s", tag, key)
		if c, err = s.skipSpace(); err != nil {
			return 0, err
		}
	}
	if c != '=' || key == "" {
		return 0, s.fail(s.line, "attribute %q of <%s> has no value, want %s=\"...\"", key, tag, key)
	}
	if c, err = s.char(); err != nil {
		return 0, err
	}
	if isSpace(c) {
		s.odd(s.line, "a blank after '=' in <%s>: the runtimes' parser wants a quotation mark and stops", tag)
		if c, err = s.skipSpace(); err != nil {
			return 0, err
		}
	}
	if c != '"' && c != '\'' {
		return 0, s.fail(s.line, "value of %s in <%s> is not quoted, want %s=\"...\"", key, tag, key)
	}
	if c == '\'' {
		s.odd(s.line, "%s='...' in <%s>: the runtimes end a value at '\"' only", key, tag)
	}
	quote := c
	s.text = s.text[:0]
	for {
		if c, err = s.char(); err != nil {
			return 0, err
		}
		switch {
		case c == quote:
			if len(s.text) > roomValue { // else no text is made for each of them
				s.long("the value of "+excerptOf(key), tag, len(s.text), roomValue)
			}
			s.attrs = append(s.attrs, attribute{key, s.intern(s.text), slot})
			if len(s.attrs) > 256 {
				return 0, s.fail(s.line, "more than 256 attributes in <%s>", tag)
			}
			return s.char()
		case c == 0:
			return 0, s.fail(s.line, "ends inside the value of %s in <%s>", key, tag)
		case c == '<':
			return 0, s.fail(s.line, "'<' in the value of %s in <%s>, want its quotation mark before", key, tag)
		case len(s.text) >= maxText:
			return 0, s.fail(s.line, "value of %s in <%s> has more than %d bytes", key, tag, maxText)
		}
		s.text = append(s.text, c)
	}
}

// word reads a name and returns what ends it.
func (s *scanner) word() (string, byte, error) {
	s.text = s.text[:0]
	for {
		c, err := s.char()
		if err != nil {
			return "", 0, err
		}
		if c == 0 || c == '>' || c == '/' || c == '=' || c == '<' || c == '"' || c == '\'' || isSpace(c) {
			return s.intern(s.text), c, nil
		}
		if len(s.text) >= 255 {
			return "", 0, s.fail(s.line, "a name of more than 255 bytes, want a tag or an attribute")
		}
		s.text = append(s.text, c)
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

func (s *scanner) skipSpace() (byte, error) {
	for {
		if c, err := s.char(); err != nil || !isSpace(c) {
			return c, err
		}
	}
}

// comment reads what follows "<!".
func (s *scanner) comment() error {
	head, _ := s.r.Peek(2)
	if string(head) != "--" {
		return s.fail(s.line, "a document type or section <!%s...>, want none: entities are not read", head)
	}
	if _, err := s.r.Discard(2); err != nil {
		return s.fail(s.line, "ends inside a comment")
	}
	s.firstWord()
	return s.until("-->", "a comment")
}

// firstWord looks at the first word of a comment, which the runtimes' parser reads as it
// does an element's name.
func (s *scanner) firstWord() {
	head, _ := s.r.Peek(roomElement)
	for i, c := range head {
		switch {
		case i+len("!--") > roomElement:
			s.lexical.add(model.NoRoom, s.line, "a comment that begins with a word of more than %d bytes, for which the runtimes have no room", roomElement-len("!--"))
			return
		case c == '=':
			s.odd(s.line, "a '=' in the first word of a comment: the runtimes' parser takes it for an attribute and stops")
			return
		case c == '>' || c == '/' || isSpace(c) && c != '\t':
			return
		}
	}
}

func (s *scanner) until(end, what string) error {
	from, last := s.line, [3]byte{}
	for {
		c, err := s.char()
		if err != nil {
			return err
		}
		if c == 0 {
			return s.fail(from, "%s is not closed, want %s", what, end)
		}
		last = [3]byte{last[1], last[2], c}
		if string(last[3-len(end):]) == end {
			return nil
		}
	}
}
