(** The rules doubling, broadcast and combine where chunks or links differ: a round that moves one of the
    chunks that count lasts as long as the least hop of it, and those in which a rank sends, or receives,
    as long as the least hop over its own links. The rounds are named: in each of some rank h sends, or d receives,
    one of the chunks, and in others one of them is moved. FreeRounds has them where the cut is free. *)
From Coq Require Import Bool List ZArith Lia.
From Oraccl Require Import Cut Round Spread Combine Timed Schedule Passing Bounds Replay InRounds RoundTime RoundRules.
Import ListNotations.
Open Scope Z_scope.

Section Job.
Variable j : job.
Notation at_link := (at_link j).
Notation arrival := (arrival j).
Notation rounds_end := (rounds_end j).
Notation round_lasts := (round_lasts j).
Notation K := (length (sizes j)).
Notation ranks := (seq 0 (nodes j)).

(** ** Hops *)

(** The least time of a hop whose first link, or whose last one, is of some links. *)
Definition first_hop (f : link -> bool) (b : Z) : Z :=
  Z.max 0 (least (map (fun l => latency l + onward j (Cut.dst l) + beta l b) (filter (fun l => is_rank j (Cut.src l) && f l) (links j)))).
Definition before (v : nat) : Z := if is_rank j v then 0 else least (map latency (filter (fun l => (Cut.dst l =? v)%nat) (links j))).
Definition last_hop (f : link -> bool) (b : Z) : Z := Z.max 0 (least (map (fun l => before (Cut.src l) + latency l + beta l b) (filter f (links j)))).

Section Sound.
Variable sch : list sent.
Hypothesis sane : positive j.
Hypothesis good : right_in_rounds j false sch.
Notation n := (how_many sch).

Lemma onward_0 v : 0 <= onward j v.
Proof.
  unfold onward. destruct (is_rank j v); [lia|].
  assert (G : forall l, (forall x, In x l -> 0 <= x) -> 0 <= match l with [] => 0 | x :: l => fold_right Z.min x l end).
  { destruct l as [|x l]; [lia|]. intros H. assert (0 <= x) by (apply H; left; auto). induction l as [|y l IH]; simpl; [lia|].
    assert (0 <= y) by (apply H; right; left; auto). specialize (IH (fun z Hz => H z (match Hz with or_introl e => or_introl e | or_intror e => or_intror (or_intror e) end))). lia. }
  apply G. intros x Hx. apply in_map_iff in Hx. destruct Hx as [l [<- Hx]]. apply filter_In in Hx. apply (proj1 sane l (proj1 Hx)).
Qed.
Lemma before_0 v : 0 <= before v.
Proof.
  unfold before. destruct (is_rank j v); [lia|]. assert (A : forall x, In x (map latency (filter (fun l => (Cut.dst l =? v)%nat) (links j))) -> 0 <= x).
  { intros x Hx. apply in_map_iff in Hx. destruct Hx as [l [<- Hx]]. apply filter_In in Hx. apply (proj1 sane l (proj1 Hx)). }
  revert A. generalize (map latency (filter (fun l => (Cut.dst l =? v)%nat) (links j))). intros [|x l] A; simpl; [lia|]. 
  pose proof (A x (or_introl eq_refl)). induction l as [|y l IH]; simpl; [lia|]. pose proof (A y (or_intror (or_introl eq_refl))).
  specialize (IH (fun z Hz => A z (match Hz with or_introl e => or_introl e | or_intror e => or_intror (or_intror e) end))). lia.
Qed.
(** A transfer of the job, over links that lead from its source to its destination. *)
Definition goes (t : sent) : Prop :=
  let x := tr (data t) in
  ((what x < K)%nat /\ (Round.src x < nodes j)%nat /\ (Round.dst x < nodes j)%nat /\ Round.src x <> Round.dst x) /\ leads j (Round.src x) (route t) (Round.dst x).
Lemma well_goes t : round_well j false t -> goes t.
Proof. intros [A [B _]]. split; assumption. Qed.
Lemma first_lasts t (f : link -> bool) a : goes t -> 0 <= a <= size j (what (tr (data t))) ->
  (forall i, (i < length (links j))%nat -> Cut.src (at_link i) = Round.src (tr (data t)) -> f (at_link i) = true) ->
  first_hop f a <= duration j (size j (what (tr (data t)))) (route t).
Proof.
  intros Ht [Ha Hb] Hf. destruct Ht as [[Rk [Ru [Rv Hne]]] Hl]. set (b := size j (what (tr (data t)))) in *.
  assert (Ev : is_rank j (Round.dst (tr (data t))) = true) by (apply Nat.ltb_lt, Rv).
  assert (Eu : is_rank j (Round.src (tr (data t))) = true) by (apply Nat.ltb_lt, Ru).
  destruct (hops_chain j _ _ _ Hl Ev) as [Ch Hd]. unfold duration. destruct (hops j (route t)) as [|[|i h] hs].
  - rewrite Hd in Hl. simpl in Hl. congruence.
  - destruct Hd.
  - destruct Hd as [Hi Hs]. cbn [sum fold_right]. change (fold_right ?g 0 hs) with (lasting j b hs).
    pose proof (lasting_0 j sane b hs). pose proof (slowest_ge j b (i :: h) i (or_introl eq_refl)) as Sl.
    pose proof (sane_link j sane i) as [La Lb]. pose proof (beta_mono (at_link i) _ _ Lb Hb).
    assert (On : onward j (Cut.dst (at_link i)) <= latencies j h).
    { specialize (Ch (i :: h) (or_introl eq_refl)). destruct Ch as [C _]. destruct h as [|i' h'].
      - unfold onward. rewrite C. unfold latencies. simpl. lia.
      - destruct C as [Hi' Hs']. pose proof (onward_le j sane _ i' Hi' Hs'). pose proof (latencies_0 j sane h').
        unfold latencies in *. simpl. lia. }
    assert (first_hop f a <= latency (at_link i) + onward j (Cut.dst (at_link i)) + beta (at_link i) a).
    { unfold first_hop. apply Z.max_lub.
      - pose proof (beta_0 (at_link i) a Lb Ha). pose proof (onward_0 (Cut.dst (at_link i))). lia.
      - apply least_le. apply (in_map (fun l => latency l + onward j (Cut.dst l) + beta l a)). apply filter_In.
        split; [apply nth_In, Hi|]. rewrite Hs, Eu. apply Hf; auto. }
    unfold latencies in *. simpl. unfold sum in *. lia.
Qed.
Lemma latencies_both a b : latencies j (a ++ b) = latencies j a + latencies j b.
Proof. apply sum_app. Qed.
Lemma lasting_cons b h hs : lasting j b (h :: hs) = latencies j h + slowest j b h + lasting j b hs.
Proof. reflexivity. Qed.
Lemma lasting_above b hs : latencies j (concat hs) <= lasting j b hs.
Proof.
  induction hs as [|h hs IH]; [unfold latencies, lasting; simpl; lia|]. cbn [concat]. rewrite latencies_both, lasting_cons. pose proof (slowest_0 j b h). lia.
Qed.
Lemma lasting_over b i hs : In i (concat hs) -> latencies j (concat hs) + beta (at_link i) b <= lasting j b hs.
Proof.
  induction hs as [|h hs IH]; [intros []|]. cbn [concat]. rewrite in_app_iff, latencies_both, lasting_cons. intros [Hi|Hi].
  - pose proof (slowest_ge j b h i Hi). pose proof (lasting_above b hs). lia.
  - specialize (IH Hi). pose proof (slowest_0 j b h). lia.
Qed.
Lemma leads_to_last a i : forall u v, leads j u (a ++ [i]) v -> leads j u a (Cut.src (at_link i)) /\ (i < length (links j))%nat /\ Cut.dst (at_link i) = v.
Proof.
  induction a as [|x a IH]; simpl; intros u v Hl; [destruct Hl as [A [B C]]; auto|]. destruct Hl as [A [B C]]. destruct (IH _ _ C) as [D [E F]]. auto.
Qed.
Lemma last_lasts t (f : link -> bool) a : goes t -> 0 <= a <= size j (what (tr (data t))) ->
  (forall i, (i < length (links j))%nat -> Cut.dst (at_link i) = Round.dst (tr (data t)) -> f (at_link i) = true) ->
  last_hop f a <= duration j (size j (what (tr (data t)))) (route t).
