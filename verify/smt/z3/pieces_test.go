//go:build cgo

package z3

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestFirstCommands: the pieces of a script are all of it, each begins with a command, and none is longer than asked for by more than the command
// that is under way then: while Z3 reads a piece it cannot be interrupted.
func TestFirstCommands(t *testing.T) {
	commands := []string{"(declare-const x Int)\n", "(define-fun y () Int\n(+ x\n1))\n", "(assert (=\n(+ x 1) y))\n", "(assert true)\n"}
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOf(rapid.SampledFrom(commands)).Draw(t, "commands")
		about := rapid.IntRange(1, 60).Draw(t, "about")
		script := strings.Join(list, "")
		longest, pieces := 0, 0
		for _, c := range list {
			longest = max(longest, len(c))
		}
		for rest := script; rest != ""; pieces++ {
			n := firstCommands(rest, about)
			require.Positive(t, n)
			require.LessOrEqual(t, n, about+longest)
			piece := rest[:n]
			for piece != "" {
				i := 0
				for ; i < len(commands) && !strings.HasPrefix(piece, commands[i]); i++ {
				}
				require.Less(t, i, len(commands), "%q is no command", piece)
				piece = piece[len(commands[i]):]
			}
			rest = rest[n:]
		}
		require.GreaterOrEqual(t, pieces*(about+longest), len(script))
	})
}
