(** Bounds in rounds, over a topology, as functions that decide: the rules volume and cut of package cert, under
    the model rounds, and what RoundHops takes of a schedule. It is looked at as
    rounds of the form that Round.v has, so that what Spread.v and Combine.v have of one round holds of
    it. Left out: what arrivals delay; problems whose cut is free. *)
From Coq Require Import Bool List ZArith Lia.
From Oraccl Require Import Cut Round Spread Combine Timed Schedule Passing Bounds Replay InRounds Partition RoundTime.
Import ListNotations.
Open Scope Z_scope.

Section Job.
Variable j : job.
Notation at_link := (at_link j).
Notation arrival := (arrival j).
Notation rounds_end := (rounds_end j).
Notation round_makespan := (round_makespan j).
Notation round_waits := (round_waits j).
Notation round_lasts := (round_lasts j).
Notation least_hop := (least_hop j).
Notation least_size := (least_size j).
Notation rounds_last := (rounds_last j).
Notation hop_lasts := (hop_lasts j).
Notation sends_once := (sends_once j).
Notation receives_once := (receives_once j).
Notation round_step := (round_step j).
Notation rounds_run := (rounds_run j).
Notation goal_at_end := (goal_at_end j).

(** ** The rules *)

Definition said_at (v k : nat) (l : list (nat * nat * value)) : list (nat * nat * value) :=
  filter (fun e => (fst (fst e) =? v)%nat && (snd (fst e) =? k)%nat) l.
Definition ends_with (c v k : nat) : bool := existsb (fun e => containsb (snd e) c) (said_at v k (post j)).
Definition starts_only (c : nat) (hs : list nat) (k : nat) : bool :=
  forallb (fun e => negb ((snd (fst e) =? k)%nat && containsb (snd e) c) || existsb (Nat.eqb (fst (fst e))) hs) (pre j).

(** This many rounds, each with a hop or more. *)
Definition rounds_take (n : nat) : Z := Z.of_nat n * least_hop least_size.

(** As many transfers as the chunks need, of which each round has one from each rank at most. *)
Definition own_part (v : nat) : nat := if is_rank j v then S v else O.
Definition transfers_rule (bound : Z) : bool :=
  let d := length (demands j own_part) in
  (1 <=? nodes j)%nat && ((bound <=? rounds_take ((d + nodes j - 1) / nodes j)) ||
    ((bound - 1) * Z.of_nat (nodes j) <? sum least_hop (demands j own_part))).

(** As many chunks as must leave a set, of which a round moves one for each rank in it at most, and
    one for each rank that is not. *)
Definition crossing_rule (X : nat -> bool) (bound : Z) : bool :=
  let ks := filter (crosses j X) (seq 0 (length (sizes j))) in
  let w := Nat.min (length (filter X (seq 0 (nodes j)))) (length (filter (fun v => negb (X v)) (seq 0 (nodes j)))) in
  (1 <=? w)%nat && ((bound <=? rounds_take ((length ks + w - 1) / w)) ||
    ((bound - 1) * Z.of_nat w <? sum (fun k => least_hop (size j k)) ks)).

Section Sound.
Variable sch : list sent.
Hypothesis sane : positive j.
Hypothesis good : right_in_rounds j false sch.

Lemma hop_0 : 0 <= least_hop least_size.
Proof. unfold least_hop. lia. Qed.
Lemma take_rounds n m : (n <= m)%nat -> rounds_take n <= rounds_take m.
Proof. intros. unfold rounds_take. pose proof hop_0. nia. Qed.
Lemma all_rounds : rounds_take (rounds (rounds_from sch 0 (how_many sch))) <= round_makespan sch.
Proof. pose proof (rounds_last sch sane (proj1 good) (how_many sch) 0) as Q. unfold round_makespan, rounds_take. simpl (rounds_end sch 0) in Q. rewrite Nat.add_0_l in Q. lia. Qed.

Lemma execution_in_rounds : exists H, execution (lookup (pre j)) (map data sch) H /\
  (forall v k, H (Z.of_nat 0) v k = lookup (pre j) v k) /\
  forall v k w, In ((v, k), w) (post j) -> exists got, H (Z.of_nat (0 + how_many sch)) v k = Some got /\ agrees j got w.
Proof.
  destruct good as [_ [_ [_ [H [He Hg]]]]]. exists H. split; [exact He|]. split; [apply He|]. apply (goal_at_end sch H He Hg).
