(** The rule prices of package cert: what the chunks must pay for the links on their ways is at
    most what the links can earn in their windows. *)
From Coq Require Import Bool List ZArith Lia.
From Oraccl Require Import Cut Round Timed Schedule Passing Bounds Coverage Cover Free.
Import ListNotations.
Open Scope Z_scope.

Section Job.
Variable j : job.
Hypothesis sane : positive j.
Notation at_link := (at_link j).
Variable price : nat -> Z. (* by link, for a picosecond *)
Hypothesis fair : forall i, 0 <= price i.
Variable sch : list sent.
Hypothesis good : right j sch.

(** ** What a chunk has paid by a time *)

Definition fare (b : Z) (r : list nat) : Z := sum (fun i => price i * takes j b i) r.
Definition paid (k : nat) (x : Z) : Z :=
  sum (fun t => fare (size j k) (route t)) (filter (fun t => (what (tr (data t)) =? k)%nat && (ends (data t) <=? x)) sch).

Lemma takes_0 b i : 0 <= b -> 0 <= takes j b i.
Proof.
  intros Hb. unfold takes, beside. pose proof (sane_link j sane i) as [La Lb]. pose proof (beta_0 (at_link i) b Lb Hb).
  destruct (model j); lia.
Qed.
Lemma fare_0 b r : 0 <= b -> 0 <= fare b r.
Proof. intros Hb. apply sum_pos. intros i _. apply Z.mul_nonneg_nonneg; auto using takes_0. Qed.
Lemma paid_more k x y : x <= y -> paid k x <= paid k y.
Proof.
  intros H. unfold paid. rewrite !sum_filter. apply sum_le. intros t _. pose proof (fare_0 (size j k) (route t) (sane_size j sane k)).
  destruct (what (tr (data t)) =? k)%nat; simpl; [|lia].
  destruct (Z.leb_spec (ends (data t)) x), (Z.leb_spec (ends (data t)) y); lia.
Qed.
Lemma paid_step k t x : In t sch -> what (tr (data t)) = k -> begins (data t) < ends (data t) -> ends (data t) <= x ->
  paid k (begins (data t)) + fare (size j k) (route t) <= paid k x.
Proof.
  intros Hin Hk Hb He. apply Z.le_trans with (paid k (ends (data t))); [|apply paid_more; lia].
  unfold paid. rewrite !sum_filter. revert Hin. generalize sch as l. induction l as [|s l IH]; simpl; [tauto|].
  assert (M : forall l', sum (fun x => if (what (tr (data x)) =? k)%nat && (ends (data x) <=? begins (data t)) then fare (size j k) (route x) else 0) l' <=
     sum (fun x => if (what (tr (data x)) =? k)%nat && (ends (data x) <=? ends (data t)) then fare (size j k) (route x) else 0) l').
  { intros l'. apply sum_le. intros y _. pose proof (fare_0 (size j k) (route y) (sane_size j sane k)).
    destruct (what (tr (data y)) =? k)%nat; simpl; [|lia].
    destruct (Z.leb_spec (ends (data y)) (begins (data t))), (Z.leb_spec (ends (data y)) (ends (data t))); lia. }
  intros [->|H].
  - rewrite Hk, Nat.eqb_refl. rewrite (proj2 (Z.leb_gt (ends (data t)) (begins (data t)))) by lia. rewrite Z.leb_refl. simpl.
    specialize (M l). lia.
  - specialize (IH H). pose proof (fare_0 (size j k) (route s) (sane_size j sane k)).
    destruct (what (tr (data s)) =? k)%nat; simpl; [|lia].
    destruct (Z.leb_spec (ends (data s)) (begins (data t))), (Z.leb_spec (ends (data s)) (ends (data t))); lia.
Qed.

(** Costs by node, of which a chunk has this part of that whole. *)
Section Way.
Variable p : list Z.
Variables part whole : Z.
Variables c k : nat.
Hypothesis known : 0 <= part.
Hypothesis starts : forall u x, In ((u, k), x) (pre j) -> contains x c -> potential p u <= 0.
Hypothesis rises : forall i, (i < length (links j))%nat ->
  part * (potential p (Cut.dst (at_link i)) - potential p (Cut.src (at_link i))) <= whole * (price i * takes j (size j k) i).
Hypothesis positive_whole : 0 <= whole.

Lemma way_pays r : forall u v, leads j u r v -> part * potential p v <= part * potential p u + whole * fare (size j k) r.
Proof.
  induction r as [|i r IH]; simpl; intros u v Hl; [subst; unfold fare; simpl; lia|].
  destruct Hl as [Hi [Hs Hl]]. specialize (IH _ _ Hl). specialize (rises i Hi). rewrite Hs in rises.
  unfold fare in *. simpl. lia.
Qed.
Lemma chain_pays v x : holds j (map data sch) c v k x -> part * potential p v <= whole * paid k x.
Proof.
  intros H. remember k as k' eqn:E in H. induction H as [v k' x w Hl Hc _|t x Ht _ IH Hx].
  - subst k'. apply lookup_In in Hl. specialize (starts _ _ Hl Hc).
    assert (0 <= paid k x) by (apply sum_pos; intros t _; apply fare_0, sane_size, sane). nia.
  - apply in_map_iff in Ht. destruct Ht as [s [<- Hs]]. specialize (IH E).
    destruct (proj1 good s Hs) as [_ [Hl [_ [Hb _]]]].
    pose proof (way_pays _ _ _ Hl). pose proof (paid_step k s x Hs E ltac:(lia) Hx). nia.
