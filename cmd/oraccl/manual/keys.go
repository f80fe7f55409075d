package manual

import (
	"regexp"
	"slices"
	"strings"
)

// keys is a section of JSON.md: the keys of one schema.
type keys struct {
	schema string // "oraccl/gap/2"
	title  string // what follows the schema in the heading
	blocks []Block
	means  map[string]string // path to meaning
	rows   map[string]string // path to all that its row says
	asked  map[string]bool   // paths that a type has
}

var (
	heading = regexp.MustCompile(`^## (oraccl/[a-z-]+/\d+)(?:: (.*))?$`)
	coded   = regexp.MustCompile("`([^`]+)`")
)

// readKeys reads the sections of JSON.md. A table of keys has paths in its first column:
// `a`, `a.b`, `list[]`, or `.b`, which is below the path that came before it.
func readKeys(text string) []*keys {
	var all []*keys
	var k *keys
	var table *Table
	var para []string
	flush := func() {
		if k != nil && len(para) > 0 {
			k.blocks = append(k.blocks, Para(strings.Join(para, " ")))
		}
		if k != nil && table != nil {
			k.blocks = append(k.blocks, *table)
		}
		para, table = nil, nil
	}
	base := ""
	for _, line := range strings.Split(text, "\n") {
		if m := heading.FindStringSubmatch(line); m != nil {
			flush()
			k = &keys{schema: m[1], title: m[2], means: map[string]string{}, rows: map[string]string{}, asked: map[string]bool{}}
			all = append(all, k)
			base = ""
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), " | ")
		switch {
		case k == nil || line == "":
			flush()
		case strings.HasPrefix(line, "|---"):
		case strings.HasPrefix(line, "|") && table == nil:
			table = &Table{Head: []string{strings.TrimSpace(cells[0]), strings.TrimSpace(cells[1])}}
			base = ""
		case strings.HasPrefix(line, "|"):
			key, meaning := strings.TrimSpace(cells[0]), strings.TrimSpace(strings.Join(cells[1:], " | "))
			table.Rows = append(table.Rows, []string{key, meaning})
			names := coded.FindAllStringSubmatch(key, -1)
			each := strings.Split(meaning, "; ") // of as many keys as there are parts, each has its own
			for i, m := range names {
				path, row := m[1], meaning
				meaning := meaning
				if len(each) == len(names) {
					meaning = each[i]
				}
				switch {
				case strings.HasPrefix(path, "."):
					path = base + path
				case strings.HasSuffix(path, "[]"):
					base = path
				case strings.Contains(path, "."):
					base = path[:strings.LastIndex(path, ".")]
				}
				if before := k.means[path]; before != "" && before != meaning {
					meaning = before + "; or: " + meaning
				}
				k.means[path] = meaning
				k.rows[path] += row
			}
		default:
			para = append(para, line)
		}
	}
	flush()
	return all
}

// describe returns what the section says of the key at path, and notes that a type has it.
// The keys of an object may be named in the meaning of the object.
func (k *keys) describe(path string) string {
	k.asked[path] = true
	for _, p := range []string{path, path + "[]"} {
		if meaning, ok := k.means[p]; ok {
			return plain(meaning)
		}
	}
	return ""
}

// missing returns the keys that a type has and the section does not, and those that the
// section has and no type.
func (k *keys) missing() (undescribed, unknown []string) {
	for path := range k.asked {
		parent, name := "", path
		if i := strings.LastIndex(path, "."); i >= 0 {
			parent, name = path[:i], path[i+1:]
		}
		_, own := k.means[path]
		_, list := k.means[path+"[]"]
		named := strings.Contains(k.rows[parent]+k.rows[strings.TrimSuffix(parent, "[]")], "`"+name+"`")
		if !own && !list && !named && path != "schema" {
			undescribed = append(undescribed, path)
		}
	}
	for path := range k.means {
		if !k.asked[path] && !k.asked[strings.TrimSuffix(path, "[]")] {
			unknown = append(unknown, path)
		}
	}
	slices.Sort(undescribed)
	slices.Sort(unknown)
	return undescribed, unknown
}
