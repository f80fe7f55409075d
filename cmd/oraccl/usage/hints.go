// Package usage explains the command line: which verbs and flags may have been meant by one that
// does not exist, the verb help with the topics of the manual, and what shells complete. It and
// the command itself are the only packages that know cobra, which reads command lines.
package usage

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/oraccl/oraccl/cmd/oraccl/exit"
	"github.com/oraccl/oraccl/model"
	"github.com/oraccl/oraccl/model/instance"
	"github.com/oraccl/oraccl/solve/certify"
	"github.com/spf13/cobra"
)

// AddHints has errors of usage say what would be right: the usage line, or the names that
// may have been meant.
func AddHints(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		AddHints(c)
	}
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			var h exit.Hinted
			if err == nil || errors.As(err, &h) {
				return err
			}
			return exit.Hint(err, usageHint(cmd, args))
		}
	}
	cmd.SetFlagErrorFunc(flagHint)
}

// usageHint says how a command is used that got the wrong arguments.
func usageHint(cmd *cobra.Command, args []string) string {
	var below []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			below = append(below, c.Name())
		}
	}
	if below == nil || len(args) == 0 {
		return "usage: " + cmd.UseLine()
	}
	return Meant(args[0], below, fmt.Sprintf("%s knows %s", cmd.CommandPath(), strings.Join(below, ", ")))
}

// flagNames finds the flags in a usage text.
var flagNames = regexp.MustCompile(`(?m)^ +(?:-\w, )?--([a-z0-9-]+)`)

// flagHint states which flags there are that are like one that there is not.
func flagHint(cmd *cobra.Command, err error) error {
	hint := fmt.Sprintf("oraccl help %s lists the flags", strings.TrimPrefix(cmd.CommandPath(), "oraccl "))
	if name, unknown := strings.CutPrefix(err.Error(), "unknown flag: --"); unknown {
		var all []string
		for _, m := range flagNames.FindAllStringSubmatch(cmd.Flags().FlagUsages(), -1) {
			all = append(all, m[1])
		}
		near := nearest(name, all)
		if i := slices.IndexFunc(all, func(f string) bool { return strings.HasPrefix(name, f+"-") || f == strings.ReplaceAll(name, "_", "-") }); i >= 0 && len(near) == 0 {
			near = all[i : i+1]
		}
		if len(near) > 0 {
			hint = "did you mean --" + strings.Join(near, " or --") + "?"
		}
	}
	if strings.Contains(err.Error(), "missing unit in duration") {
		hint = "a time has a unit, such as 90s or 1m30s"
	}
	return exit.Hint(err, hint)
}

// OfCommand makes two lines of what cobra says of a command that does not exist, and says
// how one is used that lacks a flag.
func OfCommand(cmd *cobra.Command, err error) error {
	if strings.HasPrefix(err.Error(), "required flag(s)") {
		return exit.Hint(err, "usage: "+cmd.UseLine())
	}
	text, near, found := strings.Cut(err.Error(), "\n\nDid you mean this?\n")
	if !strings.HasPrefix(text, "unknown command ") {
		return err
	}
	if !found {
		return exit.Hint(errors.New(text), "oraccl help lists the verbs and the topics of the manual")
	}
	return exit.Hint(errors.New(text), "did you mean "+strings.Join(strings.Fields(near), " or ")+"?")
}

// Hint returns the way out of an error, or "".
func Hint(err error) string {
	var h exit.Hinted
	var wrong *instance.Error
	var method *certify.UnknownMethodError
	var collective *instance.UnknownCollectiveError
	switch {
	case errors.As(err, &h):
		return h.Hint
	case errors.As(err, &wrong):
		return wrong.Hint
	case errors.As(err, &method):
		return Meant(method.Name, method.Known, "oraccl help methods describes them")
	case errors.As(err, &collective):
		var names []string
		for _, k := range model.Kinds() {
			names = append(names, k.String())
		}
		return Meant(collective.Name, names, "")
	}
	return ""
}

// Meant asks whether one of the names was meant that are nearest to a name that does not
// exist. Where none is near, it returns the other hint.
func Meant(name string, names []string, other string) string {
	if near := nearest(name, names); len(near) > 0 {
		return "did you mean " + strings.Join(near, " or ") + "?"
	}
	return other
}

// nearest returns the names that one who wrote name may have meant, as cobra finds them.
func nearest(name string, names []string) []string {
	all := &cobra.Command{Use: "all", SuggestionsMinimumDistance: 2}
	for _, n := range names {
		all.AddCommand(&cobra.Command{Use: n, Run: func(*cobra.Command, []string) {}})
	}
	return all.SuggestionsFor(name)
}
