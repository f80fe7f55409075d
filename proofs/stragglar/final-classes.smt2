; In round m+i the classes P_i to P_{q-2} with the straggler are 2^i + (2^i + .. + 2^(q-3)) = Q
; ranks, of which Q-1 are ready ones.
;
; t = 2^i, Q = 2^(q-2); s = |P_{i+1}|+..+|P_{q-2}| = 2^i + .. + 2^(q-3) = (Q-1) - (t-1) by
; size-classes; P_i has t-1 ready ranks, for the straggler is the one more of its t.
;
; Models solve/stragglar, (*spreading).finish and move.
(set-logic QF_LIA)
(declare-const t Int)
(declare-const Q Int)
(declare-const s Int)
(declare-const ready Int)
; Assumptions. They can hold: sat.
(assert (>= t 1))
(assert (>= Q t))
(assert (= s (- (- Q 1) (- t 1))))
(assert (= ready (+ (- t 1) s)))
(check-sat)
; The claim, denied: unsat.
(assert (not (and (= ready (- Q 1)) (= (+ t s) Q))))
(check-sat)
