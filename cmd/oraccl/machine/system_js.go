package machine

import "runtime"

// page is how much memory a program of WebAssembly can address.
const page = 4 << 30

// had returns what the program has taken of it so far. It gives none back.
func had() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}

// addressSpace returns what is left of the memory that a program of WebAssembly can address.
func addressSpace() (int64, bool) { return max(0, page-had()), true }

// PeakMemory returns what the program has taken so far, by the account of Go's runtime.
func PeakMemory() int64 { return had() }

// freeDisk returns false: files are in the memory of the page.
func freeDisk(string) (int64, bool) { return 0, false }
