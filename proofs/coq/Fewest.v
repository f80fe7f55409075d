(** What verify/cert shows of rounds alone: a bound on time shows as many rounds as it takes of the longest
    that there can be, under link-rounds where all links join ranks and nobody is late; and what a rank alone has
    takes as many rounds that begin once it has come as there are chunks and doublings. *)
From Coq Require Import Bool List ZArith Lia.
From Oraccl Require Import Cut Round Spread Timed Schedule Passing Bounds Replay InRounds RoundTime RoundRules RoundHops.
Import ListNotations.
Open Scope Z_scope.

Section Job.
Variable j : job.
Notation at_link := (at_link j).

Definition between_ranks : bool := forallb (fun l => is_rank j (Cut.dst l)) (links j).
Definition nobody_comes_late : bool := forallb (Z.eqb 0) (release j).
Definition longest_round : Z := greatest (fun l => greatest (fun b => latency l + beta l b) (sizes j)) (links j).

Section Rounds.
Variable sch : list sent.
Hypothesis sane : positive j.
Hypothesis good : right_in_rounds j true sch.
Hypothesis direct : between_ranks = true.
Hypothesis early : nobody_comes_late = true.
Notation n := (how_many sch).

Lemma one_link t : In t sch -> exists i, route t = [i] /\ (i < length (links j))%nat.
Proof.
  intros Ht. destruct (proj1 good t Ht) as [[_ [_ [_ Hne]]] [Hl [Nd [_ [_ In2]]]]]. specialize (In2 eq_refl). destruct (route t) as [|i r]; [simpl in Hl; congruence|].
  exists i. destruct Hl as [Hi [Hs Hl]]. split; [|exact Hi]. f_equal. unfold visited in *. cbn [map] in *. apply NoDup_cons_iff in Nd. destruct Nd as [N1 N2].
  assert (Rk : is_rank j (Cut.dst (at_link i)) = true).
  { unfold between_ranks in direct. rewrite forallb_forall in direct. apply direct, nth_In, Hi. }
  destruct (In2 (Cut.dst (at_link i))) as [E|E]; [right; left; reflexivity|exact Rk| |].
  - exfalso. apply N1. left. exact E.
  - destruct r as [|i' r]; [reflexivity|]. exfalso. apply NoDup_cons_iff in N2. destruct N2 as [N2 _]. apply N2. rewrite E.
    clear - Hl. revert Hl. generalize (Cut.dst (at_link i)). revert i'. induction r as [|x r IH]; intros i' u Hl.
    + destruct Hl as [_ [_ Hl]]. left. exact Hl.
    + destruct Hl as [_ [_ Hl]]. right. apply (IH x _ Hl).
Qed.
Lemma no_longer t : In t sch -> duration j (size j (what (tr (data t)))) (route t) <= longest_round.
Proof.
  intros Ht. destruct (one_link t Ht) as [i [-> Hi]]. destruct (proj1 good t Ht) as [[Rk _] _].
  unfold duration. cbn [hops]. assert (is_rank j (Cut.dst (at_link i)) = true) as ->.
  { unfold between_ranks in direct. rewrite forallb_forall in direct. apply direct, nth_In, Hi. }
  unfold sum, latencies, slowest, sum. cbn [fold_right]. pose proof (sane_link j sane i) as [_ Lb].
  pose proof (beta_0 (at_link i) (size j (what (tr (data t)))) Lb (sane_size j sane _)).
  assert (latency (at_link i) + beta (at_link i) (size j (what (tr (data t)))) <= longest_round); [|lia].
  unfold longest_round. eapply Z.le_trans; [|apply (greatest_ge (fun l => greatest (fun b => latency l + beta l b) (sizes j)) (links j) (at_link i)); apply nth_In, Hi].
  apply (greatest_ge (fun b => latency (at_link i) + beta (at_link i) b) (sizes j)). apply nth_In, Rk.
Qed.
Lemma waits_0 r : round_waits j sch r = 0.
Proof.
  assert (A : forall v, arrival j v = 0).
  { intros v. unfold nobody_comes_late in early. rewrite forallb_forall in early. unfold arrival. destruct (Nat.lt_ge_cases v (length (release j))) as [L|L].
    - symmetry. apply Z.eqb_eq, early, nth_In, L.
    - apply nth_overflow, L. }
  assert (Z0 : forall (B : Type) (f : B -> Z) l, (forall x, f x = 0) -> greatest f l = 0).
  { intros B f l Hf. unfold greatest. induction l as [|x l IH]; [reflexivity|]. cbn [fold_right]. rewrite IH, Hf. reflexivity. }
  unfold round_waits. apply Z0. intros t. apply Z0. intros v. destruct (is_rank j v); [apply A|reflexivity].
Qed.
Lemma rounds_take_at_most m : rounds_end j sch m <= Z.of_nat (rounds (rounds_from sch 0 m)) * longest_round.
Proof.
  assert (L0 : 0 <= longest_round) by apply greatest_0.
  induction m as [|m IH]; [simpl; lia|].
  assert (E : rounds (rounds_from sch 0 (S m)) = (rounds (rounds_from sch 0 m) + rounds [round_of sch m])%nat).
  { unfold rounds_from. rewrite seq_S, map_app. unfold rounds. rewrite filter_app, app_length. reflexivity. }
  rewrite E. cbn [rounds_end].
  assert (R1 : rounds [round_of sch m] = match sent_in sch m with [] => 0%nat | _ => 1%nat end) by (unfold round_of; destruct (sent_in sch m); reflexivity).
  rewrite R1. clear E R1.
  assert (G : round_lasts j sch m <= longest_round).
  { unfold round_lasts. assert (W : forall x, In x (sent_in sch m) -> duration j (size j (what (tr (data x)))) (route x) <= longest_round).
    { intros x Hx. apply filter_In in Hx. apply no_longer, Hx. }
    revert W. generalize (sent_in sch m). induction l as [|x l IHl]; intros W; [simpl; exact L0|]. cbn [greatest fold_right].
    specialize (IHl (fun y Hy => W y (or_intror Hy))). specialize (W x (or_introl eq_refl)). unfold greatest in IHl. lia. }
  rewrite waits_0. destruct (sent_in sch m) as [|t l].
  - lia.
  -     assert (0 <= rounds_end j sch m).
    { assert (P : forall x, 0 <= rounds_end j sch x).
      { induction x as [|x IHx]; [simpl; lia|]. cbn [rounds_end]. assert (0 <= round_lasts j sch x) by apply greatest_0. destruct (sent_in sch x); lia. }
      apply P. }
    lia.
Qed.
(** What bounds the time of a schedule bounds its rounds. *)
Theorem rounds_of_time bound : bound <= round_makespan j sch -> bound <= Z.of_nat (rounds (rounds_from sch 0 n)) * longest_round.
Proof. intros H. eapply Z.le_trans; [exact H|]. apply rounds_take_at_most. Qed.
End Rounds.

(** ** Rounds that begin once a rank has come *)

(** Those that move something, and begin at [a] or later. *)
Definition rounds_since (sch : list sent) (a : Z) : list nat :=
  filter (fun r => moves (round_of sch r) && (a <=? Z.max (rounds_end j sch r) (round_waits j sch r))) (seq 0 (how_many sch)).
Theorem spread_since h q sch : positive j -> right_in_rounds j false sch -> (h < nodes j)%nat -> (1 <= q)%nat -> spread_items j h q <> [] ->
  (length (spread_items j h q) + (q - 1) <= length (rounds_since sch (arrival j h)))%nat.
Proof.
  intros sane good Hh Hq Ne. destruct (execution_in_rounds j sch good) as [H [He [_ Hg]]].
  destruct (spread_named j sch sane good H He Hg h q (spread_items j h q) 0 Hh Hq) as [R [N [I [L [Mv [W _]]]]]]; [apply NoDup_filter, seq_NoDup|exact Ne| |lia|].
  { intros k Hk. apply filter_In in Hk. destruct Hk as [_ Hk]. apply andb_true_iff in Hk. rewrite Nat.ltb_lt in Hk. split; [apply Hk|]. split; [apply Hk|]. unfold first_hop. lia. }
  rewrite <- L. apply NoDup_incl_length; [exact N|]. intros r Hr. apply filter_In. split; [apply I, Hr|]. apply andb_true_iff.
  specialize (Mv r Hr) as Mr. split; [unfold round_of; destruct (sent_in sch r); [congruence|reflexivity]|]. apply Z.leb_le.
  assert (Go : forall x, sent_in sch x <> [] -> rounds_end j sch (S x) - round_lasts j sch x = Z.max (rounds_end j sch x) (round_waits j sch x)).
  { intros x Hx. cbn [rounds_end]. destruct (sent_in sch x); [congruence|lia]. }
  destruct (least_of R) as [r0 [R0 Rm]]; [intros ->; destruct Hr|]. specialize (W r0 R0 Rm). rewrite Go in W by (apply Mv, R0).
  destruct (Nat.eq_dec r r0) as [->|Ne']; [exact W|]. specialize (Rm r Hr).
  assert (Up : forall a b, (a <= b)%nat -> rounds_end j sch a <= rounds_end j sch b).
  { intros a b Hab. induction Hab as [|b Hab IHb]; [lia|]. eapply Z.le_trans; [exact IHb|]. cbn [rounds_end].
    assert (0 <= round_lasts j sch b) by apply greatest_0. destruct (sent_in sch b); lia. }
  pose proof (Up (S r0) r ltac:(lia)) as U. pose proof (Go r0 (Mv r0 R0)) as G0. assert (0 <= round_lasts j sch r0) by apply greatest_0. lia.
Qed.
End Job.
