package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/verify/plan"
)

// printPlan writes the properties of an execution plan, and for which messages it is proved.
func printPlan(w io.Writer, r *plan.Report) {
	var words []string
	for _, name := range plan.PropertyNames {
		words = append(words, name+" "+r.Properties[name].String())
	}
	Line(w, "properties  %s", strings.Join(words, ", "))
	switch {
	case r.High > 0:
		text := fmt.Sprintf("proved for %s, multiples of %s", r.Range(), model.FormatBytes(r.Unit))
		if r.Beyond != "" {
			text += "; not beyond, since " + r.Beyond
		}
		Line(w, "messages    %s", text)
	case r.Fails > 0:
		Line(w, "messages    fails for %s, the smallest that was looked at and fails", model.FormatBytes(r.Fails))
	}
}

// planToJSON adds what is decided about an execution plan.
func planToJSON(j *DeployJSON, r *plan.Report) {
	j.Format = "MSCCL++"
	j.Engines[plan.Engine] = r.Verdict.Outcome.String()
	for _, name := range plan.PropertyNames {
		j.Properties[name] = r.Properties[name].String()
	}
	j.Messages = &messagesJSON{r.Low, r.High, r.Unit, r.Beyond, r.Fails}
	for i := range j.Violations {
		j.Violations[i].Engine = plan.Engine
	}
}
