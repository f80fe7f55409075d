package judge

import (
	"context"
	"errors"

	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/solve/certify"
)

// NCCL returns an error: in a web page (command oraccl-site) no field asks for what NCCL would run.
func NCCL(context.Context, string, *model.Problem) ([]certify.Given, error) {
	return nil, errors.New("what NCCL would run is not in a page; the installed program has it")
}