Qed.
Lemma agrees_contains got w c : agrees j got w -> contains w c -> contains got c.
Proof. intros A Hc. specialize (A c). unfold contains in *. destruct (idempotent j); [tauto|congruence]. Qed.
Lemma ends_with_has H v k c : (forall v k w, In ((v, k), w) (post j) -> exists got, H v k = Some got /\ agrees j got w) ->
  ends_with c v k = true -> exists w, H v k = Some w /\ contains w c.
Proof.
  intros Hg E. apply existsb_exists in E. destruct E as [[[v' k'] w] [Hin Hc]]. unfold said_at in Hin. apply filter_In in Hin.
  cbn [fst snd] in *. destruct Hin as [Hin E]. apply andb_true_iff in E. rewrite !Nat.eqb_eq in E. destruct E as [-> ->].
  destruct (Hg _ _ _ Hin) as [got [Hgot A]]. exists got. split; auto. eapply agrees_contains; eauto. apply Nat.ltb_lt, Hc.
Qed.
Lemma starts_only_within c hs k : starts_only c hs k = true -> within (fun _ => c) (lookup (pre j)) k hs.
Proof.
  intros Hs v [w [Hl Hc]]. apply lookup_In in Hl. unfold starts_only in Hs. rewrite forallb_forall in Hs. specialize (Hs _ Hl).
  cbn [fst snd] in Hs. rewrite Nat.eqb_refl in Hs. unfold containsb in Hs. rewrite (proj2 (Nat.ltb_lt 0 _) Hc) in Hs. simpl in Hs.
  apply existsb_exists in Hs. destruct Hs as [x [Hx E]]. apply Nat.eqb_eq in E. congruence.
Qed.
Lemma within_ext c s s' k l : (forall v k, s v k = s' v k) -> within (fun _ => c) s k l -> within (fun _ => c) s' k l.
Proof. intros E W v [w [Hv Hc]]. apply W. exists w. rewrite E. auto. Qed.
Lemma rounds_in r0 n r : In r (rounds_from sch r0 n) -> NoDup (map Round.src r) /\ NoDup (map Round.dst r).
Proof. intros H. apply in_map_iff in H. destruct H as [i [<- _]]. split; [apply (sends_once sch good)|apply (receives_once sch good)]. Qed.

Lemma different_agrees got w : agrees j got w -> (different w <= different got)%nat.
Proof.
  intros A. assert (B : forall i, (0 < count w i -> 0 < count got i)%nat).
  { intros i Hi. specialize (A i). destruct (idempotent j); [tauto|congruence]. }
  clear A. unfold different. revert got B. induction w as [|x w IH]; intros got B; [simpl; lia|].
  destruct got as [|y got].
  - assert (E : forall i, count (x :: w) i = O) by (intros i; specialize (B i); unfold count in *; destruct (nth i (x :: w) O); auto; simpl in B; destruct i; lia).
    assert (Z0 : forall l, (forall i, nth i l O = O) -> filter (fun x => (0 <? x)%nat) l = []).
    { clear. induction l as [|a l IH]; intros H; [reflexivity|]. pose proof (H O) as H0. simpl in H0. subst a. simpl. apply IH. intros i. apply (H (S i)). }
    rewrite (Z0 _ E). simpl. lia.
  - specialize (IH got (fun i => B (S i))). specialize (B O). unfold count in B. simpl in B. cbn [filter].
    destruct (Nat.ltb_spec 0 x), (Nat.ltb_spec 0 y); cbn [length]; lia.
Qed.
Lemma begins_0 t : In t sch -> 0 <= begins (data t) < ends (data t).
Proof. intros Ht. destruct (proj1 good t Ht) as [_ [_ [_ [A [E _]]]]]. lia. Qed.
(** Of some transfers, of which a round has [w] at most. *)
Lemma sent_until (g : sent -> bool) w n : (forall r, (length (filter g (sent_in sch r)) <= w)%nat) ->
  (length (filter (fun t => g t && (begins (data t) <? Z.of_nat n)%Z) sch) <= w * rounds (rounds_from sch 0 n))%nat.
