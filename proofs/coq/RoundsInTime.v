(** The lemma (round) of package cert: a schedule in rounds whose transfers begin with their rounds
    is a timed one under blocking that ends no later. So what bounds those bounds these, under
    the model rounds, whatever the rule. Left out: link-rounds; chunks of no bytes. *)
From Coq Require Import Bool List ZArith Lia.
From Oraccl Require Import Cut Round Timed Schedule Passing Bounds Replay InRounds Free Prices RoundTime.
Import ListNotations.
Open Scope Z_scope.

(** ** Lists side by side *)

Lemma pairs_beside {A B} (R : A -> B -> Prop) (P : A -> A -> Prop) (Q : B -> B -> Prop) la lb :
  (forall a a' b b', R a b -> R a' b' -> Q b b' -> P a a') -> Forall2 R la lb -> ForallOrdPairs Q lb -> ForallOrdPairs P la.
Proof.
  intros H F. induction F as [|a b la lb Hab F IH]; intros HQ; constructor.
  - inversion HQ as [|? ? X Y]; subst. rewrite Forall_forall in *. clear IH HQ Y. induction F as [|a' b' la lb Hab' F IH]; intros x Hx; [destruct Hx|].
    destruct Hx as [<-|Hx]; [apply (H a a' b b'); auto; apply X; left; auto|]. apply IH; auto. intros y Hy. apply X. right; auto.
  - inversion HQ; subst. auto.
Qed.
Lemma filter_beside {A B} (R : A -> B -> Prop) f g la lb : (forall a b, R a b -> f a = true -> g b = true) -> Forall2 R la lb ->
  (length (filter f la) <= length (filter g lb))%nat.
Proof.
  intros H F. induction F as [|a b la lb Hab F IH]; simpl; [lia|]. specialize (H a b Hab).
  destruct (f a); [rewrite (H eq_refl); simpl; lia|]. destruct (g b); simpl; lia.
Qed.
Lemma flat_beside {A B C} (R : A -> B -> Prop) (f : C -> list A) (g : C -> list B) l :
  (forall c, In c l -> Forall2 R (f c) (g c)) -> Forall2 R (flat_map f l) (flat_map g l).
Proof. induction l as [|c l IH]; simpl; intros H; [constructor|]. apply Forall2_app; auto. Qed.
Lemma only_one {A} (l : list A) x y : (length l <= 1)%nat -> In x l -> In y l -> x = y.
Proof. destruct l as [|a [|b l]]; simpl; try lia; try tauto. intros _ [->|[]] [->|[]]. reflexivity. Qed.

Section Job.
Variable j : job.
Hypothesis sane : positive j.
Hypothesis blocks : model j = Blocking.
Hypothesis full : forall b, In b (sizes j) -> 0 < b.
Variable sch : list sent.
Hypothesis good : right_in_rounds j false sch.
Notation at_link := (at_link j).
Notation rounds_end := (rounds_end j sch).
Notation sent_in := (sent_in sch).

Definition rnd (t : sent) : nat := Z.to_nat (begins (data t)).
Definition go (r : nat) : Z := Z.max (rounds_end r) (round_waits j sch r).
Definition dur (t : sent) : Z := duration j (size j (what (tr (data t)))) (route t).
Definition retime (t : sent) : sent := Sent (Timed (tr (data t)) (go (rnd t)) (go (rnd t) + dur t)) (route t).
Definition in_time : list sent := map retime sch.

Lemma well_in t : In t sch -> round_well j false t.
Proof. apply (proj1 good). Qed.
Lemma begins_rnd t : In t sch -> begins (data t) = Z.of_nat (rnd t) /\ ends (data t) = Z.of_nat (S (rnd t)).
Proof. intros Ht. destruct (well_in t Ht) as [_ [_ [_ [A [B _]]]]]. unfold rnd. lia. Qed.
Lemma in_its_round t : In t sch -> In t (sent_in (rnd t)).
Proof. intros Ht. apply filter_In. split; auto. apply Z.eqb_eq. apply (begins_rnd t Ht). Qed.

Lemma dur_pos t : In t sch -> 0 < dur t.
Proof.
  intros Ht. destruct (well_in t Ht) as [[Rk [_ [_ Hne]]] [Hl _]]. unfold dur, duration. change (sum _ (hops j (route t))) with (lasting j (size j (what (tr (data t)))) (hops j (route t))).
  set (b := size j (what (tr (data t)))).
  assert (Hb : 0 < b) by (apply full, nth_In, Rk).
  destruct (route t) as [|i r] eqn:E; [simpl in Hl; congruence|].
  assert (L : forall hs, In i (concat hs) -> beta (at_link i) b <= lasting j b hs).
  { induction hs as [|h hs IH]; [intros []|]. cbn [concat]. intros Hi. apply in_app_or in Hi.
    pose proof (latencies_0 j sane h). pose proof (slowest_0 j b h). pose proof (lasting_0 j sane b hs). unfold lasting in *. cbn [sum fold_right].
    destruct Hi as [Hi|Hi]; [pose proof (slowest_ge j b h i Hi); unfold sum in *; lia|specialize (IH Hi); unfold sum in *; lia]. }
  specialize (L (hops j (i :: r))). rewrite concat_hops in L. specialize (L (or_introl eq_refl)).
  pose proof (beta_pos (at_link i) b (proj2 (sane_link j sane i)) Hb). lia.
Qed.
Lemma round_over t : In t sch -> go (rnd t) + dur t <= rounds_end (S (rnd t)).
Proof.
  intros Ht. pose proof (in_its_round t Ht) as Hin. cbn [RoundTime.rounds_end]. unfold go, dur.
  pose proof (greatest_ge (fun t => duration j (size j (what (tr (data t)))) (route t)) _ t Hin) as L. cbn beta in L. fold (round_lasts j sch (rnd t)) in L.
  destruct (sent_in (rnd t)); [destruct Hin|]. lia.
Qed.
Lemma rounds_end_S r : rounds_end r <= rounds_end (S r).
Proof.
  cbn [RoundTime.rounds_end]. destruct (sent_in r); [lia|].
  pose proof (greatest_0 (fun t => duration j (size j (what (tr (data t)))) (route t)) (RoundTime.sent_in sch r)).
  unfold round_lasts. lia.
Qed.
Lemma rounds_end_mono r s : (r <= s)%nat -> rounds_end r <= rounds_end s.
Proof. induction 1 as [|s H IH]; [lia|]. pose proof (rounds_end_S s). lia. Qed.
Lemma rounds_end_0 r : 0 <= rounds_end r.
Proof. apply (rounds_end_mono 0 r). lia. Qed.
Lemma before_round t r : In t sch -> (rnd t < r)%nat -> ends (data (retime t)) <= rounds_end r.
Proof. intros Ht H. pose proof (round_over t Ht). pose proof (rounds_end_mono (S (rnd t)) r H). simpl. lia. Qed.
Lemma after_round t r : In t sch -> (r <= rnd t)%nat -> rounds_end r < ends (data (retime t)).
Proof. intros Ht H. pose proof (dur_pos t Ht). pose proof (rounds_end_mono r (rnd t) H). simpl. unfold go. lia. Qed.

Lemma well_in_time t : In t sch -> well j (retime t).
Proof.
  intros Ht. destruct (well_in t Ht) as [A [B [C _]]]. pose proof (dur_pos t Ht). pose proof (rounds_end_0 (rnd t)).
  unfold well. cbn [data route retime tr begins ends]. split; [exact A|]. split; [exact B|]. split; [exact C|].
  split; [unfold go; lia|]. split; [reflexivity|]. intros v Hv Hr.
  apply Z.le_trans with (round_waits j sch (rnd t)); [|unfold go; lia].
  eapply Z.le_trans; [|apply (greatest_ge (fun t => greatest (fun v => if is_rank j v then arrival j v else 0) (visited j (Round.src (tr (data t))) (route t))) _ t (in_its_round t Ht))].
  eapply Z.le_trans; [|apply (greatest_ge (fun v => if is_rank j v then arrival j v else 0) _ v Hv)]. rewrite Hr. lia.
Qed.

(** ** Links and ports *)

Definition beside_round (a b : use) : Prop :=
  fst a = fst b /\ long (snd b) = 1 /\ exists r, first (snd b) = Z.of_nat r /\ rounds_end r <= first (snd a) /\
  0 <= long (snd a) /\ first (snd a) + long (snd a) <= rounds_end (S r).
Lemma uses_beside : Forall2 beside_round (uses j in_time) (round_uses sch).
Proof.
  unfold uses, in_time, round_uses. rewrite flat_map_concat_map, map_map, <- flat_map_concat_map.
  apply flat_beside. intros t Ht. unfold round_uses_of. change (route t) with (route (retime t)). rewrite <- (uses_of_route j (retime t)), map_map.
  destruct (begins_rnd t Ht) as [Eb _].
  assert (I : forall i sp, In (i, sp) (uses_of j (retime t)) -> rounds_end (rnd t) <= first sp /\ 0 <= long sp /\ first sp + long sp <= rounds_end (S (rnd t))).
  { intros i sp Hin. destruct (well_in_time t Ht) as [[_ [_ [Rv _]]] [Hl _]]. apply Nat.ltb_lt in Rv. unfold uses_of in Hin.
    destruct (busy_inside j sane _ _ (proj1 (hops_chain j _ _ _ Hl Rv)) _ _ _ Hin) as [_ [B [C D]]]. cbn [data retime begins tr route] in *.
    pose proof (round_over t Ht) as O. unfold dur, duration in O. unfold lasting in D.
    pose proof (beta_0 (at_link i) (size j (what (tr (data t)))) (proj2 (sane_link j sane i)) (sane_size j sane _)).
    assert (0 <= beside j i) by (unfold beside; rewrite blocks; apply (sane_link j sane i)).
    assert (0 <= tail j i) by (unfold tail; rewrite blocks; pose proof (onward_0 j sane (Cut.dst (at_link i))); lia).
    unfold go in *. repeat split; lia. }
  revert I. generalize (uses_of j (retime t)). induction l as [|[i sp] l IH]; intros I; simpl; constructor.
  - destruct (I i sp (or_introl eq_refl)) as [A [B C]]. repeat split. exists (rnd t). cbn [fst snd first]. repeat split; auto.
  - apply IH. intros i' sp' H. apply (I i' sp'). right; auto.
Qed.

Lemma disjoint_in_time : disjoint (uses j in_time).
Proof.
  apply (pairs_beside beside_round _ (fun a b => fst a = fst b -> apart (snd a) (snd b)) _ (round_uses sch)); [|apply uses_beside|apply good].
  intros a a' b b' [E [L [r [F [A [P B]]]]]] [E' [L' [r' [F' [A' [P' B']]]]]] Q Ea. rewrite <- E, <- E' in Q. specialize (Q Ea).
  unfold apart in *. rewrite L, L', F, F' in Q. destruct Q as [Q|Q].
  - left. pose proof (rounds_end_mono (S r) r' ltac:(lia)). lia.
  - right. pose proof (rounds_end_mono (S r') r ltac:(lia)). lia.
Qed.
Lemma ports_in_time : within_ports j (uses j in_time).
Proof.
  intros ls c Hp x. destruct (filter (uses_at ls x) (uses j in_time)) as [|a l] eqn:Ef; [simpl; lia|]. rewrite <- Ef.
  assert (Ha : In a (uses j in_time) /\ uses_at ls x a = true) by (apply filter_In; rewrite Ef; left; auto). destruct Ha as [Ha Hx].
  assert (Hr : exists b, beside_round a b).
  { pose proof uses_beside as F. revert F Ha. clear. intros F Ha. induction F as [|a' b la lb H F IH]; [destruct Ha|]. destruct Ha as [->|Ha]; eauto. }
  destruct Hr as [b [_ [_ [r [_ [A [_ B]]]]]]].
  assert (X : rounds_end r <= x < rounds_end (S r)).
  { unfold uses_at in Hx. rewrite !andb_true_iff, Z.leb_le, Z.ltb_lt in Hx. lia. }
  destruct good as [_ [_ [P _]]]. specialize (P ls c (in_or_app _ _ _ (or_introl Hp)) (Z.of_nat r)).
  eapply Nat.le_trans; [|exact P]. apply (filter_beside beside_round); [|apply uses_beside].
  intros a' b' [E [L [r' [F [A' [P' B']]]]]] H. unfold uses_at in *. rewrite !andb_true_iff, Z.leb_le, Z.ltb_lt in *. destruct H as [[H1 H2] H3].
  rewrite <- E, F, L. assert (r' = r); [|subst r'; repeat split; auto; lia].
  destruct (Nat.lt_trichotomy r r') as [Q|[Q|Q]]; auto.
  - pose proof (rounds_end_mono (S r) r' Q). lia.
  - pose proof (rounds_end_mono (S r') r Q). lia.
Qed.

(** ** The state at each instant: after the last round of which something has come to the slot *)

Section Execution.
Variable H : Z -> state.
Hypothesis exec : execution (lookup (pre j)) (map data sch) H.

Definition latest (x : Z) (v k : nat) : Z :=
  greatest (fun t => ends (data t)) (filter (fun t => same_slot (slot (tr (data t))) (v, k) && (ends (data (retime t)) <=? x)) sch).
Definition state_at (x : Z) : state := fun v k => H (latest x v k) v k.

Lemma still v k y0 n : 0 <= y0 -> (forall t, In t sch -> slot (tr (data t)) = (v, k) -> y0 < ends (data t) <= y0 + Z.of_nat n -> False) ->
  H (y0 + Z.of_nat n) v k = H y0 v k.
Proof.
  intros H0. induction n as [|n IH]; intros Hno; [f_equal; lia|]. rewrite <- IH by (intros t Ht Hs He; apply (Hno t Ht Hs); lia).
  destruct (proj2 exec (y0 + Z.of_nat (S n)) v k ltac:(lia)) as [A _]. rewrite A.
  destruct (filter (into v k (y0 + Z.of_nat (S n))) (map data sch)) as [|u l] eqn:E; [simpl; f_equal; lia|]. exfalso.
  assert (In u (filter (into v k (y0 + Z.of_nat (S n))) (map data sch))) as Hu by (rewrite E; left; auto).
  apply filter_In in Hu. destruct Hu as [Hu Hi]. apply in_map_iff in Hu. destruct Hu as [t [<- Ht]].
  apply andb_true_iff in Hi. rewrite same_slot_spec, Z.eqb_eq in Hi. apply (Hno t Ht (proj1 Hi)). lia.
Qed.
Lemma greatest_below {A} (f : A -> Z) l y : 0 <= y -> (forall x, In x l -> f x <= y) -> greatest f l <= y.
Proof. intros Hy. induction l as [|a l IH]; simpl; intros Hl; [lia|]. specialize (IH (fun x Hx => Hl x (or_intror Hx))). specialize (Hl a (or_introl eq_refl)). unfold greatest in *. lia. Qed.
Lemma at_round r x v k : (forall t, In t sch -> slot (tr (data t)) = (v, k) -> (ends (data (retime t)) <= x <-> (rnd t < r)%nat)) ->
  state_at x v k = H (Z.of_nat r) v k.
Proof.
  intros E. unfold state_at.
  assert (L : latest x v k <= Z.of_nat r).
  { apply greatest_below; [lia|]. intros t Ht. apply filter_In in Ht. destruct Ht as [Ht Hc]. rewrite andb_true_iff, same_slot_spec, Z.leb_le in Hc.
    destruct (begins_rnd t Ht) as [_ ->]. pose proof (proj1 (E t Ht (proj1 Hc)) (proj2 Hc)). lia. }
  assert (P : 0 <= latest x v k) by apply greatest_0.
  replace (Z.of_nat r) with (latest x v k + Z.of_nat (Z.to_nat (Z.of_nat r - latest x v k))) by lia. symmetry. apply still; [exact P|].
  intros t Ht Hs He. destruct (begins_rnd t Ht) as [_ B]. 
  assert (ends (data t) <= latest x v k); [|lia].
  apply (greatest_ge (fun t => ends (data t))). apply filter_In. split; auto. rewrite andb_true_iff, same_slot_spec, Z.leb_le. split; auto.
  apply (E t Ht Hs). lia.
Qed.

(** In a round one transfer comes to a slot at most. *)
Lemma one_comes v k r : (v < nodes j)%nat -> (length (filter (fun t => same_slot (slot (tr (data t))) (v, k)) (sent_in r)) <= 1)%nat.
Proof.
  intros Hv. eapply Nat.le_trans; [apply (filter_le _ (fun t => (dst (tr (data t)) =? v)%nat))|].
  - intros t _ E. apply same_slot_spec in E. injection E as -> _. apply Nat.eqb_refl.
  - apply (one_use j sch good _ _ r (proj2 (in_rank_ports j v Hv))). intros t Ht _ E. apply Nat.eqb_eq in E. subst v. apply (route_ends j sch good t Ht).
Qed.
Lemma comes_once v k t u : In t sch -> In u sch -> slot (tr (data t)) = (v, k) -> slot (tr (data u)) = (v, k) -> rnd u = rnd t -> u = t.
Proof.
  intros Ht Hu St Su E. assert (Hv : (v < nodes j)%nat) by (destruct (well_in t Ht) as [[_ [_ [R _]]] _]; injection St as <- _; exact R).
  apply (only_one _ u t (one_comes v k (rnd t) Hv)); apply filter_In; (split; [|apply same_slot_spec; assumption]).
  - rewrite <- E. apply in_its_round, Hu.
  - apply in_its_round, Ht.
Qed.

Lemma only_writer (f : sent -> bool) v k t : In t sch -> f t = true -> (forall u, In u sch -> f u = true -> slot (tr (data u)) = (v, k) /\ rnd u = rnd t) ->
  filter f sch = [t].
Proof.
  intros Ht Ft Hf. assert (St : slot (tr (data t)) = (v, k)) by (apply Hf; auto).
  assert (Hv : (v < nodes j)%nat) by (destruct (well_in t Ht) as [[_ [_ [R _]]] _]; injection St as <- _; exact R).
  assert (L : (length (filter f sch) <= 1)%nat).
  { eapply Nat.le_trans; [|apply (one_comes v k (rnd t) Hv)]. unfold RoundTime.sent_in.
    replace (filter (fun t0 => same_slot (slot (tr (data t0))) (v, k)) (filter (fun t0 => begins (data t0) =? Z.of_nat (rnd t)) sch))
      with (filter (fun t0 => (begins (data t0) =? Z.of_nat (rnd t)) && same_slot (slot (tr (data t0))) (v, k)) sch).
    - apply filter_le. intros u Hu Fu. destruct (Hf u Hu Fu) as [A B]. rewrite andb_true_iff, Z.eqb_eq, same_slot_spec. split; auto.
      rewrite <- B. apply (begins_rnd u Hu).
    - clear. induction sch as [|u l IH]; simpl; auto. destruct (begins (data u) =? Z.of_nat (rnd t)); simpl; rewrite <- IH; reflexivity. }
  assert (In t (filter f sch)) as Hin by (apply filter_In; auto).
  destruct (filter f sch) as [|a [|b l]]; simpl in *; [destruct Hin| |lia]. destruct Hin as [->|[]]. reflexivity.
Qed.
Lemma filter_data (f : timed -> bool) (g : sent -> sent) l : filter f (map data (map g l)) = map data (map g (filter (fun t => f (data (g t))) l)).
Proof. induction l as [|a l IH]; simpl; auto. destruct (f (data (g a))); simpl; rewrite IH; reflexivity. Qed.

Lemma execution_in_time : execution (lookup (pre j)) (map data in_time) state_at.
Proof.
  split.
  - intros v k. rewrite <- (proj1 exec). apply (at_round 0). intros t Ht _. pose proof (after_round t 0 Ht ltac:(lia)) as A. cbn [RoundTime.rounds_end] in A. split; lia.
  - intros x v k Hx. unfold in_time. rewrite filter_data.
    set (f := fun t => into v k x (data (retime t))).
    assert (Ff : forall u, f u = true <-> slot (tr (data u)) = (v, k) /\ ends (data (retime u)) = x).
    { intros u. unfold f, into. rewrite andb_true_iff, same_slot_spec, Z.eqb_eq. reflexivity. }
    destruct (filter f sch) as [|t l] eqn:E.
    + cbn [map fold_left]. split; [|split; [intros ? []|congruence]]. unfold state_at. replace (latest (x - 1) v k) with (latest x v k); [reflexivity|].
      unfold latest. f_equal. apply filter_ext_in. intros t Ht. destruct (same_slot (slot (tr (data t))) (v, k)) eqn:Es; auto. simpl.
      apply same_slot_spec in Es. assert (ends (data (retime t)) <> x).
      { intros Ex. assert (In t (filter f sch)) as Hin by (apply filter_In; split; auto; apply Ff; auto). rewrite E in Hin. destruct Hin. }
      cbn [data retime ends] in *. destruct (Z.leb_spec (go (rnd t) + dur t) x), (Z.leb_spec (go (rnd t) + dur t) (x - 1)); auto; lia.
    + assert (Hin : In t (filter f sch)) by (rewrite E; left; auto). rewrite <- E. clear E l. apply filter_In in Hin. destruct Hin as [Ht Hf].
      pose proof (proj1 (Ff t) Hf) as [St Et]. pose proof (after_round t (rnd t) Ht (Nat.le_refl _)) as A0.
      assert (Bx : x <= rounds_end (S (rnd t)) /\ go (rnd t) < x) by (pose proof (round_over t Ht); pose proof (dur_pos t Ht); cbn [data retime ends] in Et; lia).
      assert (Ge : rounds_end (rnd t) <= go (rnd t)) by (unfold go; lia).
      rewrite (only_writer f v k t Ht Hf).
      2:{ intros u Hu Fu. apply Ff in Fu. destruct Fu as [Su Eu]. split; auto. destruct (Nat.lt_trichotomy (rnd u) (rnd t)) as [Q|[Q|Q]]; auto.
          - pose proof (before_round u (rnd t) Hu Q). lia.
          - pose proof (after_round u (S (rnd t)) Hu Q). lia. }
      assert (Now : state_at x v k = H (Z.of_nat (S (rnd t))) v k).
      { apply at_round. intros u Hu Su. destruct (Nat.lt_trichotomy (rnd u) (rnd t)) as [Q|[Q|Q]].
        - pose proof (before_round u (rnd t) Hu Q). split; lia.
        - rewrite (comes_once v k t u Ht Hu St Su Q). split; lia.
        - pose proof (after_round u (S (rnd t)) Hu Q). split; lia. }
      assert (Was : state_at (x - 1) v k = H (Z.of_nat (rnd t)) v k).
      { apply at_round. intros u Hu Su. destruct (Nat.lt_trichotomy (rnd u) (rnd t)) as [Q|[Q|Q]].
        - pose proof (before_round u (rnd t) Hu Q). split; lia.
        - rewrite (comes_once v k t u Ht Hu St Su Q). split; lia.
        - pose proof (after_round u (S (rnd t)) Hu Q). split; lia. }
      assert (Read : state_at (go (rnd t)) (src (tr (data t))) (what (tr (data t))) = H (Z.of_nat (rnd t)) (src (tr (data t))) (what (tr (data t)))).
      { apply at_round. intros u Hu _. destruct (Nat.lt_trichotomy (rnd u) (rnd t)) as [Q|[Q|Q]].
        - pose proof (before_round u (rnd t) Hu Q). split; lia.
        - pose proof (dur_pos u Hu). cbn [data retime ends]. rewrite Q. split; lia.
        - pose proof (after_round u (S (rnd t)) Hu Q). split; lia. }
      destruct (proj2 exec (Z.of_nat (S (rnd t))) v k ltac:(lia)) as [W [_ D]].
      assert (Ws : filter (into v k (Z.of_nat (S (rnd t)))) (map data sch) = [data t]).
      { pose proof (filter_data (into v k (Z.of_nat (S (rnd t)))) (fun t => t) sch) as F. rewrite !map_id in F. rewrite F.
        rewrite (only_writer (fun u => into v k (Z.of_nat (S (rnd t))) (data u)) v k t Ht); [reflexivity| |].
        - unfold into. rewrite andb_true_iff, same_slot_spec, Z.eqb_eq. split; auto. apply (begins_rnd t Ht).
        - intros u Hu Fu. unfold into in Fu. rewrite andb_true_iff, same_slot_spec, Z.eqb_eq in Fu. destruct Fu as [Su Eu]. split; auto.
          destruct (begins_rnd u Hu) as [_ B]. lia. }
      rewrite Ws in W, D. cbn [map fold_left] in *. unfold after in *. cbn [data retime tr begins].
      rewrite Now, Was, Read. destruct (begins_rnd t Ht) as [B _]. rewrite B in W. replace (Z.of_nat (S (rnd t)) - 1) with (Z.of_nat (rnd t)) in W by lia.
      split; [exact W|]. split; [intros u [<-|[]] _; reflexivity|]. intros _. apply D. discriminate.
Qed.
Lemma goal_in_time v k : state_at (makespan in_time) v k = H (makespan sch) v k.
Proof.
  replace (makespan sch) with (Z.of_nat (how_many sch)) by (unfold how_many; rewrite Z2Nat.id; [reflexivity|apply makespan_0]).
  apply at_round. intros t Ht _. pose proof (ends_makespan in_time (retime t) (in_map retime _ _ Ht)).
  pose proof (ends_makespan sch t Ht). destruct (begins_rnd t Ht) as [_ B]. pose proof (makespan_0 sch). unfold how_many. split; [lia|auto].
Qed.
End Execution.

(** (round) *)
Theorem rounds_in_time : right j in_time /\ makespan in_time <= round_makespan j sch.
Proof.
  split.
  - split; [intros t Ht; apply in_map_iff in Ht; destruct Ht as [s [<- Hs]]; apply well_in_time, Hs|].
    split; [apply disjoint_in_time|]. split; [apply ports_in_time|]. destruct good as [_ [_ [_ [H [He Hg]]]]].
    exists (state_at H). split; [apply execution_in_time, He|]. intros v k w Hin. rewrite (goal_in_time H He). apply Hg, Hin.
  - assert (G : forall l, incl l sch -> makespan (map retime l) <= round_makespan j sch).
    { induction l as [|t l IH]; intros I; [apply rounds_end_0|]. cbn [map makespan fold_right]. apply Z.max_lub.
      - assert (Ht : In t sch) by (apply I; left; auto). apply (before_round t); auto. unfold how_many.
        pose proof (ends_makespan sch t Ht). destruct (begins_rnd t Ht) as [_ B]. lia.
      - apply IH. intros x Hx. apply I. right; auto. }
    apply G, incl_refl.
Qed.
End Job.

(** ** What bounds timed schedules *)

Definition full_sizes (j : job) : bool := forallb (fun b => 0 <? b) (sizes j).
Corollary bound_in_rounds j bound : positive j -> model j = Blocking -> full_sizes j = true ->
  (forall sch, right j sch -> bound <= makespan sch) ->
  forall sch, right_in_rounds j false sch -> bound <= round_makespan j sch.
Proof.
  intros Hp Hm Hf H sch Hr. unfold full_sizes in Hf. rewrite forallb_forall in Hf.
  destruct (rounds_in_time j Hp Hm (fun b Hb => proj1 (Z.ltb_lt _ _) (Hf b Hb)) sch Hr) as [A B]. specialize (H _ A). lia.
Qed.
Corollary free_bound_in_rounds j bound ps : positive j -> model j = Blocking -> is_cut j ps ->
  (forall sch, right (recut j ps) sch -> bound <= makespan sch) ->
  forall sch, right_in_rounds (recut j ps) false sch -> bound <= round_makespan (recut j ps) sch.
Proof.
  intros Hp Hm Hc. apply bound_in_rounds; auto using recut_positive.
  unfold full_sizes. apply forallb_forall. intros b Hb. cbn [sizes recut] in Hb. apply in_map_iff in Hb. destruct Hb as [p [<- Hb]].
  apply Z.ltb_lt. pose proof (proj1 Hc p Hb). lia.
Qed.

(** For instance, coverage, for every cut. *)
Corollary free_coverage_in_rounds j net X W V bound ps sch : positive j -> model j = Blocking -> is_cut j ps ->
  free_coverage_rule j net X W V bound = true -> right_in_rounds (recut j ps) false sch -> bound <= round_makespan (recut j ps) sch.
Proof. intros Hp Hm Hc H. apply free_bound_in_rounds; auto. intros s. apply (free_coverage_sound j net X W V); auto. Qed.
