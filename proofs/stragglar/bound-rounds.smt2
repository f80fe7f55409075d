; So T rounds are m+q-1 or more: the last first sending is in a round t >= m, and 2^(T-t+1) >= n >
; 2^(q-1).
;
; The last assumption is that 2^k does not fall as k grows.
;
; Models verify/cert, (*job).spread.
(set-logic QF_UFLIA)
(declare-const T Int)
(declare-const t Int)
(declare-const m Int)
(declare-const q Int)
(declare-const n Int)
(declare-fun two (Int) Int)
; Assumptions. They can hold: sat.
(assert (>= m 1))
(assert (>= q 1))
(assert (>= t m))
(assert (<= t T))
(assert (> n (two (- q 1))))
(assert (<= n (two (+ (- T t) 1))))
(assert (=> (<= (+ (- T t) 1) (- q 1)) (<= (two (+ (- T t) 1)) (two (- q 1)))))
(check-sat)
; The claim, denied: unsat.
(assert (not (>= T (- (+ m q) 1))))
(check-sat)
