package manual

import "github.com/oraccl/oraccl/model"

// Program is what the manual has to know of the program that it is for.
type Program struct {
	Methods   []Method
	BusFactor func(*model.Problem) float64 // busbw over algbw
}

// Topics returns the topics, in the order in which they are listed.
func Topics(p Program) []Topic {
	return []Topic{
		methodsTopic(p.Methods), boundsTopic(), violationsTopic(), lintTopic(),
		topologiesTopic(), collectivesTopic(p.BusFactor), costTopic(), unitsTopic(),
		formatsTopic(), specTopic(), environmentTopic(), exitTopic(),
	}
}
