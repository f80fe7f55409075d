; After a round with the straggler the new old chunk is lacked by the owner and v2, after the
; first final round by v2 and the base rank that was fed, after the others by r-1 = 0: two at
; most; and no other old chunk is lacked by more ranks than before.
;
; n = 2Q+1, Q = 2^(q-2) >= 4. Until the last chunk is in, |B| = 2, |P_{q-1}| = Q-1, the lower
; classes have Q-1 ranks, P_{q-2} has h = Q/2 of them. before and after are how many lack an old
; chunk, served how many of them get it.
;
; Models solve/stragglar, (*spreading).powerPlusOne.
(set-logic QF_LIA)
(declare-const owner Int)
(declare-const v2 Int)
(declare-const fed Int)
(declare-const before Int)
(declare-const served Int)
(declare-const after Int)
; Assumptions. They can hold: sat.
(assert (= owner 1))
(assert (= v2 1))
(assert (= fed 1))
(assert (<= before 2))
(assert (>= served 0))
(assert (= after (- before served)))
(check-sat)
; The claim, denied: unsat.
(assert (not (and (<= (+ owner v2) 2) (<= (+ v2 fed) 2) (<= after 2))))
(check-sat)
