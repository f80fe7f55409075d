; Claim: the schedule delivers exactly the contributions of broadcast from rank 0 of 1 MiB in 1 chunk, 4 ranks, on switch4, pipelined, in every order of events that the schedule allows.
;
; x3 is rank 3's contribution to the chunk, any value. v3_0 is the first value that
; rank 3 holds of the chunk, v3_1 the one after the next write to it, and so on;
; d3_1 reports whether v3_1 is defined. Each scope asserts the negated claim, that
; some obligation o0, o1, ... is broken: unsat says that none can be. Numbers
; compared are times, in picoseconds or rounds from the chunk's first read.
; The schedule is right if every (check-sat) answers what the line before it expects.
; Z3 needs no options for this file; cvc5 needs --incremental.
(set-logic QF_LIA)

; the order of accesses to all slots
(push 1)
; whether it has begun, and ended: chunk 0's transfer 0: copy, rank 0 to rank 1
(declare-const s0 Bool)
(declare-const e0 Bool)
; whether it has begun, and ended: chunk 0's transfer 1: copy, rank 0 to rank 2
(declare-const s1 Bool)
(declare-const e1 Bool)
; whether it has begun, and ended: chunk 0's transfer 2: copy, rank 1 to rank 3
(declare-const s2 Bool)
(declare-const e2 Bool)
; assumed:
(assert (=> e0 s0))
(assert (=> e1 s1))
(assert (=> e2 s2))
(assert (=> s2 e0))
; the assumptions do not contradict each other: expect sat
(check-sat)
; chunk 0 of rank 1: no read by transfer 2 before the write by transfer 0 is over: expect unsat
(check-sat-assuming (s2 (not e0)))
(pop 1)

; chunk 0: the values that it takes
(push 1)
; rank 0's contribution
(declare-const x0 Int)
; rank 0 at the start; whether that is defined
(define-fun v0_0 () Int x0)
(define-fun d0_0 () Bool true)
; broken if rank 0 is undefined when it is read by transfer 0: copy, rank 0 to rank 1
(define-fun o0 () Bool (not d0_0))
; rank 1 after transfer 0: copy, rank 0 to rank 1
(define-fun v1_0 () Int v0_0)
(define-fun d1_0 () Bool d0_0)
; broken if rank 0 is undefined when it is read by transfer 1: copy, rank 0 to rank 2
(define-fun o1 () Bool (not d0_0))
; rank 2 after transfer 1: copy, rank 0 to rank 2
(define-fun v2_0 () Int v0_0)
(define-fun d2_0 () Bool d0_0)
; broken if rank 1 is undefined when it is read by transfer 2: copy, rank 1 to rank 3
(define-fun o2 () Bool (not d1_0))
; rank 3 after transfer 2: copy, rank 1 to rank 3
(define-fun v3_0 () Int v1_0)
(define-fun d3_0 () Bool d1_0)
; wanted at the end by rank 0, and by all up to the next such line
(define-fun w0 () Int x0)
; broken if rank 0 ends undefined or with anything but what it must have
(define-fun o3 () Bool (or (not d0_0) (distinct v0_0 w0)))
; broken if rank 1 ends undefined or with anything but what it must have
(define-fun o4 () Bool (or (not d1_0) (distinct v1_0 w0)))
; broken if rank 2 ends undefined or with anything but what it must have
(define-fun o5 () Bool (or (not d2_0) (distinct v2_0 w0)))
; broken if rank 3 ends undefined or with anything but what it must have
(define-fun o6 () Bool (or (not d3_0) (distinct v3_0 w0)))
; the negated claim, that some obligation is broken: expect unsat
(assert (or o0 o1 o2 o3 o4 o5 o6))
(check-sat)
(pop 1)
