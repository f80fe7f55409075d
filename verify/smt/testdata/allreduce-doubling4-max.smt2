; Claim: the schedule delivers exactly the contributions of allreduce of 4 MiB in 1 chunk, 4 ranks, on switch4, rounds, in the order of events that the schedule's rounds fix.
;
; x3 is rank 3's contribution to the chunk, any value. v3_0 is the first value that
; rank 3 holds of the chunk, v3_1 the one after the next write to it, and so on;
; d3_1 reports whether v3_1 is defined. Each scope asserts the negated claim, that
; some obligation o0, o1, ... is broken: unsat says that none can be. Numbers
; compared are times, in picoseconds or rounds from the chunk's first read.
; The schedule is right if every (check-sat) answers what the line before it expects.
; Z3 needs no options for this file; cvc5 needs --incremental.
(set-logic QF_LIA)

; chunk 0: the values that it takes
(push 1)
; rank 0's contribution
(declare-const x0 Bool)
; rank 1's contribution
(declare-const x1 Bool)
; rank 2's contribution
(declare-const x2 Bool)
; rank 3's contribution
(declare-const x3 Bool)
; rank 0 at the start; whether that is defined
(define-fun v0_0 () Bool x0)
(define-fun d0_0 () Bool true)
; rank 1 at the start; whether that is defined
(define-fun v1_0 () Bool x1)
(define-fun d1_0 () Bool true)
; rank 2 at the start; whether that is defined
(define-fun v2_0 () Bool x2)
(define-fun d2_0 () Bool true)
; rank 3 at the start; whether that is defined
(define-fun v3_0 () Bool x3)
(define-fun d3_0 () Bool true)
; broken if rank 0 is undefined when it is read by transfer 0: reduce, rank 0 to rank 1, in round 0
(define-fun o0 () Bool (not d0_0))
; broken if rank 1 is undefined when it is read by transfer 1: reduce, rank 1 to rank 0, in round 0
(define-fun o1 () Bool (not d1_0))
; broken if rank 2 is undefined when it is read by transfer 2: reduce, rank 2 to rank 3, in round 0
(define-fun o2 () Bool (not d2_0))
; broken if rank 3 is undefined when it is read by transfer 3: reduce, rank 3 to rank 2, in round 0
(define-fun o3 () Bool (not d3_0))
; broken if the write of rank 1 by transfer 0 does not come after the read by transfer 1
(define-fun o4 () Bool (<= 1 0))
; broken if rank 1 is undefined when it is added to by transfer 0: reduce, rank 0 to rank 1, in round 0
(define-fun o5 () Bool (not d1_0))
; rank 1 after transfer 0: reduce, rank 0 to rank 1, in round 0
(define-fun v1_1 () Bool (or v1_0 v0_0))
(define-fun d1_1 () Bool d1_0)
; broken if the write of rank 0 by transfer 1 does not come after the read by transfer 0
(define-fun o6 () Bool (<= 1 0))
; broken if rank 0 is undefined when it is added to by transfer 1: reduce, rank 1 to rank 0, in round 0
(define-fun o7 () Bool (not d0_0))
; rank 0 after transfer 1: reduce, rank 1 to rank 0, in round 0
(define-fun v0_1 () Bool (or v0_0 v1_0))
(define-fun d0_1 () Bool d0_0)
; broken if the write of rank 3 by transfer 2 does not come after the read by transfer 3
(define-fun o8 () Bool (<= 1 0))
; broken if rank 3 is undefined when it is added to by transfer 2: reduce, rank 2 to rank 3, in round 0
(define-fun o9 () Bool (not d3_0))
; rank 3 after transfer 2: reduce, rank 2 to rank 3, in round 0
(define-fun v3_1 () Bool (or v3_0 v2_0))
(define-fun d3_1 () Bool d3_0)
; broken if the write of rank 2 by transfer 3 does not come after the read by transfer 2
(define-fun o10 () Bool (<= 1 0))
; broken if rank 2 is undefined when it is added to by transfer 3: reduce, rank 3 to rank 2, in round 0
(define-fun o11 () Bool (not d2_0))
; rank 2 after transfer 3: reduce, rank 3 to rank 2, in round 0
(define-fun v2_1 () Bool (or v2_0 v3_0))
(define-fun d2_1 () Bool d2_0)
; broken if the read of rank 0 by transfer 4 does not come after the write by transfer 1
(define-fun o12 () Bool (< 1 1))
; broken if rank 0 is undefined when it is read by transfer 4: reduce, rank 0 to rank 2, in round 1
(define-fun o13 () Bool (not d0_1))
; broken if the read of rank 1 by transfer 5 does not come after the write by transfer 0
(define-fun o14 () Bool (< 1 1))
; broken if rank 1 is undefined when it is read by transfer 5: reduce, rank 1 to rank 3, in round 1
(define-fun o15 () Bool (not d1_1))
; broken if the read of rank 2 by transfer 6 does not come after the write by transfer 3
(define-fun o16 () Bool (< 1 1))
; broken if rank 2 is undefined when it is read by transfer 6: reduce, rank 2 to rank 0, in round 1
(define-fun o17 () Bool (not d2_1))
; broken if the read of rank 3 by transfer 7 does not come after the write by transfer 2
(define-fun o18 () Bool (< 1 1))
; broken if rank 3 is undefined when it is read by transfer 7: reduce, rank 3 to rank 1, in round 1
(define-fun o19 () Bool (not d3_1))
; broken if the write of rank 2 by transfer 4 does not come after the read by transfer 6
(define-fun o20 () Bool (<= 2 1))
; broken if rank 2 is undefined when it is added to by transfer 4: reduce, rank 0 to rank 2, in round 1
(define-fun o21 () Bool (not d2_1))
; rank 2 after transfer 4: reduce, rank 0 to rank 2, in round 1
(define-fun v2_2 () Bool (or v2_1 v0_1))
(define-fun d2_2 () Bool d2_1)
; broken if the write of rank 3 by transfer 5 does not come after the read by transfer 7
(define-fun o22 () Bool (<= 2 1))
; broken if rank 3 is undefined when it is added to by transfer 5: reduce, rank 1 to rank 3, in round 1
(define-fun o23 () Bool (not d3_1))
; rank 3 after transfer 5: reduce, rank 1 to rank 3, in round 1
(define-fun v3_2 () Bool (or v3_1 v1_1))
(define-fun d3_2 () Bool d3_1)
; broken if the write of rank 0 by transfer 6 does not come after the read by transfer 4
(define-fun o24 () Bool (<= 2 1))
; broken if rank 0 is undefined when it is added to by transfer 6: reduce, rank 2 to rank 0, in round 1
(define-fun o25 () Bool (not d0_1))
; rank 0 after transfer 6: reduce, rank 2 to rank 0, in round 1
(define-fun v0_2 () Bool (or v0_1 v2_1))
(define-fun d0_2 () Bool d0_1)
; broken if the write of rank 1 by transfer 7 does not come after the read by transfer 5
(define-fun o26 () Bool (<= 2 1))
; broken if rank 1 is undefined when it is added to by transfer 7: reduce, rank 3 to rank 1, in round 1
(define-fun o27 () Bool (not d1_1))
; rank 1 after transfer 7: reduce, rank 3 to rank 1, in round 1
(define-fun v1_2 () Bool (or v1_1 v3_1))
(define-fun d1_2 () Bool d1_1)
; wanted at the end by rank 0, and by all up to the next such line
(define-fun w0 () Bool (or x0 x1 x2 x3))
; broken if rank 0 ends undefined or with anything but what it must have
(define-fun o28 () Bool (or (not d0_2) (xor v0_2 w0)))
; broken if rank 1 ends undefined or with anything but what it must have
(define-fun o29 () Bool (or (not d1_2) (xor v1_2 w0)))
; broken if rank 2 ends undefined or with anything but what it must have
(define-fun o30 () Bool (or (not d2_2) (xor v2_2 w0)))
; broken if rank 3 ends undefined or with anything but what it must have
(define-fun o31 () Bool (or (not d3_2) (xor v3_2 w0)))
; the negated claim, that some obligation is broken: expect unsat
(assert (or o0 o1 o2 o3 o4 o5 o6 o7 o8 o9 o10 o11 o12 o13 o14 o15 o16 o17 o18 o19 o20 o21 o22 o23 o24 o25 o26 o27 o28 o29 o30 o31))
(check-sat)
(pop 1)
