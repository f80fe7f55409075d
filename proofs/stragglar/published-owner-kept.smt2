; The published construction: the owner of round u+i is in A_s with s <= u+i-q, and stays there if
; s > u-q; those of u+1 to u+q-1, q-1 at most, that are in A_{u-q} are matched with A_{u-q+1},
; which has 2^(q-2) >= q-1 ranks for q = 2, and for q+1 if for q, and is the base of the next
; round.
;
; p = 2^(q-2).
;
; Models solve/stragglar, (*state).exchange, spread and swap.
(set-logic QF_LIA)
(declare-const q Int)
(declare-const p Int)
(declare-const i Int)
; Assumptions. They can hold: sat.
(assert (>= q 2))
(assert (>= p (- q 1)))
(assert (>= i 1))
(check-sat)
; The claim, denied: unsat.
(assert (not (and (>= 1 (- 2 1)) (>= (* 2 p) (- (+ q 1) 1)) (<= (+ (- 0 q) 1) (- i q)))))
(check-sat)