Proof.
  intros Ht [Ha Hb] Hf. destruct Ht as [[Rk [Ru [Rv Hne]]] Hl]. set (b := size j (what (tr (data t)))) in *.
  assert (Nr : route t <> []) by (intros E; rewrite E in Hl; simpl in Hl; congruence).
  destruct (exists_last Nr) as [r [i Er]]. rewrite Er in Hl. destruct (leads_to_last _ _ _ _ Hl) as [Hr [Li Ei]].
  pose proof (sane_link j sane i) as [La Lb]. pose proof (beta_mono (at_link i) _ _ Lb Hb).
  assert (D : latencies j (route t) + beta (at_link i) b <= duration j b (route t)).
  { rewrite <- (concat_hops j (route t)) at 1. apply lasting_over. rewrite concat_hops, Er. apply in_or_app. right. left. reflexivity. }
  assert (Bf : before (Cut.src (at_link i)) + latency (at_link i) <= latencies j (route t)).
  { rewrite Er. unfold latencies. rewrite sum_app. cbn [sum fold_right]. assert (0 <= sum (fun i => latency (at_link i)) r) by apply (latencies_0 j sane r).
    unfold before. destruct (is_rank j (Cut.src (at_link i))) eqn:E; [lia|]. destruct r as [|y r0].
    - simpl in Hr. assert (is_rank j (Round.src (tr (data t))) = true) by (apply Nat.ltb_lt, Ru). congruence.
    - destruct (@exists_last _ (y :: r0)) as [r' [i' Er']]; [discriminate|]. rewrite Er' in Hr |- *. destruct (leads_to_last _ _ _ _ Hr) as [_ [Li' Ei']].
      rewrite sum_app. cbn [sum fold_right]. assert (0 <= sum (fun i => latency (at_link i)) r') by apply (latencies_0 j sane r').
      assert (least (map latency (filter (fun l => (Cut.dst l =? Cut.src (at_link i))%nat) (links j))) <= latency (at_link i')); [|lia].
      apply least_le. apply (in_map latency). apply filter_In. split; [apply nth_In, Li'|]. apply Nat.eqb_eq, Ei'. }
  eapply Z.le_trans; [|exact D]. unfold last_hop. apply Z.max_lub.
  - pose proof (beta_0 (at_link i) b Lb (sane_size j sane _)). pose proof (latencies_0 j sane (route t)). lia.
  - eapply Z.le_trans; [apply least_le; apply (in_map (fun l => before (Cut.src l) + latency l + beta l a)); apply filter_In; split; [apply nth_In, Li|apply Hf; auto]|].
    unfold Schedule.at_link, the in *. cbn beta. lia.
Qed.

(** ** Rounds, by name *)

Definition carries (k r : nat) : bool := existsb (fun t => (what t =? k)%nat) (round_of sch r).
Lemma carries_spec k r : carries k r = true <-> exists t, In t (sent_in sch r) /\ what (tr (data t)) = k.
Proof.
  unfold carries, round_of. rewrite existsb_exists. split.
  - intros [x [Hx E]]. apply in_map_iff in Hx. destruct Hx as [t [<- Ht]]. apply Nat.eqb_eq in E. eauto.
  - intros [t [Ht E]]. exists (tr (data t)). split; [apply (in_map (fun t => tr (data t))), Ht|apply Nat.eqb_eq, E].
Qed.
Lemma in_sent_in t r : In t (sent_in sch r) -> In t sch /\ begins (data t) = Z.of_nat r /\ (r < n)%nat.
Proof.
  intros Ht. apply filter_In in Ht. destruct Ht as [Ht E]. apply Z.eqb_eq in E. split; [exact Ht|]. split; [exact E|].
  pose proof (ends_makespan sch t Ht). destruct (proj1 good t Ht) as [_ [_ [_ [_ [Ee _]]]]]. unfold how_many. lia.
Qed.
Lemma lasts_ge r t : In t (sent_in sch r) -> duration j (size j (what (tr (data t)))) (route t) <= round_lasts sch r.
Proof. intros Ht. apply (greatest_ge (fun t => duration j (size j (what (tr (data t)))) (route t)) (sent_in sch r) t Ht). Qed.

(** Some rounds, all from [r0] on, where a rank waits for [a]. *)
Lemma rounds_and_wait (R : list nat) a r0 : (forall r, In r R -> (r0 <= r)%nat) -> In r0 R -> a <= rounds_end sch (S r0) - round_lasts sch r0 ->
  forall m, ((m <= r0)%nat -> sum (fun r => if existsb (Nat.eqb r) R then round_lasts sch r else 0) (seq 0 m) = 0) /\
    ((r0 < m)%nat -> a + sum (fun r => if existsb (Nat.eqb r) R then round_lasts sch r else 0) (seq 0 m) <= rounds_end sch m).
Proof.
  intros Hlo H0 Ha. 
  assert (Next : forall r, rounds_end sch r + round_lasts sch r <= rounds_end sch (S r)).
  { intros r. cbn [RoundTime.rounds_end]. unfold RoundTime.round_lasts. destruct (sent_in sch r); [simpl; lia|]. lia. }
  induction m as [|m [IH1 IH2]]; [split; [reflexivity|lia]|]. rewrite seq_S, sum_app. cbn [sum fold_right Nat.add]. rewrite Z.add_0_r.
  assert (P : 0 <= round_lasts sch m) by apply greatest_0. specialize (Next m).
  split; intros L.
  - rewrite IH1 by lia. replace (existsb (Nat.eqb m) R) with false; [reflexivity|]. symmetry. apply not_true_is_false. intros E.
    apply existsb_exists in E. destruct E as [x [Hx E]]. apply Nat.eqb_eq in E. subst x. specialize (Hlo m Hx). lia.
  - destruct (Nat.eq_dec m r0) as [->|Ne].
    + rewrite IH1 by lia. replace (existsb (Nat.eqb r0) R) with true; [lia|]. symmetry. apply existsb_exists. exists r0. split; auto. apply Nat.eqb_refl.
    + specialize (IH2 ltac:(lia)). destruct (existsb (Nat.eqb m) R); lia.
Qed.
Lemma least_of (R : list nat) : R <> [] -> exists r0, In r0 R /\ forall r, In r R -> (r0 <= r)%nat.
Proof.
  induction R as [|a R IH]; intros H; [congruence|]. destruct R as [|b R]; [exists a; split; [left; auto|intros r [<-|[]]; auto]|].
  destruct IH as [r0 [H0 H1]]; [discriminate|]. destruct (Nat.le_gt_cases a r0).
  - exists a. split; [left; auto|]. intros r [<-|Hr]; [auto|]. specialize (H1 r Hr). lia.
  - exists r0. split; [right; auto|]. intros r [<-|Hr]; [lia|auto].
Qed.
Lemma rounds_sum (R : list nat) a : NoDup R -> incl R (seq 0 n) -> R <> [] ->
  (forall r0, In r0 R -> (forall r, In r R -> (r0 <= r)%nat) -> a <= rounds_end sch (S r0) - round_lasts sch r0) ->
  a + sum (round_lasts sch) R <= round_makespan j sch.
Proof.
  intros Nd I Ne Ha. destruct (least_of R Ne) as [r0 [H0 H1]]. specialize (Ha r0 H0 H1).
  pose proof (proj2 (rounds_and_wait R a r0 H1 H0 Ha n)) as L. assert (r0 < n)%nat by (apply I, in_seq in H0; lia).
  specialize (L ltac:(lia)). unfold round_makespan. eapply Z.le_trans; [|exact L].
  enough (sum (round_lasts sch) R <= sum (fun r => if existsb (Nat.eqb r) R then round_lasts sch r else 0) (seq 0 n)) by lia.
  rewrite <- Coverage.sum_filter. apply sum_incl; auto.
  - intros r Hr. apply filter_In. split; [apply I, Hr|]. apply existsb_exists. exists r. split; auto. apply Nat.eqb_refl.
  - intros r. apply greatest_0.
Qed.
Lemma wait_0 r0 : 0 <= rounds_end sch (S r0) - round_lasts sch r0.
Proof.
  assert (E : forall m, 0 <= rounds_end sch m).
  { induction m as [|m IH]; [simpl; lia|]. cbn [RoundTime.rounds_end]. assert (0 <= round_lasts sch m) by apply greatest_0. destruct (sent_in sch m); lia. }
  specialize (E r0). cbn [RoundTime.rounds_end]. unfold RoundTime.round_lasts. destruct (sent_in sch r0); [simpl; lia|]. lia.
Qed.
(** A round in which a rank takes part begins once it has come. *)
Lemma wait_for r0 t v : In t (sent_in sch r0) -> In v (visited j (Round.src (tr (data t))) (route t)) -> (v < nodes j)%nat ->
  arrival v <= rounds_end sch (S r0) - round_lasts sch r0.
Proof.
  intros Ht Hv Rv. cbn [RoundTime.rounds_end]. destruct (sent_in sch r0) as [|x l] eqn:E; [destruct Ht|]. rewrite <- E in Ht.
  assert (A : arrival v <= round_waits j sch r0).
  { eapply Z.le_trans; [|apply (greatest_ge (fun t => greatest (fun v => if is_rank j v then arrival v else 0) (visited j (Round.src (tr (data t))) (route t))) (sent_in sch r0) t Ht)].
    cbn beta. eapply Z.le_trans; [|apply (greatest_ge (fun v => if is_rank j v then arrival v else 0) _ v Hv)].
    cbn beta. unfold is_rank. rewrite (proj2 (Nat.ltb_lt _ _) Rv). lia. }
  lia.
Qed.
(** Between two instants, how many rounds carry a chunk. *)
Definition carrying (k r0 d : nat) : list nat := filter (carries k) (seq r0 d).

Section Execution.
Variable H : Z -> state.
Hypothesis exec : execution (lookup (pre j)) (map data sch) H.
Lemma at_step r : step (H (Z.of_nat r)) (round_of sch r) (H (Z.of_nat (S r))).
Proof. apply (round_step j sch good H exec). Qed.
Lemma not_carried k r l : carries k r = false -> Spread.sent k l (round_of sch r) = @nil transfer.
Proof.
  intros E. destruct (Spread.sent k l (round_of sch r)) as [|t ts] eqn:Es; [reflexivity|]. exfalso.
  assert (Hin : In t (Spread.sent k l (round_of sch r))) by (rewrite Es; left; auto). apply in_sent in Hin. destruct Hin as [A [B _]].
  enough (carries k r = true) by congruence. apply existsb_exists. exists t. split; auto. apply Nat.eqb_eq, B.
Qed.
Lemma double_from c k d : forall r0 l, within (fun _ => c) (H (Z.of_nat r0)) k l ->
  exists l', within (fun _ => c) (H (Z.of_nat (r0 + d))) k l' /\ incl l l' /\ (length l' <= 2 ^ length (carrying k r0 d) * length l)%nat.
Proof.
  induction d as [|d IH]; intros r0 l Hl.
  - exists l. rewrite Nat.add_0_r. split; [exact Hl|]. split; [apply incl_refl|]. simpl. lia.
  - destruct (IH r0 l Hl) as [l1 [W [I L]]]. exists (l1 ++ map Round.dst (Spread.sent k l1 (round_of sch (r0 + d)))).
    replace (r0 + S d)%nat with (S (r0 + d)) by lia. split; [apply (within_step _ _ _ _ _ _ (at_step (r0 + d)) W)|].
    split; [apply incl_appl, I|]. rewrite app_length, map_length. unfold carrying in *. rewrite seq_S, filter_app, app_length. cbn [filter].
    destruct (carries k (r0 + d)) eqn:E; cbn [length].
    + pose proof (sent_length (fun _ => c) k l1 (round_of sch (r0 + d)) (sends_once j sch good (r0 + d))). rewrite Nat.pow_add_r, Nat.pow_1_r, (Nat.mul_comm _ 2), <- Nat.mul_assoc. lia.
    + rewrite not_carried by exact E. cbn [length]. rewrite !Nat.add_0_r. lia.
Qed.

(** ** Doubling *)

Lemma needed_ends v k c : (forall v k w, In ((v, k), w) (post j) -> exists got, H (Z.of_nat n) v k = Some got /\ agrees j got w) ->
  ends_with j c v k = true -> has (fun _ => c) (H (Z.of_nat n)) v k.
Proof. intros Hg E. apply (ends_with_has j (H (Z.of_nat n)) v k c Hg E). Qed.
Lemma start_within c k hs : starts_only j c hs k = true -> within (fun _ => c) (H (Z.of_nat 0)) k hs.
Proof.
  intros Hs. apply (within_ext c (lookup (pre j))); [intros; symmetry; apply (proj1 exec)|apply (starts_only_within j c hs k Hs)].
Qed.
(** Rounds that carry a chunk last as long as its least hop. *)
Lemma carries_lasts k r a : carries k r = true -> 0 <= a <= size j k -> first_hop (fun _ => true) a <= round_lasts sch r.
Proof.
  intros E Ha. apply carries_spec in E. destruct E as [t [Ht <-]]. eapply Z.le_trans; [|apply (lasts_ge r t Ht)].
  apply first_lasts; auto. apply well_goes, (proj1 good), (in_sent_in t r Ht).
Qed.
Lemma carrying_in k r0 d : (r0 + d <= n)%nat -> incl (carrying k r0 d) (seq 0 n).
Proof. intros L r Hr. apply filter_In in Hr. destruct Hr as [Hr _]. apply in_seq in Hr. apply in_seq. lia. Qed.
End Execution.
End Sound.

(** ** The first round *)

Lemma find_first (f : nat -> bool) m : forall a,
  match find f (seq a m) with
  | Some r => (a <= r < a + m)%nat /\ f r = true /\ forall x, (a <= x < r)%nat -> f x = false
  | None => forall x, (a <= x < a + m)%nat -> f x = false
  end.
Proof.
  induction m as [|m IH]; intros a; [simpl; intros; lia|]. cbn [seq find]. destruct (f a) eqn:E.
  - split; [lia|]. split; [exact E|]. intros; lia.
  - specialize (IH (S a)). destruct (find f (seq (S a) m)) as [r|].
    + destruct IH as [A [B C]]. split; [lia|]. split; [exact B|]. intros x Hx. destruct (Nat.eq_dec x a) as [->|]; [exact E|apply C; lia].
    + intros x Hx. destruct (Nat.eq_dec x a) as [->|]; [exact E|apply IH; lia].
Qed.
(** A chunk is first sent by one of those who have the contribution at the start. *)
Definition earliest_of (l : list nat) : Z := least (map arrival l).
Lemma nobody_sends sch (good : right_in_rounds j false sch) H (exec : execution (lookup (pre j)) (map data sch) H) c k hs r :
  within (fun _ => c) (H (Z.of_nat 0)) k hs -> (forall x, (x < r)%nat -> Spread.sent k hs (round_of sch x) = []) -> within (fun _ => c) (H (Z.of_nat r)) k hs.
Proof.
  intros W. induction r as [|r IH]; intros No; [exact W|]. pose proof (within_step _ _ _ _ _ _ (at_step sch good H exec r) (IH (fun x Hx => No x ltac:(lia)))) as W'.
  rewrite No in W' by lia. simpl in W'. rewrite app_nil_r in W'. exact W'.
Qed.
Theorem doubling_core k c e hs rs a sch : positive j -> right_in_rounds j false sch -> starts_only j c hs k = true -> NoDup rs ->
  (forall v, In v rs -> ends_with j c v k = true \/ In v hs) -> (1 <= e)%nat -> (2 ^ (e - 1) * length hs < length rs)%nat -> 0 <= a <= size j k ->
  earliest_of hs + Z.of_nat e * first_hop (fun _ => true) a <= round_makespan j sch.
Proof.
  intros sane good Rs Nr Hrs Re Rp Ha.
  destruct (execution_in_rounds j sch good) as [H [He [H0 Hg]]].
  set (n := how_many sch) in *. set (f := fun r => match Spread.sent k hs (round_of sch r) with [] => false | _ => true end).
  pose proof (find_first f n 0) as F. destruct (find f (seq 0 n)) as [r1|].
  2: { exfalso. assert (W : within (fun _ => c) (H (Z.of_nat n)) k hs).
    { apply (nobody_sends sch good H He c k hs n (start_within sch H He c k hs Rs)). intros x Hx. specialize (F x ltac:(lia)). unfold f in F.
      destruct (Spread.sent k hs (round_of sch x)); [reflexivity|discriminate]. }
    assert (L : (length rs <= length hs)%nat).
    { apply NoDup_incl_length; [exact Nr|]. intros v Hv. destruct (Hrs v Hv) as [E|E]; [apply W, (needed_ends sch H v k c Hg E)|exact E]. }
    assert (2 ^ (e - 1) <> 0)%nat by (apply Nat.pow_nonzero; lia). nia. }
  destruct F as [L1 [F1 F2]].
  assert (W : within (fun _ => c) (H (Z.of_nat r1)) k hs).
  { apply (nobody_sends sch good H He c k hs r1 (start_within sch H He c k hs Rs)). intros x Hx. specialize (F2 x ltac:(lia)). unfold f in F2.
    destruct (Spread.sent k hs (round_of sch x)); [reflexivity|discriminate]. }
  destruct (double_from sch good H He c k (n - r1) r1 hs W) as [l [Hl [Hi Hlen]]]. replace (r1 + (n - r1))%nat with n in Hl by lia.
  assert (L : (length rs <= length l)%nat).
  { apply NoDup_incl_length; [exact Nr|]. intros v Hv. destruct (Hrs v Hv) as [E|E]; [apply Hl, (needed_ends sch H v k c Hg E)|apply Hi, E]. }
  set (R := carrying sch k r1 (n - r1)) in *.
  assert (Le : (e <= length R)%nat).
  { destruct (Nat.lt_ge_cases (length R) e) as [Lt|]; auto. exfalso. assert ((2 ^ length R <= 2 ^ (e - 1))%nat) by (apply Nat.pow_le_mono_r; lia). nia. }
  assert (Hr : forall r, In r R -> first_hop (fun _ => true) a <= round_lasts sch r).
  { intros r Hr. apply filter_In in Hr. apply (carries_lasts sch sane good k r a); [apply Hr|exact Ha]. }
  assert (Sum : Z.of_nat (length R) * first_hop (fun _ => true) a <= sum (round_lasts sch) R).
  { revert Hr. generalize R as ls. induction ls as [|r l0 IH]; intros Hr; [simpl; lia|]. specialize (IH (fun x Hx => Hr x (or_intror Hx))).
    specialize (Hr r (or_introl eq_refl)). cbn [length sum fold_right]. unfold sum in IH. lia. }
  assert (S1 : exists t, In t (sent_in sch r1) /\ what (tr (data t)) = k /\ In (Round.src (tr (data t))) hs).
  { unfold f in F1. destruct (Spread.sent k hs (round_of sch r1)) as [|x xs] eqn:Es; [discriminate|].
    assert (Hx : In x (Spread.sent k hs (round_of sch r1))) by (rewrite Es; left; auto). apply in_sent in Hx. destruct Hx as [A [B C]].
    unfold round_of in A. apply in_map_iff in A. destruct A as [t [<- Ht]]. eauto. }
  destruct S1 as [t [T1 [T2 T3]]].
  assert (InR : In r1 R).
  { apply filter_In. split; [apply in_seq; lia|]. apply carries_spec. eauto. }
  assert (Tot : earliest_of hs + sum (round_lasts sch) R <= round_makespan j sch).
  { apply rounds_sum; [apply NoDup_filter, seq_NoDup|apply carrying_in; lia|intros E; rewrite E in InR; destruct InR|].
    intros r0 R0 Rm. assert (r0 = r1) by (specialize (Rm r1 InR); apply filter_In in R0; destruct R0 as [R0 _]; apply in_seq in R0; lia). subst r0.
    eapply Z.le_trans; [apply least_le, (in_map arrival), T3|]. apply (wait_for sch r1 t _ T1); [left; reflexivity|].
    destruct (proj1 good t (proj1 (in_sent_in sch good t r1 T1))) as [[_ [Ru _]] _]. exact Ru. }
  assert (0 <= first_hop (fun _ => true) a) by (unfold first_hop; lia). nia.
Qed.
(** Those who have a contribution to a chunk at the start, those who have or need it, and how often they must double. *)
Definition holders (k c : nat) : list nat := nodup Nat.eq_dec (map (fun e => fst (fst e)) (filter (fun e => (snd (fst e) =? k)%nat && containsb (snd e) c) (pre j))).
Definition havers_of (k c : nat) : list nat := filter (fun v => ends_with j c v k || existsb (Nat.eqb v) (holders k c)) ranks.
Definition doublings (k c : nat) : nat := Nat.log2_up ((length (havers_of k c) + length (holders k c) - 1) / length (holders k c)).
Definition must_double (k c : nat) : bool :=
  starts_only j c (holders k c) k && (2 ^ (doublings k c - 1) * length (holders k c) <? length (havers_of k c))%nat && (1 <=? doublings k c)%nat.
Lemma havers_have k c v : In v (havers_of k c) -> ends_with j c v k = true \/ In v (holders k c).
Proof.
  intros Hv. apply filter_In in Hv. destruct Hv as [_ Hv]. apply orb_true_iff in Hv. destruct Hv as [|Hv]; [auto|right].
  apply existsb_exists in Hv. destruct Hv as [x [Hx E]]. apply Nat.eqb_eq in E. congruence.
Qed.
Definition doubling_rule (k c : nat) (bound : Z) : bool :=
  must_double k c && (bound <=? earliest_of (holders k c) + Z.of_nat (doublings k c) * first_hop (fun _ => true) (size j k)).
Theorem doubling_sound k c bound sch : positive j -> doubling_rule k c bound = true -> right_in_rounds j false sch -> bound <= round_makespan j sch.
Proof.
  intros sane R good. unfold doubling_rule, must_double in R. rewrite !andb_true_iff, Nat.ltb_lt, Nat.leb_le, Z.leb_le in R. destruct R as [[[Rs Rp] Re] Rb].
  eapply Z.le_trans; [exact Rb|]. apply (doubling_core k c _ (holders k c) (havers_of k c)); auto.
  - apply NoDup_filter, seq_NoDup.
  - apply havers_have.
  - split; [apply sane_size, sane|lia].
Qed.

(** ** The last round *)

Lemma find_last (f : nat -> bool) m :
  match find f (rev (seq 0 m)) with
  | Some r => (r < m)%nat /\ f r = true /\ forall x, (r < x < m)%nat -> f x = false
  | None => forall x, (x < m)%nat -> f x = false
  end.
Proof.
  induction m as [|m IH]; [simpl; intros; lia|]. rewrite seq_S, rev_app_distr. cbn [rev app find plus]. destruct (f m) eqn:E.
  - split; [lia|]. split; [exact E|]. intros; lia.
  - destruct (find f (rev (seq 0 m))) as [r|].
    + destruct IH as [A [B C]]. split; [lia|]. split; [exact B|]. intros x Hx. destruct (Nat.eq_dec x m) as [->|]; [exact E|apply C; lia].
    + intros x Hx. destruct (Nat.eq_dec x m) as [->|]; [exact E|apply IH; lia].
Qed.
Lemma greatest_of (f : nat -> nat) ks : ks <> [] -> exists x, In x ks /\ forall k, In k ks -> (f k <= f x)%nat.
Proof.
  induction ks as [|a ks IH]; intros Ne; [congruence|]. destruct ks as [|b ks]; [exists a; split; [left; auto|intros k [<-|[]]; auto]|].
  destruct IH as [x [Hx Hm]]; [discriminate|]. destruct (Nat.le_gt_cases (f a) (f x)).
  - exists x. split; [right; auto|]. intros k [<-|Hk]; auto.
  - exists a. split; [left; auto|]. intros k [<-|Hk]; [auto|]. specialize (Hm k Hk). lia.
Qed.
Lemma smallest_of (f : nat -> nat) ks : ks <> [] -> exists x, In x ks /\ forall k, In k ks -> (f x <= f k)%nat.
Proof.
  induction ks as [|a ks IH]; intros Ne; [congruence|]. destruct ks as [|b ks]; [exists a; split; [left; auto|intros k [<-|[]]; auto]|].
  destruct IH as [x [Hx Hm]]; [discriminate|]. destruct (Nat.le_gt_cases (f x) (f a)).
  - exists x. split; [right; auto|]. intros k [<-|Hk]; auto.
  - exists a. split; [left; auto|]. intros k [<-|Hk]; [auto|]. specialize (Hm k Hk). lia.
Qed.
Lemma pow_less a b : (2 ^ a < 2 ^ b)%nat -> (a < b)%nat.
Proof. intros L. destruct (Nat.lt_ge_cases a b) as [|G]; auto. pose proof (Nat.pow_le_mono_r 2 b a ltac:(lia) G). lia. Qed.
Lemma in_firstn {A} (x : A) m : forall l, In x (firstn m l) -> In x l.
Proof. induction m as [|m IH]; intros [|a l]; simpl; auto; [tauto|]. intros [->|Hx]; auto. Qed.
Lemma nodup_firstn {A} (l : list A) : NoDup l -> forall m, NoDup (firstn m l).
Proof. induction 1 as [|a l Ha Hn IH]; intros [|m]; simpl; constructor; auto. intros Hin. apply Ha, (in_firstn _ m), Hin. Qed.
Lemma nodup_both {A} (a b : list A) : NoDup a -> NoDup b -> (forall x, In x a -> In x b -> False) -> NoDup (a ++ b).
Proof.
  induction a as [|x a IH]; intros Na Nb D; [exact Nb|]. inversion Na; subst. simpl. constructor.
  - rewrite in_app_iff. intros [Hx|Hx]; [auto|apply (D x); simpl; auto].
  - apply IH; auto. intros y Hy. apply D. right. exact Hy.
Qed.
Lemma nodup_by {A B} (f : A -> B) l : NoDup l -> (forall x y, In x l -> In y l -> f x = f y -> x = y) -> NoDup (map f l).
Proof.
  induction 1 as [|a l Ha Nd IH]; intros Inj; simpl; constructor.
  - intros Hin. apply in_map_iff in Hin. destruct Hin as [b [E Hb]]. apply Ha. rewrite <- (Inj b a); simpl; auto.
  - apply IH. intros x y Hx Hy. apply Inj; right; auto.
Qed.
Lemma sum_at_least {A} (f : A -> Z) l m : (forall x, In x l -> m <= f x) -> Z.of_nat (length l) * m <= sum f l.
Proof.
  induction l as [|a l IH]; intros Hl; [simpl; lia|]. specialize (IH (fun x Hx => Hl x (or_intror Hx))). specialize (Hl a (or_introl eq_refl)).
  cbn [length sum fold_right]. unfold sum in IH. lia.
Qed.

(** ** Broadcast *)

Definition needing (h k : nat) : list nat := filter (fun v => negb (v =? h)%nat && ends_with j h v k) ranks.

Section Spread.
Variable sch : list sent.
Hypothesis sane : positive j.
Hypothesis good : right_in_rounds j false sch.
Notation n := (how_many sch).
Variable H : Z -> state.
Hypothesis exec : execution (lookup (pre j)) (map data sch) H.
Hypothesis goal : forall v k w, In ((v, k), w) (post j) -> exists got, H (Z.of_nat n) v k = Some got /\ agrees j got w.
Variable h : nat.

Definition sends_at (k r : nat) : bool := existsb (fun t => (Round.src t =? h)%nat && (what t =? k)%nat) (round_of sch r).
Definition first_sent (k : nat) : nat := match find (sends_at k) (seq 0 n) with Some r => r | None => n end.
Lemma sends_at_spec k r : sends_at k r = true <-> exists t, In t (sent_in sch r) /\ Round.src (tr (data t)) = h /\ what (tr (data t)) = k.
Proof.
  unfold sends_at, round_of. rewrite existsb_exists. split.
  - intros [x [Hx E]]. apply in_map_iff in Hx. destruct Hx as [t [<- Ht]]. rewrite andb_true_iff, !Nat.eqb_eq in E. exists t. tauto.
  - intros [t [Ht [E1 E2]]]. exists (tr (data t)). split; [apply (in_map (fun t => tr (data t))), Ht|]. rewrite andb_true_iff, !Nat.eqb_eq. auto.
Qed.
Lemma alone_until k r : starts_only j h [h] k = true -> (forall x, (x < r)%nat -> sends_at k x = false) -> within (fun _ => h) (H (Z.of_nat r)) k [h].
Proof.
  intros So. induction r as [|r IH]; intros No; [apply (start_within sch H exec h k [h] So)|].
  apply (kept (fun _ => h) (H (Z.of_nat r)) (round_of sch r)); [apply (at_step sch good H exec)|apply IH; intros; apply No; lia|].
  intros t Ht Es Ew. enough (sends_at k r = true) by (rewrite No in H0; [discriminate|lia]).
  apply existsb_exists. exists t. split; auto. rewrite andb_true_iff, !Nat.eqb_eq. auto.
Qed.
Lemma first_sent_spec k : starts_only j h [h] k = true -> needing h k <> [] ->
  (first_sent k < n)%nat /\ sends_at k (first_sent k) = true /\ within (fun _ => h) (H (Z.of_nat (first_sent k))) k [h].
Proof.
  intros So Ne. unfold first_sent. pose proof (find_first (sends_at k) n 0) as F. destruct (find (sends_at k) (seq 0 n)) as [r|].
  - destruct F as [A [B C]]. split; [lia|]. split; [exact B|]. apply alone_until; auto. intros x Hx. apply C. lia.
  - exfalso. assert (W : within (fun _ => h) (H (Z.of_nat n)) k [h]) by (apply alone_until; auto; intros; apply F; lia).
    destruct (needing h k) as [|v l] eqn:E; [congruence|]. assert (Hv : In v (needing h k)) by (rewrite E; left; auto).
    apply filter_In in Hv. destruct Hv as [_ Hv]. apply andb_true_iff in Hv. destruct Hv as [Nv Hv]. rewrite negb_true_iff, Nat.eqb_neq in Nv.
    destruct (W v (needed_ends sch H v k h goal Hv)) as [E'|[]]. congruence.
Qed.
(** The rounds in which h sends these chunks, each once, and others that move one of them. *)
Lemma spread_named q ks m : (h < nodes j)%nat -> (1 <= q)%nat -> NoDup ks -> ks <> [] ->
  (forall k, In k ks -> starts_only j h [h] k = true /\ (2 ^ (q - 1) < S (length (needing h k)))%nat /\ m <= first_hop (fun _ => true) (size j k)) -> 0 <= m ->
  exists R, NoDup R /\ incl R (seq 0 n) /\ length R = (length ks + (q - 1))%nat /\ (forall r, In r R -> sent_in sch r <> []) /\
    (forall r0, In r0 R -> (forall r, In r R -> (r0 <= r)%nat) -> arrival h <= rounds_end sch (S r0) - round_lasts sch r0) /\
    sum (fun k => first_hop (fun l => (Cut.src l =? h)%nat) (size j k)) ks + Z.of_nat (q - 1) * m <= sum (round_lasts sch) R.
Proof.
  intros Hh Hq Nk Ne Hk Hm.
  assert (Sent : forall k, In k ks -> (first_sent k < n)%nat /\ sends_at k (first_sent k) = true /\ within (fun _ => h) (H (Z.of_nat (first_sent k))) k [h]).
  { intros k Hin. destruct (Hk k Hin) as [A [B _]]. apply first_sent_spec; auto. intros E. rewrite E in B. simpl in B.
    assert (2 ^ (q - 1) <> 0)%nat by (apply Nat.pow_nonzero; lia). lia. }
  destruct (greatest_of first_sent ks Ne) as [x [Hx Hmax]]. destruct (Sent x Hx) as [Lx [_ Wx]]. set (rx := first_sent x) in *.
  pose proof (within_step _ _ _ _ _ _ (at_step sch good H exec rx) Wx) as W1.
  set (l0 := [h] ++ map Round.dst (Spread.sent x [h] (round_of sch rx))) in *.
  assert (L0 : (length l0 <= 2)%nat).
  { unfold l0. rewrite app_length, map_length. pose proof (sent_length (fun _ => h) x [h] (round_of sch rx) (sends_once j sch good rx)). simpl in *. lia. }
  destruct (double_from sch good H exec h x (n - S rx) (S rx) l0 W1) as [l [Wl [Il Ll]]]. replace (S rx + (n - S rx))%nat with n in Wl by lia.
  set (C := carrying sch x (S rx) (n - S rx)) in *.
  assert (Enough : (q - 1 <= length C)%nat).
  { assert (S (length (needing h x)) <= length l)%nat.
    { change (S (length (needing h x))) with (length (h :: needing h x)). apply NoDup_incl_length.
      - constructor; [|apply NoDup_filter, seq_NoDup]. intros Hin. apply filter_In in Hin. destruct Hin as [_ Hin]. rewrite Nat.eqb_refl in Hin. discriminate.
      - intros v [<-|Hv]; [apply Il; left; auto|]. apply filter_In in Hv. destruct Hv as [_ Hv]. apply andb_true_iff in Hv. apply Wl, (needed_ends sch H v x h goal), Hv. }
    destruct (Hk x Hx) as [_ [B _]]. assert ((2 ^ (q - 1) < 2 ^ S (length C))%nat) by (rewrite Nat.pow_succ_r'; nia).
    apply pow_less in H1. lia. }
  set (R := map first_sent ks ++ firstn (q - 1) C).
  assert (InC : forall r, In r C -> (rx < r < n)%nat /\ carries sch x r = true).
  { intros r Hr. apply filter_In in Hr. destruct Hr as [Hr E]. apply in_seq in Hr. split; [lia|exact E]. }
  assert (NR : NoDup R).
  { unfold R. apply nodup_both.
    - apply nodup_by; auto. intros k k' A B E. destruct (Sent k A) as [_ [S1 _]], (Sent k' B) as [_ [S2 _]]. rewrite <- E in S2.
      apply sends_at_spec in S1, S2. destruct S1 as [t [T1 [T2 T3]]], S2 as [u [U1 [U2 U3]]].
      pose proof (sends_once j sch good (first_sent k)) as Nd. unfold round_of in Nd. rewrite map_map in Nd. rewrite <- T3, <- U3.
      enough (t = u) by congruence. clear - Nd T1 U1 T2 U2. revert Nd T1 U1. generalize (sent_in sch (first_sent k)). induction l as [|a l IH]; intros Nd T1 U1; [destruct T1|].
      cbn [map] in Nd. apply NoDup_cons_iff in Nd. destruct Nd as [N1 N2]. destruct T1 as [->|T1], U1 as [->|U1]; auto; exfalso; apply N1.
      + rewrite T2, <- U2. apply (in_map (fun t => Round.src (tr (data t)))), U1.
      + rewrite U2, <- T2. apply (in_map (fun t => Round.src (tr (data t)))), T1.
    - apply nodup_firstn. apply NoDup_filter, seq_NoDup.
    - intros r Ha Hb. apply in_firstn in Hb. apply InC in Hb. apply in_map_iff in Ha. destruct Ha as [k [<- Hin]]. specialize (Hmax k Hin). fold rx in Hmax. lia. }
  assert (IR : incl R (seq 0 n)).
  { intros r Hr. apply in_seq. apply in_app_or in Hr. destruct Hr as [Hr|Hr].
    - apply in_map_iff in Hr. destruct Hr as [k [<- Hin]]. destruct (Sent k Hin). lia.
    - apply in_firstn, InC in Hr. lia. }
  assert (P1 : sum (fun k => first_hop (fun l => (Cut.src l =? h)%nat) (size j k)) ks <= sum (fun k => round_lasts sch (first_sent k)) ks).
  { apply sum_le. intros k Hin. destruct (Sent k Hin) as [_ [E _]]. apply sends_at_spec in E. destruct E as [t [T1 [T2 T3]]].
    eapply Z.le_trans; [|apply (lasts_ge sch _ t T1)]. rewrite <- T3. apply (first_lasts sane t (fun l => (Cut.src l =? h)%nat)).
    - apply well_goes, (proj1 good), (in_sent_in sch good t _ T1).
    - split; [apply sane_size, sane|lia].
    - intros i _ Es. apply Nat.eqb_eq. congruence. }
  assert (P2 : Z.of_nat (length (firstn (q - 1) C)) * m <= sum (round_lasts sch) (firstn (q - 1) C)).
  { apply sum_at_least. intros r Hr. apply in_firstn, InC in Hr. destruct Hr as [_ E]. eapply Z.le_trans; [apply (Hk x Hx)|].
    apply (carries_lasts sch sane good x r); [exact E|]. split; [apply sane_size, sane|lia]. }
  rewrite firstn_length_le in P2 by exact Enough. exists R. split; [exact NR|]. split; [exact IR|].
  split; [unfold R; rewrite app_length, map_length, firstn_length_le by exact Enough; reflexivity|]. split; [|split].
  - intros r Hr E. unfold R in Hr. apply in_app_or in Hr. destruct Hr as [Hr|Hr].
    + apply in_map_iff in Hr. destruct Hr as [k [<- Hin]]. destruct (Sent k Hin) as [_ [Es _]]. apply sends_at_spec in Es. destruct Es as [t [T1 _]].
      rewrite E in T1. destruct T1.
    + apply in_firstn, InC in Hr. destruct Hr as [_ Ec]. apply carries_spec in Ec. destruct Ec as [t [T1 _]]. rewrite E in T1. destruct T1.
  - intros r0 H0 Hmin. assert (Hr : In r0 (map first_sent ks)).
    { apply in_app_or in H0. destruct H0 as [|H0]; [assumption|]. apply in_firstn, InC in H0.
      specialize (Hmin rx (in_or_app _ _ _ (or_introl (in_map first_sent ks x Hx)))). lia. }
    apply in_map_iff in Hr. destruct Hr as [k [<- Hin]]. destruct (Sent k Hin) as [_ [E _]]. apply sends_at_spec in E. destruct E as [t [T1 [T2 T3]]].
    apply (wait_for sch (first_sent k) t h T1); [left; exact T2|exact Hh].
  - unfold R. rewrite sum_app, sum_map. lia.
Qed.
Theorem spread_core q ks m : (h < nodes j)%nat -> (1 <= q)%nat -> NoDup ks -> ks <> [] ->
  (forall k, In k ks -> starts_only j h [h] k = true /\ (2 ^ (q - 1) < S (length (needing h k)))%nat /\ m <= first_hop (fun _ => true) (size j k)) -> 0 <= m ->
  arrival h + sum (fun k => first_hop (fun l => (Cut.src l =? h)%nat) (size j k)) ks + Z.of_nat (q - 1) * m <= round_makespan j sch.
Proof.
  intros Hh Hq Nk Ne Hk Hm. destruct (spread_named q ks m Hh Hq Nk Ne Hk Hm) as [R [N [I [L [_ [W B]]]]]].
  assert (R <> []) by (intros ->; destruct ks; [congruence|simpl in L; lia]). pose proof (rounds_sum sch R (arrival h) N I ltac:(assumption) W). lia.
Qed.
End Spread.

(** Of those that need [q] rounds or more, for any [q]. *)
Definition spread_items (h q : nat) : list nat := filter (fun k => starts_only j h [h] k && (2 ^ (q - 1) <? S (length (needing h k)))%nat) (seq 0 K).
Definition spread_rule (h : nat) (bound : Z) : bool :=
  (h <? nodes j)%nat && existsb (fun q => let ks := spread_items h q in
    match ks with
    | [] => false
    | _ => bound <=? arrival h + sum (fun k => first_hop (fun l => (Cut.src l =? h)%nat) (size j k)) ks +
             Z.of_nat (q - 1) * least (map (fun k => first_hop (fun _ => true) (size j k)) ks)
    end) (seq 1 (S (Nat.log2_up (nodes j)))).
Lemma first_hop_0 f b : 0 <= first_hop f b.
Proof. unfold first_hop. lia. Qed.
Lemma least_hops_0 f ks : 0 <= least (map (fun k => first_hop f (size j k)) ks).
Proof.
  destruct ks as [|k ks]; simpl; [lia|]. pose proof (first_hop_0 f (size j k)). induction ks as [|a ks IH]; simpl; [lia|]. pose proof (first_hop_0 f (size j a)). lia.
Qed.
Theorem spread_sound h bound sch : positive j -> spread_rule h bound = true -> right_in_rounds j false sch -> bound <= round_makespan j sch.
Proof.
  intros sane R good. unfold spread_rule in R. apply andb_true_iff in R. destruct R as [Rh R]. apply Nat.ltb_lt in Rh. apply existsb_exists in R.
  destruct R as [q [Hq R]]. apply in_seq in Hq. cbn beta zeta in R. destruct (spread_items h q) as [|k0 kr] eqn:Ek; [discriminate|]. rewrite <- Ek in R. apply Z.leb_le in R.
  destruct (execution_in_rounds j sch good) as [H [He [_ Hg]]]. eapply Z.le_trans; [exact R|].
  apply (spread_core sch sane good H He Hg h q (spread_items h q)); auto; [lia|apply NoDup_filter, seq_NoDup|congruence| |apply least_hops_0].
  intros k Hk. pose proof Hk as Hk'. apply filter_In in Hk. destruct Hk as [_ Hk]. apply andb_true_iff in Hk. rewrite Nat.ltb_lt in Hk.
  split; [apply Hk|]. split; [apply Hk|]. apply least_le. apply (in_map (fun k => first_hop (fun _ => true) (size j k))), Hk'.
Qed.

(** ** Combine *)

Definition most_at_first (k : nat) : nat := fold_right (fun e m => if (snd (fst e) =? k)%nat then Nat.max (different (snd e)) m else m) O (pre j).
Definition wanted_at (d k : nat) : nat := fold_right (fun e m => Nat.max (different (snd e)) m) O (said_at d k (post j)).
(** What d must end with, and does not begin with. *)
Definition must_change (d k : nat) : bool := existsb (fun e => negb (settled j d k (snd e))) (said_at d k (post j)).

Section Combine.
Variable sch : list sent.
Hypothesis sane : positive j.
Hypothesis good : right_in_rounds j false sch.
Notation n := (how_many sch).
Variable H : Z -> state.
Hypothesis exec : execution (lookup (pre j)) (map data sch) H.
Hypothesis goal : forall v k w, In ((v, k), w) (post j) -> exists got, H (Z.of_nat n) v k = Some got /\ agrees j got w.
Variable d : nat.

Definition gets_at (k r : nat) : bool := existsb (fun t => (Round.dst t =? d)%nat && (what t =? k)%nat) (round_of sch r).
Definition last_got (k : nat) : nat := match find (gets_at k) (rev (seq 0 n)) with Some r => r | None => O end.
Lemma gets_at_spec k r : gets_at k r = true <-> exists t, In t (sent_in sch r) /\ Round.dst (tr (data t)) = d /\ what (tr (data t)) = k.
Proof.
  unfold gets_at, round_of. rewrite existsb_exists. split.
  - intros [x [Hx E]]. apply in_map_iff in Hx. destruct Hx as [t [<- Ht]]. rewrite andb_true_iff, !Nat.eqb_eq in E. exists t. tauto.
  - intros [t [Ht [E1 E2]]]. exists (tr (data t)). split; [apply (in_map (fun t => tr (data t))), Ht|]. rewrite andb_true_iff, !Nat.eqb_eq. auto.
Qed.
Lemma unchanged k r : gets_at k r = false -> H (Z.of_nat (S r)) d k = H (Z.of_nat r) d k.
Proof.
  intros E. destruct (at_step sch good H exec r) as [_ Q]. apply Q. intros Hin. apply in_map_iff in Hin. destruct Hin as [t [Es Ht]].
  unfold slot in Es. injection Es as Ed Ew. enough (gets_at k r = true) by congruence. apply existsb_exists. exists t. split; auto. rewrite andb_true_iff, !Nat.eqb_eq. auto.
Qed.
Lemma unchanged_from k r0 m : (forall x, (r0 <= x < r0 + m)%nat -> gets_at k x = false) -> H (Z.of_nat (r0 + m)) d k = H (Z.of_nat r0) d k.
Proof.
  induction m as [|m IH]; intros No; [rewrite Nat.add_0_r; reflexivity|]. replace (r0 + S m)%nat with (S (r0 + m)) by lia.
  rewrite unchanged by (apply No; lia). apply IH. intros x Hx. apply No. lia.
Qed.
Lemma grows k m : forall r0 g, at_most (H (Z.of_nat r0)) k g -> at_most (H (Z.of_nat (r0 + m))) k (2 ^ length (carrying sch k r0 m) * g).
Proof.
  induction m as [|m IH]; intros r0 g Hg.
  - rewrite Nat.add_0_r. simpl. rewrite Nat.add_0_r. exact Hg.
  - specialize (IH r0 g Hg). replace (r0 + S m)%nat with (S (r0 + m)) by lia. unfold carrying in *. rewrite seq_S, filter_app, app_length. cbn [filter].
    destruct (carries sch k (r0 + m)) eqn:E; cbn [length].
    + rewrite Nat.pow_add_r, Nat.pow_1_r, (Nat.mul_comm _ 2), <- Nat.mul_assoc. apply (at_most_step _ _ _ _ _ (at_step sch good H exec (r0 + m)) IH).
    + rewrite Nat.add_0_r. intros v w Hw. apply (IH v w). rewrite <- Hw. destruct (at_step sch good H exec (r0 + m)) as [_ Q]. symmetry. apply Q.
      intros Hin. apply in_map_iff in Hin. destruct Hin as [t [Es Ht]]. unfold slot in Es. injection Es as _ Ew.
      enough (carries sch k (r0 + m) = true) by congruence. apply existsb_exists. exists t. split; auto. apply Nat.eqb_eq, Ew.
Qed.
Lemma starts_at_most k : at_most (H (Z.of_nat 0)) k (most_at_first k).
Proof.
  intros v w Hw. change (Z.of_nat 0) with 0 in Hw. rewrite (proj1 exec) in Hw. apply lookup_In in Hw. unfold most_at_first. revert Hw. generalize (pre j) as l. induction l as [|x l IH]; intros Hw; [destruct Hw|].
  cbn [fold_right]. destruct Hw as [->|Hw]; [cbn [fst snd]; rewrite Nat.eqb_refl; lia|]. specialize (IH Hw). destruct (snd (fst x) =? k)%nat; lia.
Qed.
Lemma said_in v k x : In x (said_at v k (post j)) -> In ((v, k), snd x) (post j).
Proof.
  destruct x as [[v' k'] x]. unfold said_at. rewrite filter_In. cbn [fst snd]. intros [Hx Q]. apply andb_true_iff in Q. rewrite !Nat.eqb_eq in Q.
  destruct Q as [-> ->]. exact Hx.
Qed.
Lemma ends_at_least k : (0 < wanted_at d k)%nat -> at_least (H (Z.of_nat n)) d k (wanted_at d k).
Proof.
  intros Pos. assert (E : exists w, In ((d, k), w) (post j) /\ different w = wanted_at d k).
  { unfold wanted_at in *. pose proof (said_in d k) as I. revert I Pos. induction (said_at d k (post j)) as [|x l IH]; cbn [fold_right]; intros I Pos; [lia|].
    destruct (Nat.max_spec (different (snd x)) (fold_right (fun e m => Nat.max (different (snd e)) m) O l)) as [[A B]|[A B]]; rewrite B in *.
    - apply IH; auto. intros y Hy. apply I. right; auto.
    - exists (snd x). split; [apply I; left; auto|reflexivity]. }
  destruct E as [w [Hin Ew]]. destruct (goal _ _ _ Hin) as [got [Hgot A]]. exists got. split; [exact Hgot|].
  pose proof (different_agrees j got w A). lia.
Qed.
Lemma last_got_spec k : must_change d k = true \/ (most_at_first k < wanted_at d k)%nat ->
  (last_got k < n)%nat /\ gets_at k (last_got k) = true /\ H (Z.of_nat (S (last_got k))) d k = H (Z.of_nat n) d k.
Proof.
  intros Need. unfold last_got. pose proof (find_last (gets_at k) n) as F. destruct (find (gets_at k) (rev (seq 0 n))) as [r|].
  - destruct F as [A [B C]]. split; [exact A|]. split; [exact B|]. replace n with (S r + (n - S r))%nat at 1 by lia. symmetry. apply unchanged_from.
    intros x Hx. apply C. lia.
  - exfalso. assert (E : H (Z.of_nat n) d k = lookup (pre j) d k).
    { rewrite <- (Nat.add_0_l n) at 1. rewrite unchanged_from by (intros; apply F; lia). apply (proj1 exec). }
    destruct Need as [Mc|Lt].
    + apply existsb_exists in Mc. destruct Mc as [e [He Mc]]. apply negb_true_iff in Mc. destruct (goal _ _ _ (said_in d k e He)) as [got [Hgot A]].
      rewrite E in Hgot. unfold settled in Mc. rewrite Hgot in Mc. apply agreesb_spec in A. congruence.
    + destruct (ends_at_least k ltac:(lia)) as [w [Hw L]]. rewrite E in Hw. pose proof (starts_at_most k d w) as M.
      change (Z.of_nat 0) with 0 in M. rewrite (proj1 exec) in M. specialize (M Hw). lia.
Qed.
Theorem combine_core q ks m : (d < nodes j)%nat -> (1 <= q)%nat -> NoDup ks -> ks <> [] ->
  (forall k, In k ks -> (must_change d k = true \/ (most_at_first k < wanted_at d k)%nat) /\ ((2 <= q)%nat -> (2 ^ (q - 1) * most_at_first k < wanted_at d k)%nat) /\
     m <= first_hop (fun _ => true) (size j k)) -> 0 <= m ->
  Z.max (arrival d) (earliest_of ranks + Z.of_nat (q - 1) * m) + sum (fun k => last_hop (fun l => (Cut.dst l =? d)%nat) (size j k)) ks <= round_makespan j sch.
Proof.
  intros Hd Hq Nk Ne Hk Hm.
  assert (Got : forall k, In k ks -> (last_got k < n)%nat /\ gets_at k (last_got k) = true /\ H (Z.of_nat (S (last_got k))) d k = H (Z.of_nat n) d k)
    by (intros k Hin; apply last_got_spec, (Hk k Hin)).
  destruct (smallest_of last_got ks Ne) as [x [Hx Hmin]]. destruct (Got x Hx) as [Lx [Gx Ex]]. set (rx := last_got x) in *.
  set (C := carrying sch x 0 rx).
  assert (Enough : (q - 1 <= length C)%nat).
  { destruct (Nat.le_gt_cases q 1) as [|Q2]; [lia|]. destruct (Hk x Hx) as [_ [B _]]. specialize (B ltac:(lia)).
    pose proof (grows x (S rx) 0 _ (starts_at_most x)) as G. rewrite Nat.add_0_l in G.
    destruct (ends_at_least x ltac:(lia)) as [w [Hw L]]. rewrite <- Ex in Hw. specialize (G d w Hw).
    assert (Ec : (length (carrying sch x 0 (S rx)) <= S (length C))%nat).
    { unfold C, carrying. rewrite seq_S, filter_app, app_length. cbn [filter plus]. destruct (carries sch x rx); cbn [length]; lia. }
    assert (P : (2 ^ (q - 1) * most_at_first x < 2 ^ S (length C) * most_at_first x)%nat).
    { eapply Nat.lt_le_trans; [exact B|]. eapply Nat.le_trans; [exact L|]. eapply Nat.le_trans; [exact G|]. apply Nat.mul_le_mono_r, Nat.pow_le_mono_r; lia. }
    assert (P' : (2 ^ (q - 1) < 2 ^ S (length C))%nat) by nia. apply pow_less in P'. lia. }
  assert (InC : forall r, In r C -> (r < rx)%nat /\ carries sch x r = true).
  { intros r Hr. apply filter_In in Hr. destruct Hr as [Hr E]. apply in_seq in Hr. split; [lia|exact E]. }
  assert (NL : NoDup (map last_got ks)).
  { apply nodup_by; auto. intros k k' A B E. destruct (Got k A) as [_ [S1 _]], (Got k' B) as [_ [S2 _]]. rewrite <- E in S2.
    apply gets_at_spec in S1, S2. destruct S1 as [t [T1 [T2 T3]]], S2 as [u [U1 [U2 U3]]].
    pose proof (receives_once j sch good (last_got k)) as Nd. unfold round_of in Nd. rewrite map_map in Nd. rewrite <- T3, <- U3.
    enough (t = u) by congruence. clear - Nd T1 U1 T2 U2. revert Nd T1 U1. generalize (sent_in sch (last_got k)). induction l as [|a l IH]; intros Nd T1 U1; [destruct T1|].
    cbn [map] in Nd. apply NoDup_cons_iff in Nd. destruct Nd as [N1 N2]. destruct T1 as [->|T1], U1 as [->|U1]; auto; exfalso; apply N1.
    + rewrite T2, <- U2. apply (in_map (fun t => Round.dst (tr (data t)))), U1.
    + rewrite U2, <- T2. apply (in_map (fun t => Round.dst (tr (data t)))), T1. }
  assert (IL : incl (map last_got ks) (seq 0 n)).
  { intros r Hr. apply in_seq. apply in_map_iff in Hr. destruct Hr as [k [<- Hin]]. destruct (Got k Hin). lia. }
  assert (NeL : map last_got ks <> []) by (intros E; apply map_eq_nil in E; congruence).
  assert (P1 : sum (fun k => last_hop (fun l => (Cut.dst l =? d)%nat) (size j k)) ks <= sum (round_lasts sch) (map last_got ks)).
  { rewrite sum_map. apply sum_le. intros k Hin. destruct (Got k Hin) as [_ [E _]]. apply gets_at_spec in E. destruct E as [t [T1 [T2 T3]]].
    eapply Z.le_trans; [|apply (lasts_ge sch _ t T1)]. rewrite <- T3. apply (last_lasts sane t (fun l => (Cut.dst l =? d)%nat)).
    - apply well_goes, (proj1 good), (in_sent_in sch good t _ T1).
    - split; [apply sane_size, sane|lia].
    - intros i _ Es. apply Nat.eqb_eq. congruence. }
  assert (A : arrival d + sum (round_lasts sch) (map last_got ks) <= round_makespan j sch).
  { apply rounds_sum; auto. intros r0 H0 _. apply in_map_iff in H0. destruct H0 as [k [<- Hin]]. destruct (Got k Hin) as [_ [E _]].
    apply gets_at_spec in E. destruct E as [t [T1 [T2 T3]]]. apply (wait_for sch (last_got k) t d T1); [|exact Hd].
    destruct (proj1 good t (proj1 (in_sent_in sch good t _ T1))) as [[_ [_ [_ Hne]]] [Hl _]]. destruct (leads_ends j _ _ _ Hl Hne) as [_ [i [Hi Ei]]].
    right. rewrite <- T2, <- Ei. apply (in_map (fun i => Cut.dst (at_link i))), Hi. }
  assert (B : earliest_of ranks + sum (round_lasts sch) (map last_got ks ++ firstn (q - 1) C) <= round_makespan j sch).
  { apply rounds_sum.
    - apply nodup_both; [exact NL|apply nodup_firstn, NoDup_filter, seq_NoDup|]. intros r Ha Hb. apply in_firstn, InC in Hb.
      apply in_map_iff in Ha. destruct Ha as [k [<- Hin]]. specialize (Hmin k Hin). fold rx in Hmin. lia.
    - intros r Hr. apply in_app_or in Hr. destruct Hr as [Hr|Hr]; [apply IL, Hr|]. apply in_firstn, InC in Hr. apply in_seq. lia.
    - intros E. apply app_eq_nil in E. tauto.
    - intros r0 R0 _. assert (S1 : exists t, In t (sent_in sch r0)).
      { apply in_app_or in R0. destruct R0 as [R0|R0].
        - apply in_map_iff in R0. destruct R0 as [k [<- Hin]]. destruct (Got k Hin) as [_ [E _]]. apply gets_at_spec in E. destruct E as [t [T1 _]]. eauto.
        - apply in_firstn, InC in R0. destruct R0 as [_ E]. apply carries_spec in E. destruct E as [t [T1 _]]. eauto. }
      destruct S1 as [t T1]. destruct (proj1 good t (proj1 (in_sent_in sch good t r0 T1))) as [[_ [Ru _]] _].
      eapply Z.le_trans; [apply least_le, (in_map arrival), in_seq; split; [apply Nat.le_0_l|exact Ru]|].
      apply (wait_for sch r0 t _ T1); [left; reflexivity|exact Ru]. }
  rewrite sum_app in B.
  assert (P2 : Z.of_nat (length (firstn (q - 1) C)) * m <= sum (round_lasts sch) (firstn (q - 1) C)).
  { apply sum_at_least. intros r Hr. apply in_firstn, InC in Hr. destruct Hr as [_ E]. eapply Z.le_trans; [apply (Hk x Hx)|].
    apply (carries_lasts sch sane good x r); [exact E|]. split; [apply sane_size, sane|lia]. }
  rewrite firstn_length_le in P2 by exact Enough. lia.
Qed.
End Combine.

Definition combine_items (d q : nat) : list nat :=
  filter (fun k => if (2 <=? q)%nat then (most_at_first k <? wanted_at d k)%nat && (2 ^ (q - 1) * most_at_first k <? wanted_at d k)%nat
    else must_change d k || (most_at_first k <? wanted_at d k)%nat) (seq 0 K).
Definition combine_rule (d : nat) (bound : Z) : bool :=
  (d <? nodes j)%nat && existsb (fun q => let ks := combine_items d q in
    match ks with
    | [] => false
    | _ => bound <=? Z.max (arrival d) (earliest_of ranks + Z.of_nat (q - 1) * least (map (fun k => first_hop (fun _ => true) (size j k)) ks)) +
             sum (fun k => last_hop (fun l => (Cut.dst l =? d)%nat) (size j k)) ks
    end) (seq 1 (S (Nat.log2_up (nodes j)))).
Lemma combine_item d q k : In k (combine_items d q) -> (must_change d k = true \/ (most_at_first k < wanted_at d k)%nat) /\
  ((2 <= q)%nat -> (2 ^ (q - 1) * most_at_first k < wanted_at d k)%nat).
Proof.
  intros Hk. apply filter_In in Hk. destruct Hk as [_ Hk]. destruct (Nat.leb_spec 2 q).
  - rewrite andb_true_iff, !Nat.ltb_lt in Hk. tauto.
  - rewrite orb_true_iff, Nat.ltb_lt in Hk. split; [tauto|lia].
Qed.
Theorem combine_sound d bound sch : positive j -> combine_rule d bound = true -> right_in_rounds j false sch -> bound <= round_makespan j sch.
Proof.
  intros sane R good. unfold combine_rule in R. apply andb_true_iff in R. destruct R as [Rd R]. apply Nat.ltb_lt in Rd. apply existsb_exists in R.
  destruct R as [q [Hq R]]. apply in_seq in Hq. cbn beta zeta in R. destruct (combine_items d q) as [|k0 kr] eqn:Ek; [discriminate|]. rewrite <- Ek in R. apply Z.leb_le in R.
  destruct (execution_in_rounds j sch good) as [H [He [_ Hg]]]. eapply Z.le_trans; [exact R|].
  apply (combine_core sch sane good H He Hg d q (combine_items d q)); auto; [lia|apply NoDup_filter, seq_NoDup|congruence| |apply least_hops_0].
  intros k Hk. destruct (combine_item d q k Hk) as [A B]. split; [exact A|]. split; [exact B|].
  apply least_le. apply (in_map (fun k => first_hop (fun _ => true) (size j k))), Hk.
Qed.
End Job.
