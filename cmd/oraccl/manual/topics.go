package manual

import "github.com/oraccl/oraccl/model"

// Document is a kind of JSON document that the program prints: the types of its forms, as
// encoding/json writes them. Who prints it is said in JSON.md.
type Document struct {
	Schema string
	Types  []any
}

// Program is what the manual has to know of the program that it is for.
type Program struct {
	Methods     []Method
	Workloads   []Value                      // the methods for workloads
	BusFactor   func(*model.Problem) float64 // busbw over algbw
	Keys        string                       // JSON.md
	Documents   []Document
	Experiments Experiments
	// Shared are values of types that several documents have, by the path at which a
	// document describes them: "oraccl/gap/2 bound".
	Shared map[string]any
}

// Topics returns the topics, in the order in which they are listed.
func Topics(p Program) []Topic {
	return []Topic{
		methodsTopic(p.Methods), workloadsTopic(p.Workloads), boundsTopic(), enginesTopic(), violationsTopic(), lintTopic(),
		topologiesTopic(), collectivesTopic(p.BusFactor), costTopic(), unitsTopic(),
		questionsTopic(), formatsTopic(), plansTopic(), jsonTopic(p.Keys), schemaTopic(p), specTopic(), experimentsTopic(p.Experiments), environmentTopic(), exitTopic(),
	}
}
