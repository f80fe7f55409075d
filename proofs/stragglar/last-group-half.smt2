; If a rank was taken from another group when it was the largest, and after that none, that group
; has at least g-1 ranks in the end, and then g <= k/2.
;
; Q = 2^(q-2), n = 2Q+r. P_{q-1} has 2Q-1 ranks, those that lack the same being a group, of at
; most r-1 ranks by (I4). r ranks of B are paired with one of the largest group each; k = 2Q-r are
; left, the straggler among them. When the last rank was taken from another group it had h ranks,
; and the one that is largest in the end, g then, no more than h; both are among the k-1 that are
; left and lack something.
;
; Models solve/stragglar, (*spreading).last.
(set-logic QF_LIA)
(declare-const Q Int)
(declare-const r Int)
(declare-const g Int)
(declare-const then Int)
(declare-const h Int)
; Assumptions. They can hold: sat.
(assert (>= Q 1))
(assert (>= r 2))
(assert (<= r (* 2 Q)))
(assert (>= g 1))
(assert (>= then g))
(assert (>= h then))
(assert (<= (+ g (- h 1)) (- (* 2 Q) 1 r)))
(check-sat)
; The claim, denied: unsat.
(assert (not (<= (* 2 g) (- (* 2 Q) r))))
(check-sat)
