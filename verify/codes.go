package verify

// Code names a kind of violation. Codes never change their meaning; new ones
// are added.
type Code string

// The codes. Explain has a sentence and the smallest example for each.
const (
	MissingContribution Code = "missing-contribution"
	DoubleContribution  Code = "double-contribution"
	WrongValue          Code = "wrong-value"
	SendUndefined       Code = "send-undefined"
	ReduceUndefined     Code = "reduce-into-undefined"
	ReadWriteRace       Code = "read-write-race"
	WriteWriteRace      Code = "write-write-race"
	LinkOverlap         Code = "link-overlap"
	PortOverload        Code = "port-overload"
	StaleSum            Code = "stale-sum"
	NoSuchLink          Code = "no-such-link"
	TooFast             Code = "too-fast"
	TooSlow             Code = "too-slow"
	BeforeRelease       Code = "before-release"
	Malformed           Code = "malformed"
)

// The codes of concurrent programs, beside MissingContribution, DoubleContribution,
// WrongValue, the races and Malformed, which they have as well.
const (
	Deadlock          Code = "deadlock"
	NeverSignalled    Code = "never-signalled"
	UnmatchedSend     Code = "unmatched-send"
	CountMismatch     Code = "count-mismatch"
	SharedConnection  Code = "shared-connection"
	OutOfBounds       Code = "out-of-bounds"
	UninitialisedRead Code = "uninitialised-read"
	WouldNotLoad      Code = "would-not-load"
)

// The codes of workloads, beside those of schedules and Deadlock.
const (
	ComputeOverlap   Code = "compute-overlap"
	BeforeDependency Code = "before-dependency"
	OutOfMemory      Code = "out-of-memory"
	WrongTree        Code = "wrong-tree"
)

// The codes of conditions: what may matter about a program, and does not refute it.
const (
	RankOrder      Code = "rank-order"
	ClobberedInput Code = "clobbered-input"
	LateSignal     Code = "late-signal"
	IdleOwner      Code = "idle-owner"
	TooFewSlots    Code = "too-few-slots"
	RemoteOrder    Code = "remote-order"
)

// The codes of execution plans, beside those of concurrent programs. The first refute.
const (
	BadReference    Code = "bad-reference"
	RuntimeLimit    Code = "runtime-limit"
	SignalBalance   Code = "signal-balance"
	BarrierMismatch Code = "barrier-mismatch"
	EntryHandshake  Code = "entry-handshake"
	ExitHandshake   Code = "exit-handshake"
	PacketProtocol  Code = "packet-protocol"
	PacketMixed     Code = "packet-mixed"
	PacketTwice     Code = "packet-twice"
	SizeLimit       Code = "size-limit"
	RelaxedOrder    Code = "relaxed-order"
	NextLaunch      Code = "next-launch"
	SharedChannel   Code = "shared-channel"
	KernelDeparts   Code = "kernel-departs"
)
