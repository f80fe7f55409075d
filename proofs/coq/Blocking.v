(** A right schedule under blocking is right under pipelined: each link is busy from the same
    instant, and no longer. So what bounds all right pipelined schedules bounds those, too. *)
From Coq Require Import Bool List ZArith Lia.
From Oraccl Require Import Cut Round Timed Schedule Passing.
Import ListNotations.
Open Scope Z_scope.

Section Job.
Variable j : job.
Hypothesis sane : positive j.
Definition pipelined : job := Job (nodes j) (links j) (ports j) Pipelined (release j) (sizes j) (idempotent j) (pre j) (post j).

Definition no_longer (a b : use) : Prop := fst a = fst b /\ first (snd a) = first (snd b) /\ long (snd a) <= long (snd b).
Lemma along_shorter slow h : forall from, Forall2 no_longer (along pipelined slow from h) (along j slow from h).
Proof.
  induction h as [|i h IH]; intros from; constructor; [|apply IH]. repeat split. cbn [snd long]. change (model pipelined) with Pipelined.
  pose proof (sane_link j sane i). destruct (model j); lia.
Qed.
Lemma hops_shorter b hs : forall from, Forall2 no_longer (busy_hops pipelined b from hs) (busy_hops j b from hs).
Proof. induction hs as [|h hs IH]; intros from; [constructor|]. apply Forall2_app; [apply along_shorter|apply IH]. Qed.
Lemma uses_shorter sch : Forall2 no_longer (uses pipelined sch) (uses j sch).
Proof. induction sch as [|t sch IH]; [constructor|]. apply Forall2_app; [apply hops_shorter|apply IH]. Qed.

Theorem blocking_is_pipelined sch : right j sch -> right pipelined sch.
Proof.
  intros [W [D [P E]]]. pose proof (uses_shorter sch) as S. split; [exact W|]. split; [|split; [|exact E]].
  - clear P E W. unfold disjoint in *. revert D. induction S as [|a b l k [A [F L]] S IH]; intros D; [constructor|]. inversion D as [|? ? Hb Dk]; subst.
    constructor; [|apply IH, Dk]. rewrite Forall_forall in *. intros c Hc Ec.
    assert (X : exists d, In d k /\ no_longer c d).
    { clear - S Hc. induction S as [|x y l k H S IH]; [destruct Hc|]. destruct Hc as [<-|Hc]; [exists y; split; [left|]; auto|].
      destruct (IH Hc) as [d [Hd N]]. exists d. split; [right|]; auto. }
    destruct X as [d [Hd [A' [F' L']]]]. specialize (Hb d Hd ltac:(congruence)). unfold apart in *. lia.
  - intros ls c Hp x. specialize (P ls c Hp x). eapply Nat.le_trans; [|exact P]. clear - S.
    induction S as [|a b l k [A [F L]] S IH]; [reflexivity|]. cbn [filter].
    assert (M : uses_at ls x a = true -> uses_at ls x b = true).
    { unfold uses_at. rewrite A, F, !andb_true_iff, !Z.ltb_lt. intros [H1 H2]. split; [exact H1|lia]. }
    destruct (uses_at ls x a); [rewrite M by reflexivity; simpl; lia|]. destruct (uses_at ls x b); simpl; lia.
Qed.
End Job.