Qed.
End Way.

(** ** What links earn *)

Theorem earned T : makespan sch <= T ->
  sum (fun k => paid k T) (chunks_of j) <= sum (fun i => price i * window j T i) (seq 0 (length (links j))).
Proof.
  intros HT.
  apply Z.le_trans with (sum (fun a : use => price (fst a) * long (snd a)) (uses j sch)).
  - apply Z.le_trans with (sum (fun t => fare (size j (what (tr (data t)))) (route t)) sch).
    + rewrite (sum_by (fun t => what (tr (data t))) _ (chunks_of j) sch).
      * apply sum_le. intros k _. unfold paid. rewrite !sum_filter. apply sum_le. intros t _.
        pose proof (fare_0 (size j k) (route t) (sane_size j sane k)).
        destruct (Nat.eqb_spec (what (tr (data t))) k) as [->|]; simpl; [destruct (_ <=? _); lia|lia].
      * apply seq_NoDup.
      * intros t Ht. apply in_seq. destruct (proj1 good t Ht) as [[Q _] _]. simpl. lia.
    + unfold uses. assert (W : forall t, In t sch -> well j t) by apply good. revert W. clear good HT. intros W.
      induction sch as [|t l IH]; simpl; [lia|]. rewrite sum_app.
      specialize (IH (fun x Hx => W x (or_intror Hx))).
      enough (fare (size j (what (tr (data t)))) (route t) <= sum (fun a : use => price (fst a) * long (snd a)) (uses_of j t)) by lia.
      unfold fare. rewrite <- (uses_of_route j t) at 1. rewrite sum_map. apply sum_le. intros [i sp] Ha. cbn [fst snd].
      destruct (uses_inside j sane t (W t (or_introl eq_refl)) i sp Ha) as [_ [_ [L _]]]. unfold takes.
      apply Z.mul_le_mono_nonneg_l; auto.
  - rewrite (sum_by (fun a : use => fst a) _ (seq 0 (length (links j))) (uses j sch)).
    + apply sum_le. intros i _. rewrite (sum_eq _ (fun a : use => price i * long (snd a))).
      * rewrite sum_mul. apply Z.mul_le_mono_nonneg_l; auto. apply (fit_link j T i).
        -- apply pairs_filter. apply good.
        -- intros a Ha. apply filter_In in Ha. destruct Ha as [Ha E]. apply Nat.eqb_eq in E.
           unfold uses in Ha. apply in_flat_map in Ha. destruct Ha as [t [Ht Ha]]. destruct a as [i' sp]. simpl in E. subst i'.
           destruct (uses_inside j sane t (proj1 good t Ht) i sp Ha) as [_ [A [L D]]]. pose proof (ends_makespan sch t Ht).
           pose proof (takes_0 (size j (what (tr (data t)))) i (sane_size j sane _)). unfold takes in *. cbn [fst snd]. repeat split; auto; lia.
      * intros a Ha. apply filter_In in Ha. destruct Ha as [_ E]. apply Nat.eqb_eq in E. rewrite E. reflexivity.
    + apply seq_NoDup.
    + intros a Ha. unfold uses in Ha. apply in_flat_map in Ha. destruct Ha as [t [Ht Ha]]. apply in_seq.
      destruct a as [i sp]. destruct (uses_inside j sane t (proj1 good t Ht) i sp Ha) as [R _].
      destruct (proj1 good t Ht) as [_ [Hl _]]. pose proof (leads_in j _ _ _ Hl i R). simpl. lia.
Qed.
End Job.

(** ** The rule *)

Section Rule.
Variable j : job.
Notation at_link := (at_link j).
Variable prices : list Z.
Definition price_of (i : nat) : Z := nth i prices 0.
Variable toll : nat -> nat -> Z. (* by chunk and link *)

Definition cheapest (k : nat) (from : list nat) : list Z :=
  let step := fun p i => lower p (Cut.dst (at_link i)) (potential p (Cut.src (at_link i)) + toll k i) in
  until_still same_times (fun p => fold_left step (seq 0 (length (links j))) p) (size_of_net j)
    (fold_left (fun p u => lower p u 0) from (nowhere j)).
Definition holders_of (k c : nat) : list nat :=
  map (fun e => fst (fst e)) (filter (fun e => containsb (snd e) c) (said_of k (pre j))).
(** What contribution [c] to chunk [k] pays for its dearest way, if [p] has what ways cost. *)
Definition pays (k c : nat) (p : list Z) : Z :=
  if forallb (fun u => potential p u <=? 0) (holders_of k c) &&
     forallb (fun i => potential p (Cut.dst (at_link i)) - potential p (Cut.src (at_link i)) <=? toll k i) (seq 0 (length (links j)))
  then fold_right (fun e m => if containsb (snd e) c then Z.max m (potential p (fst (fst e))) else m) 0 (said_of k (post j))
  else 0.
Definition wanted_of (k : nat) : list nat :=
  nodup Nat.eq_dec (flat_map (fun e => filter (containsb (snd e)) (seq 0 (length (snd e)))) (said_of k (post j))).
Definition dearest (k : nat) : Z :=
  fold_right (fun c m => Z.max m (pays k c (cheapest k (holders_of k c)))) 0 (wanted_of k).
Definition too_dear (T : Z) : bool :=
  forallb (Z.leb 0) prices &&
  (sum (fun i => price_of i * window j T i) (seq 0 (length (links j))) <?
   sum (fun k => if 0 <? size j k then dearest k else 0) (chunks_of j)).

Lemma price_fair : forallb (Z.leb 0) prices = true -> forall i, 0 <= price_of i.
Proof.
  intros H i. unfold price_of. rewrite forallb_forall in H. destruct (Nat.lt_ge_cases i (length prices)).
  - apply Z.leb_le, H, nth_In. auto.
  - rewrite nth_overflow by auto. lia.
Qed.

(** What a chunk of another job pays that is part of one of this, of which it may be the whole. *)
Lemma dearest_paid j' sch part whole k k' : positive j' -> right j' sch -> nodes j' = nodes j -> links j' = links j ->
  (forall i, 0 <= price_of i) -> 0 <= part -> 0 <= whole ->
  (forall u x, In ((u, k'), x) (pre j') -> In ((u, k), x) (pre j)) ->
  (forall u x, In ((u, k), x) (post j) -> In ((u, k'), x) (post j')) ->
  (forall i d, (i < length (links j))%nat -> d <= toll k i -> part * d <= whole * (price_of i * takes j' (size j' k') i)) ->
  part * dearest k <= whole * paid j' price_of sch k' (makespan sch).
Proof.
  intros Hp Hr Hn Hl Hf P W Hpre Hpost Ht.
  assert (Q : 0 <= whole * paid j' price_of sch k' (makespan sch)).
  { apply Z.mul_nonneg_nonneg; auto. apply sum_pos. intros t _. apply fare_0; auto. apply sane_size, Hp. }
  unfold dearest. induction (wanted_of k) as [|c l IH]; [simpl; lia|]. cbn [fold_right].
  enough (part * pays k c (cheapest k (holders_of k c)) <= whole * paid j' price_of sch k' (makespan sch)).
  { destruct (Z.max_spec (fold_right (fun c m => Z.max m (pays k c (cheapest k (holders_of k c)))) 0 l) (pays k c (cheapest k (holders_of k c)))) as [[_ ->]|[_ ->]]; auto. }
  unfold pays. set (p := cheapest k (holders_of k c)). destruct (_ && _) eqn:E; [|rewrite Z.mul_0_r; exact Q].
  apply andb_true_iff in E. destruct E as [E1 E2]. rewrite forallb_forall in E1, E2.
  assert (In_goal : forall e, In e (said_of k (post j)) -> In ((fst (fst e), k'), snd e) (post j')).
  { intros [[v s] w] H. apply filter_In in H. destruct H as [H E]. apply Nat.eqb_eq in E. simpl in E. subst s. apply Hpost, H. }
  induction (said_of k (post j)) as [|[[v s] w] g IHg]; [simpl; rewrite Z.mul_0_r; exact Q|]. cbn [fold_right fst snd].
  assert (IHg' := IHg (fun e H => In_goal e (or_intror H))). destruct (containsb w c) eqn:Ec; [|exact IHg'].
  set (m := fold_right _ 0 g) in *.
  enough (part * potential p v <= whole * paid j' price_of sch k' (makespan sch)).
  { destruct (Z.max_spec m (potential p v)) as [[_ ->]|[_ ->]]; auto. }
  apply (chain_pays j' Hp price_of Hf sch Hr p part whole c k'); auto.
  - intros u x Hx Hc. apply Z.leb_le, E1. apply in_map_iff. exists ((u, k), x). split; auto. apply filter_In.
    split; [|apply Nat.ltb_lt, Hc]. apply filter_In. split; [apply Hpre, Hx|apply Nat.eqb_refl].
  - intros i Hi. rewrite Hl in Hi. specialize (E2 i (proj2 (in_seq _ _ _) (conj (Nat.le_0_l _) Hi))). apply Z.leb_le in E2.
    unfold Schedule.at_link in *. rewrite Hl. apply Ht; auto.
  - apply (right_holds j' sch v k' w c Hr).
    + apply (In_goal ((v, s), w)). left. auto.
    + apply Nat.ltb_lt, Ec.
Qed.
End Rule.

Definition prices_rule (j : job) (prices : list Z) (bound : Z) : bool :=
  too_dear j prices (fun k i => price_of prices i * takes j (size j k) i) (bound - 1).
Theorem prices_sound j prices bound sch : positive j -> prices_rule j prices bound = true -> right j sch -> bound <= makespan sch.
Proof.
  intros Hp H Hr. apply andb_true_iff in H. destruct H as [Hf H]. apply Z.ltb_lt in H.
  pose proof (price_fair prices Hf) as F. apply Z.nlt_ge. intros Lt.
  enough (sum (fun k => if 0 <? size j k then dearest j (fun k i => price_of prices i * takes j (size j k) i) k else 0) (chunks_of j) <=
    sum (fun i => price_of prices i * window j (bound - 1) i) (seq 0 (length (links j)))) by lia.
  eapply Z.le_trans; [|apply (earned j Hp (price_of prices) F sch Hr (bound - 1)); lia].
  apply sum_le. intros k Hk.
  pose proof (dearest_paid j prices (fun k i => price_of prices i * takes j (size j k) i) j sch 1 1 k k Hp Hr eq_refl eq_refl F) as Q.
  assert (1 * dearest j (fun k i => price_of prices i * takes j (size j k) i) k <= 1 * paid j (price_of prices) sch k (makespan sch)).
  { apply Q; auto; try lia. }
  pose proof (paid_more j Hp (price_of prices) F sch k (makespan sch) (bound - 1) ltac:(lia)).
  assert (0 <= paid j (price_of prices) sch k (bound - 1)).
  { apply sum_pos. intros t _. apply fare_0; auto. apply sane_size, Hp. }
  destruct (0 <? size j k); lia.
Qed.

Definition free_prices_rule (j : job) (prices : list Z) (bound : Z) : bool :=
  too_dear j prices (fun s i => price_of prices i * size j s * picoseconds / bandwidth (at_link j i)) (bound - 1).
Theorem free_prices_sound j prices bound ps sch : positive j -> is_cut j ps ->
  free_prices_rule j prices bound = true -> right (recut j ps) sch -> bound <= makespan sch.
Proof.
  intros Hp Hc H Hr. apply andb_true_iff in H. destruct H as [Hf H]. apply Z.ltb_lt in H.
  pose proof (price_fair prices Hf) as F. apply Z.nlt_ge. intros Lt. pose proof (recut_positive j ps Hc Hp) as Hp'.
  set (toll := fun s i => price_of prices i * size j s * picoseconds / bandwidth (at_link j i)) in *.
  enough (sum (fun s => if 0 <? size j s then dearest j toll s else 0) (chunks_of j) <=
    sum (fun i => price_of prices i * window j (bound - 1) i) (seq 0 (length (links j)))) by lia.
  eapply Z.le_trans; [|apply (earned (recut j ps) Hp' (price_of prices) F sch Hr (bound - 1)); lia].
  replace (chunks_of (recut j ps)) with (seq 0 (length ps)) by (unfold chunks_of; rewrite recut_chunks; reflexivity).
  rewrite (sum_by (shard ps) _ (chunks_of j) (seq 0 (length ps))); [|apply seq_NoDup|intros; apply (shard_known j); auto].
  apply sum_le. intros s Hs. apply in_seq in Hs. pose proof (bytes_of_shard j ps Hc s ltac:(lia)) as Bs.
  set (ks := filter (fun k => (shard ps k =? s)%nat) (seq 0 (length ps))) in *.
  assert (Ks : forall k, In k ks -> In k (seq 0 (length ps)) /\ shard ps k = s).
  { intros k Hk. apply filter_In in Hk. rewrite Nat.eqb_eq in Hk. exact Hk. }
  assert (Each : forall k, In k ks -> size (recut j ps) k * dearest j toll s <= size j s * paid (recut j ps) (price_of prices) sch k (bound - 1)).
  { intros k Hk. destruct (Ks k Hk) as [Ik Es]. pose proof (sane_size j Hp s). pose proof (recut_size_1 j ps Hc k Ik) as S1.
    apply Z.le_trans with (size j s * paid (recut j ps) (price_of prices) sch k (makespan sch)).
    - apply (dearest_paid j prices toll (recut j ps) sch); auto; try lia.
      + intros u x Hx. apply in_cut_up in Hx. rewrite <- Es. apply Hx.
      + intros u x Hx. apply in_cut_up. rewrite Es. auto.
      + intros i d Hi Hd. unfold toll in Hd. pose proof (sane_link j Hp i) as [La Lb].
        change (at_link (recut j ps) i) with (at_link j i) in *.
        assert (D : bandwidth (at_link j i) * d <= price_of prices i * size j s * picoseconds).
        { eapply Z.le_trans; [apply Z.mul_le_mono_nonneg_l; [lia|exact Hd]|]. apply Z.mul_div_le. exact Lb. }
        pose proof (beta_enough (at_link j i) (size (recut j ps) k) Lb) as Be.
        assert (Tk : beta (at_link j i) (size (recut j ps) k) <= takes (recut j ps) (size (recut j ps) k) i).
        { unfold takes. change (Schedule.at_link (recut j ps) i) with (at_link j i).
          assert (0 <= beside (recut j ps) i) by (unfold beside; change (Schedule.at_link (recut j ps) i) with (at_link j i); destruct (model (recut j ps)); lia). lia. }
        specialize (F i). set (pr := price_of prices i) in *. set (tk := takes _ _ i) in *.
        set (sz := size (recut j ps) k) in *. set (be := beta _ sz) in *. set (bw := bandwidth (at_link j i)) in *.
        apply (Zmult_le_reg_r _ _ bw); [lia|].
        assert (sz * picoseconds <= bw * tk) by nia.
        assert (sz * (bw * d) <= sz * (pr * size j s * picoseconds)) by (apply Z.mul_le_mono_nonneg_l; lia).
        assert (pr * size j s * (sz * picoseconds) <= pr * size j s * (bw * tk)) by (apply Z.mul_le_mono_nonneg_l; [apply Z.mul_nonneg_nonneg; lia|auto]).
        lia.
    - apply Z.mul_le_mono_nonneg_l; auto. apply paid_more; auto. lia. }
  assert (All : size j s * dearest j toll s <= size j s * sum (fun k => paid (recut j ps) (price_of prices) sch k (bound - 1)) ks).
  { rewrite <- sum_mul. rewrite <- Bs at 1. rewrite Z.mul_comm, <- sum_mul. apply sum_le. intros k Hk. rewrite Z.mul_comm. apply Each, Hk. }
  destruct (Z.ltb_spec 0 (size j s)).
  - apply (Zmult_le_reg_r _ _ (size j s)); lia.
  - apply sum_pos. intros k _. apply sum_pos. intros t _. apply fare_0; auto. apply sane_size, Hp'.
Qed.