Proof.
  intros W. induction n as [|n IH].
  - replace (filter _ sch) with (@nil sent); [simpl; lia|]. symmetry. pose proof begins_0 as B. revert B. generalize sch as l. induction l as [|t l IHl]; intros B; [reflexivity|].
    cbn [filter]. specialize (B t (or_introl eq_refl)) as Bt. rewrite (proj2 (Z.ltb_ge _ _)), andb_false_r by lia. apply IHl. intros x Hx. apply B. right; auto.
  - assert (E : rounds (rounds_from sch 0 (S n)) = (rounds (rounds_from sch 0 n) + rounds [round_of sch n])%nat).
    { unfold rounds_from. rewrite seq_S, map_app. unfold rounds. rewrite filter_app, app_length. reflexivity. }
    assert (L : (length (filter (fun t => g t && (begins (data t) <? Z.of_nat (S n))%Z) sch) <=
        length (filter (fun t => g t && (begins (data t) <? Z.of_nat n)%Z) sch) + length (filter g (sent_in sch n)))%nat).
    { unfold sent_in. clear. induction sch as [|t l IHl]; [simpl; lia|]. cbn [filter].
      destruct (Z.ltb_spec (begins (data t)) (Z.of_nat (S n))), (Z.ltb_spec (begins (data t)) (Z.of_nat n)), (Z.eqb_spec (begins (data t)) (Z.of_nat n)), (g t) eqn:G;
        cbn [andb length filter]; rewrite ?G; cbn [length]; lia. }
    assert (O : (length (filter g (sent_in sch n)) <= w * rounds [round_of sch n])%nat).
    { specialize (W n). unfold round_of. destruct (sent_in sch n) as [|t l] eqn:Er; [simpl; lia|].
      change (rounds [map (fun t => tr (data t)) (t :: l)]) with 1%nat. rewrite Nat.mul_1_r. exact W. }
    rewrite E. lia.
Qed.
Lemma sent_at_all (g : sent -> bool) w : (forall r, (length (filter g (sent_in sch r)) <= w)%nat) ->
  (length (filter g sch) <= w * rounds (rounds_from sch 0 (how_many sch)))%nat.
Proof.
  intros W. pose proof (sent_until g w (how_many sch) W) as U. eapply Nat.le_trans; [|exact U]. apply filter_le. intros t Ht G. rewrite G.
  apply Z.ltb_lt. unfold how_many. rewrite Z2Nat.id by apply makespan_0. pose proof (ends_makespan sch t Ht). pose proof (begins_0 t Ht). lia.
Qed.
(** And how long they take together. *)
Definition hop_of (t : sent) : Z := least_hop (size j (what (tr (data t)))).
Lemma hop_of_0 t : 0 <= hop_of t.
Proof. unfold hop_of, RoundTime.least_hop. lia. Qed.
Lemma time_until (g : sent -> bool) w n : (forall r, (length (filter g (sent_in sch r)) <= w)%nat) ->
  sum hop_of (filter (fun t => g t && (begins (data t) <? Z.of_nat n)) sch) <= Z.of_nat w * rounds_end sch n.
Proof.
  intros W. induction n as [|n IH].
  - replace (filter _ sch) with (@nil sent); [simpl; lia|]. symmetry. pose proof begins_0 as B. revert B. generalize sch as l. induction l as [|t l IHl]; intros B; [reflexivity|].
    cbn [filter]. specialize (B t (or_introl eq_refl)) as Bt. rewrite (proj2 (Z.ltb_ge _ _)), andb_false_r by lia. apply IHl. intros x Hx. apply B. right; auto.
  - assert (L : sum hop_of (filter (fun t => g t && (begins (data t) <? Z.of_nat (S n))) sch) <=
        sum hop_of (filter (fun t => g t && (begins (data t) <? Z.of_nat n)) sch) + sum hop_of (filter g (sent_in sch n))).
    { unfold sent_in. clear. induction sch as [|t l IHl]; [simpl; lia|]. cbn [filter]. pose proof (hop_of_0 t).
      destruct (Z.ltb_spec (begins (data t)) (Z.of_nat (S n))), (Z.ltb_spec (begins (data t)) (Z.of_nat n)), (Z.eqb_spec (begins (data t)) (Z.of_nat n)), (g t) eqn:G;
        cbn [andb sum fold_right filter]; rewrite ?G; cbn [sum fold_right]; unfold sum in *; lia. }
    assert (R : sum hop_of (filter g (sent_in sch n)) <= Z.of_nat w * round_lasts sch n).
    { specialize (W n). assert (G : forall t, In t (filter g (sent_in sch n)) -> hop_of t <= round_lasts sch n).
      { intros t Ht. apply filter_In in Ht. destruct Ht as [Ht _]. assert (Hs : In t sch) by (apply filter_In in Ht; apply Ht).
        eapply Z.le_trans; [apply (hop_lasts_of j sch sane (proj1 good) t (size j (what (tr (data t))))); [exact Hs|split; [apply sane_size, sane|lia]]|].
        apply (greatest_ge (fun t => duration j (size j (what (tr (data t)))) (route t))), Ht. }
      assert (P : 0 <= round_lasts sch n) by apply greatest_0.
      apply Z.le_trans with (Z.of_nat (length (filter g (sent_in sch n))) * round_lasts sch n); [|apply Z.mul_le_mono_nonneg_r; lia].
      revert G. generalize (filter g (sent_in sch n)). intros l G. induction l as [|t l IHl]; [simpl; lia|].
      specialize (IHl (fun x Hx => G x (or_intror Hx))). specialize (G t (or_introl eq_refl)). cbn [sum fold_right length]. unfold sum in IHl. lia. }
    assert (E : rounds_end sch n + round_lasts sch n <= rounds_end sch (S n)).
    { cbn [RoundTime.rounds_end]. unfold RoundTime.round_lasts. destruct (sent_in sch n) eqn:Es; [simpl; lia|]. fold (round_lasts sch n). lia. }
    nia.
