; P_{j+1} is P_j, of 2^(j-1) ranks, and as many that got its chunk: 2^j ranks before round u+1; in
; the final rounds, where the straggler counts with the class of chunk m, just so.
;
; Models solve/stragglar, (*spreading).step and move.
(set-logic QF_UFLIA)
(declare-const j Int)
; two(k) is 2^k and sum(k) is |P_1|+..+|P_k|, |P_j| = 2^(j-1), as far as these queries need them.
(declare-fun two (Int) Int)
(declare-fun sum (Int) Int)
; Assumptions. They can hold: sat.
(assert (>= j 1))
(assert (= (two j) (* 2 (two (- j 1)))))
(check-sat)
; The claim, denied: unsat.
(assert (not (= (+ (two (- j 1)) (two (- j 1))) (two j))))
(check-sat)
