// Package built names the source that the program was built from.
package built

import "runtime/debug"

// Version returns the version of the module, or "devel".
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// Tool returns how files name the program that wrote them: "oraccl v1.2.3".
func Tool() string { return "oraccl " + Version() }
