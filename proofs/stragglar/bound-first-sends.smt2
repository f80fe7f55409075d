; The straggler sends one chunk a round, so that the rounds in which it sends each of m chunks for
; the first time are m different ones: sorted, the k-th is at k or later, for k = 1, and for k+1
; if for k.
;
; a and b are the k-th and the next of these rounds, first is the first.
;
; Models verify/cert, (*job).spread.
(set-logic QF_LIA)
(declare-const k Int)
(declare-const a Int)
(declare-const b Int)
(declare-const first Int)
; Assumptions. They can hold: sat.
(assert (>= k 1))
(assert (>= first 1))
(assert (>= a k))
(assert (> b a))
(check-sat)
; The claim, denied: unsat.
(assert (not (and (>= first 1) (>= b (+ k 1)))))
(check-sat)
