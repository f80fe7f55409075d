//go:build !linux && !js

package machine

// addressSpace returns false: it is known on Linux only.
func addressSpace() (int64, bool) { return 0, false }

// PeakMemory returns 0: it is known on Linux only.
func PeakMemory() int64 { return 0 }

// freeDisk returns false: it is known on Linux only.
func freeDisk(string) (int64, bool) { return 0, false }
