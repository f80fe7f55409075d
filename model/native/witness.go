package native

import (
	"fmt"
	"math"
	"reflect"
	"strings"

	"github.com/oraccl/oraccl/model"
)

// A witness is read and written by the tags of its fields, so that a new kind needs
// nothing here. Fields are whole numbers, texts, truth values, structs, and slices of them.

var (
	timeType   = reflect.TypeFor[model.Time]()
	priceType  = reflect.TypeFor[model.InstantPrice]()
	numberType = reflect.TypeFor[int64]()
)

// keyOf returns the key of a field in JSON, and whether it may be absent.
func keyOf(f reflect.StructField) (key string, optional bool) {
	key, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	if key == "" {
		panic(fmt.Sprintf("field %s has no tag with its key", f.Name))
	}
	return key, options == "omitempty"
}

// witness reads the evidence: an object whose key "kind" names what else it has.
func (d *decoder) witness() model.Witness {
	d.space()
	start := d.pos
	if d.next() != '{' {
		d.fail("%s, want a witness", d.found())
	}
	if !d.seekKey("kind") {
		d.failAt(start, "key %q is missing, want it in a witness", "kind")
	}
	zero := word(d, "a kind", model.WitnessOf)
	d.pos = start
	w := reflect.New(reflect.TypeOf(zero)).Elem()
	kind := field{"kind", true, func() { d.text("a kind") }}
	d.object(fmt.Sprintf("a witness of kind %q", zero.Kind()), append([]field{kind}, d.fields(w)...))
	return w.Interface().(model.Witness)
}

// fields returns the fields of a struct, which the decoder sets.
func (d *decoder) fields(v reflect.Value) []field {
	var all []field
	for i := range v.NumField() {
		key, optional := keyOf(v.Type().Field(i))
		all = append(all, field{key, !optional, func() { d.value(v.Field(i)) }})
	}
	return all
}

// value reads a value into v.
func (d *decoder) value(v reflect.Value) {
	switch t := v.Type(); {
	case t == priceType:
		d.triple(v.Addr().Interface().(*model.InstantPrice))
	case t == timeType, t == numberType:
		v.SetInt(d.whole(math.MinInt64/2, math.MaxInt64))
	case t.Kind() == reflect.Int:
		v.SetInt(d.whole(math.MinInt32, math.MaxInt32))
	case t.Kind() == reflect.String:
		v.SetString(d.text("a text"))
	case t.Kind() == reflect.Bool:
		v.SetBool(d.boolean())
	case t.Kind() == reflect.Struct:
		d.object("an object", d.fields(v))
	case t.Kind() == reflect.Slice:
		list := reflect.MakeSlice(t, 0, 0)
		d.array("an array", func(int) {
			x := reflect.New(t.Elem()).Elem()
			d.value(x)
			list = reflect.Append(list, x)
		})
		v.Set(list)
	default:
		panic(fmt.Sprintf("a witness has a field of type %v", t))
	}
}

// triple reads [what, instant, price].
func (d *decoder) triple(x *model.InstantPrice) {
	at, n := d.pos, 0
	var three [3]int64
	d.array("[what, instant, price]", func(i int) {
		three[i%3], n = d.whole(0, model.MaxPrice), i+1
	})
	if n != len(three) {
		d.failAt(at, "%d numbers, want three, [what, instant, price]", n)
	}
	*x = model.InstantPrice{Of: int(three[0]), Instant: int(three[1]), Price: three[2]}
}

func (e *encoder) witness(w model.Witness) {
	e.block(append([]member{textMember(e, "kind", w.Kind())}, e.membersOf(reflect.ValueOf(w))...)...)
}

// membersOf returns the members of a struct. What may be absent is left out if it is nil or 0.
func (e *encoder) membersOf(v reflect.Value) []member {
	var all []member
	for i := range v.NumField() {
		key, optional := keyOf(v.Type().Field(i))
		if f := v.Field(i); !optional || !f.IsZero() {
			all = append(all, member{key, func() { e.value(f) }})
		}
	}
	return all
}

// value writes v: lists of structs a line each, the innermost structs on one line.
func (e *encoder) value(v reflect.Value) {
	switch t := v.Type(); {
	case t == priceType:
		x := v.Interface().(model.InstantPrice)
		list(e, []int64{int64(x.Of), int64(x.Instant), x.Price})
	case v.CanInt():
		e.number(v.Int())
	case t.Kind() == reflect.String:
		e.text(v.String())
	case t.Kind() == reflect.Bool:
		e.raw(fmt.Sprint(v.Bool()))
	case t.Kind() == reflect.Struct && nested(t):
		e.block(e.membersOf(v)...)
	case t.Kind() == reflect.Struct:
		e.inline(e.membersOf(v))
	case t.Elem().Kind() == reflect.Struct && t.Elem() != priceType:
		e.lines(v.Len(), func(i int) { e.value(v.Index(i)) })
	default:
		e.raw("[")
		for i := range v.Len() {
			if i > 0 {
				e.raw(", ")
			}
			e.value(v.Index(i))
		}
		e.raw("]")
	}
}

// nested reports whether a struct has lists of structs in it.
func nested(t reflect.Type) bool {
	for i := range t.NumField() {
		if f := t.Field(i).Type; f.Kind() == reflect.Slice && f.Elem().Kind() == reflect.Struct && f.Elem() != priceType {
			return true
		}
	}
	return false
}

// inline writes an object on one line.
func (e *encoder) inline(members []member) {
	for i, m := range members {
		e.raw(map[bool]string{true: "{", false: ", "}[i == 0])
		e.text(m.key)
		e.raw(": ")
		m.write()
	}
	e.raw("}")
}
