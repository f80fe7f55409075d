package model

import (
	"fmt"
	"slices"
	"strings"
)

// DType is the type of the numbers in a buffer. Ranks compute with all of them; switches that add may
// not.
type DType uint8

// The types, as NCCL has them, and integers of 16 bits. AnyDType is not stated: one that the switches
// add which the schedule has add.
const (
	AnyDType DType = iota
	FP8E4M3
	FP8E5M2
	FP16
	BF16
	FP32
	FP64
	Int8
	Int16
	Int32
	Int64
	Uint8
	Uint16
	Uint32
	Uint64
)

var dtypeNames = []string{"", "fp8-e4m3", "fp8-e5m2", "fp16", "bf16", "fp32", "fp64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}

// String returns the name used in files and on the command line: "bf16", and "" for AnyDType.
func (e DType) String() string {
	if int(e) < len(dtypeNames) {
		return dtypeNames[e]
	}
	return fmt.Sprintf("DType(%d)", uint8(e))
}

// ParseDType is the inverse of DType.String, without AnyDType.
func ParseDType(s string) (DType, error) {
	if i := slices.Index(dtypeNames, s); i > 0 {
		return DType(i), nil
	}
	return 0, fmt.Errorf("element type %s: want %s", Quote(s), strings.Join(dtypeNames[1:], ", "))
}

// DTypes is a set of types.
type DTypes uint16

// DTypeSet returns the set of some types.
func DTypeSet(list ...DType) (s DTypes) {
	for _, e := range list {
		s |= 1 << e
	}
	return s
}

// Has reports whether e is in the set.
func (s DTypes) Has(e DType) bool { return s>>e&1 == 1 }

// List returns the members in the order of their declaration.
func (s DTypes) List() (list []DType) {
	for e := FP8E4M3; e <= Uint64; e++ {
		if s.Has(e) {
			list = append(list, e)
		}
	}
	return list
}

// String returns the names of the members: "fp16, bf16".
func (s DTypes) String() string {
	var names []string
	for _, e := range s.List() {
		names = append(names, e.String())
	}
	return strings.Join(names, ", ")
}
