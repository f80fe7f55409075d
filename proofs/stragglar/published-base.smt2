; The published construction: a rank of A_{u-q} gets chunk x of a rank of A_x, u-q < x < u, which
; it does not have, and is in A_x before round u+1.
;
; n = 2^q ranks; the ready ones fall into the sets A_{u-q}, .., A_{u-1} before round u, |A_{u-j}|
; = 2^(j-1); c is any chunk.
;
; Models solve/stragglar, (*state).exchange, spread and swap.
(set-logic QF_LIA)
(declare-const q Int)
(declare-const u Int)
(declare-const x Int)
(declare-const c Int)
; What a rank has before round u that is in the class of chunk x: all up to u-q-1, and x.
(define-fun has ((c Int) (u Int) (x Int)) Bool (or (<= c (- u q 1)) (= c x)))
; Assumptions. They can hold: sat.
(assert (>= q 1))
(assert (< (- u q) x))
(assert (< x u))
(check-sat)
; The claim, denied: unsat.
(assert (not (and (= (or (has c u (- u q)) (= c x)) (has c (+ u 1) x)) (not (has x u (- u q))) (has x u x))))
(check-sat)
