; The published construction: the owner, a rank of A_{u-q}, gets chunk u, which it does not have,
; and is in A_u before round u+1.
;
; n = 2^q ranks; the ready ones fall into the sets A_{u-q}, .., A_{u-1} before round u, |A_{u-j}|
; = 2^(j-1); c is any chunk.
;
; Models solve/stragglar, (*state).exchange, spread and swap.
(set-logic QF_LIA)
(declare-const q Int)
(declare-const u Int)
(declare-const c Int)
; What a rank has before round u that is in the class of chunk x: all up to u-q-1, and x.
(define-fun has ((c Int) (u Int) (x Int)) Bool (or (<= c (- u q 1)) (= c x)))
; Assumptions. They can hold: sat.
(assert (>= q 1))
(check-sat)
; The claim, denied: unsat.
(assert (not (and (= (or (has c u (- u q)) (= c u)) (has c (+ u 1) u)) (not (has u u (- u q))))))
(check-sat)