Qed.
Lemma time_at_all (g : sent -> bool) w : (forall r, (length (filter g (sent_in sch r)) <= w)%nat) ->
  sum hop_of (filter g sch) <= Z.of_nat w * round_makespan sch.
Proof.
  intros W. eapply Z.le_trans; [|apply (time_until g w (how_many sch) W)].
  replace (filter (fun t => g t && (begins (data t) <? Z.of_nat (how_many sch))) sch) with (filter g sch); [lia|].
  apply filter_ext_in. intros t Ht. rewrite (proj2 (Z.ltb_lt _ _)); [rewrite andb_true_r; reflexivity|].
  unfold how_many. rewrite Z2Nat.id by apply makespan_0. pose proof (ends_makespan sch t Ht). pose proof (begins_0 t Ht). lia.
Qed.
Lemma few (g : sent -> bool) (f : transfer -> nat) l r : NoDup (map f (round_of sch r)) ->
  (forall t, In t sch -> g t = true -> In (f (tr (data t))) l) -> (length (filter g (sent_in sch r)) <= length l)%nat.
Proof.
  intros N H. rewrite <- (map_length (fun t => f (tr (data t)))). apply NoDup_incl_length.
  - unfold round_of in N. rewrite map_map in N. apply (NoDup_map_filter (fun t => f (tr (data t)))), N.
  - intros x Hx. apply in_map_iff in Hx. destruct Hx as [t [<- Ht]]. apply filter_In in Ht. destruct Ht as [Ht G].
    apply filter_In in Ht. apply H; tauto.
Qed.
Lemma needed_rounds d w bound : (1 <= w)%nat -> (d <= w * rounds (rounds_from sch 0 (how_many sch)))%nat ->
  bound <= rounds_take ((d + w - 1) / w) -> bound <= round_makespan sch.
Proof.
  intros Hw Hd Hb. eapply Z.le_trans; [exact Hb|]. eapply Z.le_trans; [|apply all_rounds]. apply take_rounds.
  apply Nat.lt_succ_r. apply Nat.div_lt_upper_bound; nia.
Qed.
Lemma holds_in_rounds v k w c : In ((v, k), w) (post j) -> contains w c -> holds j (map data sch) c v k (makespan sch).
Proof.
  intros Hin Hc. destruct good as [_ [_ [_ [H [He Hg]]]]]. destruct (Hg _ _ _ Hin) as [got [Hgot A]].
  apply (arrive j _ H He) with (w := got); auto.
  - intros t Ht. apply in_map_iff in Ht. destruct Ht as [s [<- Hs]]. apply begins_0, Hs.
  - apply makespan_0.
  - eapply agrees_contains; eauto.
Qed.
Theorem transfers_sound bound : transfers_rule bound = true -> bound <= round_makespan sch.
Proof.
  unfold transfers_rule. set (d := length (demands j own_part)). intros R. rewrite andb_true_iff, Nat.leb_le in R. destruct R as [Rn Rb].
  destruct (Z_le_gt_dec bound (round_makespan sch)) as [|G]; auto. exfalso.
  apply (demands_served j own_part sch begins_0 holds_in_rounds). intros [f [items [N [M S]]]].
  assert (W : forall r, (length (filter (fun _ => true) (sent_in sch r)) <= nodes j)%nat).
  { intros r. rewrite <- (seq_length (nodes j) 0). apply (few _ Round.src); [apply (sends_once sch good)|].
    intros t Ht _. destruct (proj1 good t Ht) as [[_ [R _]] _]. apply in_seq. simpl. lia. }
  assert (All : filter (fun _ => true) sch = sch) by (clear; induction sch; simpl; congruence).
  assert (I : incl items (map (key_of own_part f) sch)) by (intros a Ha; destruct (S a Ha) as [t [A [<- _]]]; apply in_map, A).
  apply orb_true_iff in Rb. rewrite Z.leb_le, Z.ltb_lt in Rb. destruct Rb as [Rb|Rb].
  - apply (Z.lt_irrefl (round_makespan sch)). apply Z.lt_le_trans with bound; [lia|]. apply (needed_rounds d (nodes j)); auto.
    eapply Nat.le_trans; [|apply (sent_at_all (fun _ => true) (nodes j) W)]. rewrite All. unfold d. rewrite <- M, map_length.
    rewrite <- (map_length (key_of own_part f) sch). apply NoDup_incl_length; auto.
  - pose proof (time_at_all (fun _ => true) (nodes j) W) as A. rewrite All in A. rewrite <- M, sum_map in Rb.
    pose proof (sum_incl (fun a => least_hop (size j (fst a))) items _ N I ltac:(intros; unfold RoundTime.least_hop; lia)) as L.
    rewrite sum_map in L. cbn [fst key_of] in L. unfold hop_of in A. nia.
