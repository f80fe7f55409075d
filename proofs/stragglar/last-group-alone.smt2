; The group that is the largest in the end, of g >= 1 ranks, has not been the only one that ranks
; were taken from: it would have had g+r.
;
; Q = 2^(q-2), n = 2Q+r. P_{q-1} has 2Q-1 ranks, those that lack the same being a group, of at
; most r-1 ranks by (I4). r ranks of B are paired with one of the largest group each; k = 2Q-r are
; left, the straggler among them. G is the size of the group at first.
;
; Models solve/stragglar, (*spreading).last.
(set-logic QF_LIA)
(declare-const Q Int)
(declare-const r Int)
(declare-const g Int)
(declare-const G Int)
; Assumptions. They can hold: sat.
(assert (>= Q 1))
(assert (>= r 2))
(assert (<= r (* 2 Q)))
(assert (>= g 1))
(assert (<= G (- r 1)))
(assert (>= G 0))
(check-sat)
; The claim, denied: unsat.
(assert (not (distinct G (+ g r))))
(check-sat)
