// Package certify runs methods, has what they find verified, and sets it beside lower
// bounds whose certificates were checked. It is the only package that knows both sides:
// the methods and bounds under solve, and the checkers under verify. What may be called
// proved, optimal or a bound is decided here, once:
//
//   - a schedule is proved when verify.Combine proves it from the verdicts of all engines;
//   - a bound is used when verify/cert accepts its certificate;
//   - a makespan is optimal when it equals such a bound for every cut;
//   - a proved makespan below such a bound is a verify.Contradiction, an error.
package certify