Qed.

Theorem crossing_sound X bound : crossing_rule X bound = true -> bound <= round_makespan sch.
Proof.
  unfold crossing_rule. set (ks := filter (crosses j X) (seq 0 (length (sizes j)))). set (a := filter X (seq 0 (nodes j))).
  set (b := filter (fun v => negb (X v)) (seq 0 (nodes j))). intros R. rewrite andb_true_iff, Nat.leb_le in R. destruct R as [Rw Rb].
  set (g := fun t : sent => X (Round.src (tr (data t))) && negb (X (Round.dst (tr (data t))))).
  assert (N : NoDup ks) by apply NoDup_filter, seq_NoDup.
  assert (I : incl ks (map (fun t => what (tr (data t))) (filter g sch))).
  { intros k Hk. apply filter_In in Hk. destruct Hk as [_ Hk]. apply existsb_exists in Hk.
    destruct Hk as [[[v k'] w] [Hin Hk]]. cbn [fst snd] in Hk. apply andb_true_iff in Hk. destruct Hk as [Hk Hc'].
    apply andb_true_iff in Hk. destruct Hk as [E Hv]. apply Nat.eqb_eq in E. subst k'.
    apply negb_true_iff in Hv. apply existsb_exists in Hc'. destruct Hc' as [c [_ Hc']].
    apply andb_true_iff in Hc'. destruct Hc' as [Hwc Ho]. unfold containsb in Hwc. apply Nat.ltb_lt in Hwc.
    destruct (must_leave j X _ _ _ _ _ (holds_in_rounds v k w c Hin Hwc) Hv) as [t [Ht [Ek [A B]]]].
    + intros u x Hx Hcx. unfold only_inside in Ho. rewrite forallb_forall in Ho. specialize (Ho _ Hx).
      cbn [fst snd] in Ho. rewrite Nat.eqb_refl in Ho. unfold containsb in Ho. rewrite (proj2 (Nat.ltb_lt 0 _) Hcx) in Ho. exact Ho.
    + apply in_map_iff in Ht. destruct Ht as [s [<- Hs]]. apply in_map_iff. exists s. split; auto. apply filter_In. split; auto.
      unfold g. rewrite A, B. reflexivity. }
  assert (W : forall r, (length (filter g (sent_in sch r)) <= Nat.min (length a) (length b))%nat).
  { intros r. apply Nat.min_glb.
    + apply (few _ Round.src); [apply (sends_once sch good)|]. intros t Ht G. apply andb_true_iff in G.
      destruct (proj1 good t Ht) as [[_ [R _]] _]. apply filter_In. split; [apply in_seq; simpl; lia|apply G].
    + apply (few _ Round.dst); [apply (receives_once sch good)|]. intros t Ht G. apply andb_true_iff in G.
      destruct (proj1 good t Ht) as [[_ [_ [R _]]] _]. apply filter_In. split; [apply in_seq; simpl; lia|apply G]. }
  apply orb_true_iff in Rb. rewrite Z.leb_le, Z.ltb_lt in Rb. destruct Rb as [Rb|Rb].
  - apply (needed_rounds (length ks) (Nat.min (length a) (length b))); auto. eapply Nat.le_trans; [|apply (sent_at_all g _ W)].
    rewrite <- (map_length (fun t => what (tr (data t))) (filter g sch)). apply NoDup_incl_length; auto.
  - pose proof (time_at_all g _ W) as A. pose proof (sum_incl (fun k => least_hop (size j k)) ks _ N I ltac:(intros; unfold RoundTime.least_hop; lia)) as L.
    rewrite sum_map in L. unfold hop_of in A. nia.
Qed.

End Sound.
End Job.
