(** Bounds of every cut: a problem whose shards may be cut into any chunks of whole bytes. The
    rules of Bounds.v and Cover.v on shards, and what they show of each cut. *)
From Coq Require Import Bool List ZArith Lia.
From Oraccl Require Import Cut Round Timed Schedule Passing Bounds InRounds Copying Adding Loose Coverage Cover.
Import ListNotations.
Open Scope Z_scope.

(** Chunk k of the cut job lies in this shard, and is as much of it. *)
Definition pieces := list (nat * Z).

Section Job.
Variable j : job. (* its chunks are the shards *)
Notation at_link := (at_link j).

Section Cut.
Variable ps : pieces.
Definition shard (k : nat) : nat := fst (nth k ps (O, 0)).
Notation chunks := (seq 0 (length ps)).
Definition cut_up (l : list (nat * nat * value)) : list (nat * nat * value) :=
  flat_map (fun k => map (fun e => ((fst (fst e), k), snd e)) (said_of (shard k) l)) chunks.
Definition recut : job :=
  Job (nodes j) (links j) (ports j) (model j) (release j) (map snd ps) (idempotent j) (cut_up (pre j)) (cut_up (post j)).

(** Every byte of each shard is in one chunk, and no chunk is empty. *)
Definition is_cut : Prop :=
  (forall p, In p ps -> (fst p < length (sizes j))%nat /\ 1 <= snd p) /\
  forall s, (s < length (sizes j))%nat -> sum snd (filter (fun p => (fst p =? s)%nat) ps) = size j s.
Hypothesis cut : is_cut.
Hypothesis sane : positive j.

Lemma in_cut_up l v k w : In ((v, k), w) (cut_up l) <-> In k chunks /\ In ((v, shard k), w) l.
Proof.
  unfold cut_up. rewrite in_flat_map. split.
  - intros [k' [Hk H]]. apply in_map_iff in H. destruct H as [[[v' s] w'] [E H]]. cbn [fst snd] in E.
    injection E as <- <- <-. unfold said_of in H. apply filter_In in H. destruct H as [H E].
    apply Nat.eqb_eq in E. cbn [fst snd] in E. subst s. auto.
  - intros [Hk H]. exists k. split; auto. apply in_map_iff. exists ((v, shard k), w). split; auto.
    apply filter_In. split; auto. apply Nat.eqb_refl.
Qed.
Lemma recut_chunks : length (sizes recut) = length ps.
Proof. apply map_length. Qed.
Lemma nth_piece k : In k chunks -> In (nth k ps (O, 0)) ps.
Proof. intros H. apply in_seq in H. apply nth_In. lia. Qed.
Lemma recut_size k : size recut k = snd (nth k ps (O, 0)).
Proof. unfold size, recut. simpl. apply (map_nth snd ps (O, 0) k). Qed.
Lemma recut_size_1 k : In k chunks -> 1 <= size recut k.
Proof. intros H. rewrite recut_size. apply cut, nth_piece, H. Qed.
Lemma shard_known k : In k chunks -> In (shard k) (chunks_of j).
Proof. intros H. apply in_seq. destruct (proj1 cut _ (nth_piece k H)). unfold shard. lia. Qed.
Lemma recut_positive : positive recut.
Proof.
  split; [apply sane|]. intros b Hb. apply in_map_iff in Hb. destruct Hb as [p [<- Hp]].
  pose proof (proj2 (proj1 cut p Hp)). lia.
Qed.

(** A sum over chunks of what their shards have of each byte. *)
Lemma sum_positions {A} (d : A) (f : A -> Z) (g : A -> bool) (l : list A) :
  sum f (filter g l) = sum (fun k => f (nth k l d)) (filter (fun k => g (nth k l d)) (seq 0 (length l))).
Proof.
  rewrite !sum_filter. induction l as [|x l IH]; [reflexivity|].
  cbn [length seq sum fold_right nth]. unfold sum in *. rewrite IH. f_equal.
  rewrite <- seq_shift. change (fold_right ?h 0 (map S ?r)) with (sum (fun k => (if g (nth k (x :: l) d) then f (nth k (x :: l) d) else 0)) (map S r)).
  rewrite sum_map. reflexivity.
Qed.
Lemma bytes_of_shard s : (s < length (sizes j))%nat ->
  sum (size recut) (filter (fun k => (shard k =? s)%nat) chunks) = size j s.
Proof.
  intros Hs. rewrite <- (proj2 cut s Hs). rewrite (sum_positions (O, 0)).
  apply sum_eq. intros k _. apply recut_size.
Qed.
Lemma sum_of_shards (f : nat -> Z) :
  sum (fun k => size recut k * f (shard k)) chunks = sum (fun s => size j s * f s) (chunks_of j).
Proof.
  rewrite (sum_by shard _ (chunks_of j) chunks); [|apply seq_NoDup|apply shard_known].
  apply sum_eq. intros s Hs. apply in_seq in Hs. rewrite <- (bytes_of_shard s) by lia.
  rewrite Z.mul_comm, <- sum_mul. rewrite !sum_filter. apply sum_eq. intros k _.
  destruct (Nat.eqb_spec (shard k) s) as [->|]; lia.
Qed.

(** ** Coverage *)

Theorem recut_coverage net X W V bound occ sch :
  uncovered j net X W V false 1 (fun s => size j s * picoseconds) (bound - 1) = true ->
  loose recut net occ sch -> bound <= makespan sch.
Proof.
  intros H Hr. enough (bound - 1 < makespan sch) by lia.
  apply (uncovered_sound j net X W V (map snd ps) (cut_up (pre j)) (cut_up (post j)) shard)
    with (within := false) (b := 1) (weight := fun s => size j s * picoseconds)
         (weight' := fun k => Z.max 0 (size recut k * picoseconds)) (occ := occ); auto.
  - rewrite map_length. apply shard_known.
  - rewrite map_length. intros u k x _ Hx. apply in_cut_up in Hx. apply Hx.
  - rewrite map_length. intros v k x Hk Hx. apply in_cut_up. auto.
  - apply recut_positive.
  - rewrite map_length. intros k Hk _. apply recut_size_1, Hk.
  - intros k. split; [lia|]. intros i Hi _. pose proof (sane_link j sane i) as [_ Lb].
    pose proof (beta_enough (at_link i) (size recut k) Lb).
    pose proof (sane_size recut recut_positive k).
    change (size (Job (nodes j) (links j) (ports j) (model j) (release j) (map snd ps) (idempotent j) (cut_up (pre j)) (cut_up (post j))) k) with (size recut k).
    apply Z.max_lub; [|lia]. apply Z.mul_nonneg_nonneg; [lia|]. rewrite Z.add_0_r. apply beta_0; auto.
  - rewrite map_length. 
    replace (sum (fun s => size j s * picoseconds * pairs_of j X W V s) (chunks_of j))
      with (sum (fun s => size j s * (picoseconds * pairs_of j X W V s)) (chunks_of j)) by (apply sum_eq; intros; lia).
    rewrite <- (sum_of_shards (fun s => picoseconds * pairs_of j X W V s)). apply sum_le. intros k Hk.
    assert (0 <= pairs_of j X W V (shard k)) by (unfold pairs_of; lia). nia.
Qed.

(** ** Sets of nodes *)

Lemma more_bytes ls ws ws' T : sum (fun w => w) ws <= sum (fun w => w) ws' ->
  negb (sum (fun w => w) ws * picoseconds <=? sum (fun i => bandwidth (at_link i) * window j T i) ls) = true ->
  too_soon recut ls ws' T = true.
Proof.
  intros Hs H. unfold too_soon. apply orb_true_iff. left. apply negb_true_iff, Z.leb_gt. apply negb_true_iff, Z.leb_gt in H.
  eapply Z.lt_le_trans; [exact H|]. unfold picoseconds. lia.
Qed.

Lemma crosses_cut S k : In k chunks -> crosses j S (shard k) = true -> crosses recut S k = true.
Proof.
  intros Hk H. unfold crosses in *. apply existsb_exists in H. destruct H as [[[v s] w] [Hin H]]. cbn [fst snd] in H.
  apply andb_true_iff in H. destruct H as [H Hc]. apply andb_true_iff in H. destruct H as [E Hv].
  apply Nat.eqb_eq in E. subst s. apply existsb_exists. exists ((v, k), w). split; [apply in_cut_up; auto|]. cbn [fst snd].
  rewrite Nat.eqb_refl, Hv. cbn [andb]. apply existsb_exists in Hc. destruct Hc as [c [Hc H]].
  apply existsb_exists. exists c. split; auto. apply andb_true_iff in H. destruct H as [Hw Ho]. rewrite Hw. cbn [andb].
  unfold only_inside in *. rewrite forallb_forall in *. intros [[u k'] x] Hx. apply in_cut_up in Hx. destruct Hx as [_ Hx].
  specialize (Ho _ Hx). cbn [fst snd] in *. destruct (Nat.eqb_spec k' k) as [->|]; [|reflexivity].
  rewrite Nat.eqb_refl in Ho. exact Ho.
Qed.

Definition cut_bytes (S : nat -> bool) : list Z := map (size j) (filter (crosses j S) (chunks_of j)).
Theorem recut_cut S bound :
  negb (sum (fun w => w) (cut_bytes S) * picoseconds <=? sum (fun i => bandwidth (at_link i) * window j (bound - 1) i) (leaving j S)) = true ->
  cut_rule recut S bound = true.
Proof.
  intros H. unfold cut_rule. rewrite recut_chunks.
  apply (more_bytes _ (cut_bytes S)); [|exact H]. unfold cut_bytes. rewrite !sum_map, !sum_filter.
  rewrite (sum_eq _ (fun s => size j s * if crosses j S s then 1 else 0)) by (intros s _; destruct (crosses j S s); lia).
  rewrite <- sum_of_shards. apply sum_le. intros k Hk. pose proof (recut_size_1 k Hk).
  destruct (crosses j S (shard k)) eqn:E; [rewrite (crosses_cut S k Hk E)|destruct (crosses recut S k)]; lia.
Qed.

(** ** Slots *)

Lemma lookup_app a b v k : lookup (a ++ b) v k = match lookup a v k with Some w => Some w | None => lookup b v k end.
Proof. induction a as [|[s w] a IH]; simpl; auto. destruct (same_slot s (v, k)); auto. Qed.
Lemma lookup_cut l v k : In k chunks -> lookup (cut_up l) v k = lookup l v (shard k).
Proof.
  unfold cut_up. assert (B : forall k', lookup (map (fun e => ((fst (fst e), k'), snd e)) (said_of (shard k') l)) v k =
    if (k' =? k)%nat then lookup l v (shard k) else None).
  { intros k'. induction l as [|[[u s] w] l IH]; simpl; [destruct (_ =? _)%nat; reflexivity|].
    unfold said_of in *. simpl. destruct (Nat.eqb_spec s (shard k')) as [->|Hs]; cbn [map fst snd lookup].
    - rewrite IH. unfold same_slot. cbn [fst snd]. destruct (k' =? k)%nat eqn:E.
      + apply Nat.eqb_eq in E. rewrite E, !Nat.eqb_refl. reflexivity.
      + rewrite andb_false_r. reflexivity.
    - rewrite IH. destruct (k' =? k)%nat eqn:E; [|reflexivity]. apply Nat.eqb_eq in E. rewrite E in Hs.
      unfold same_slot. cbn [fst snd]. rewrite (proj2 (Nat.eqb_neq _ _) Hs), andb_false_r. reflexivity. }
  generalize chunks. intros L. induction L as [|k' L IH]; simpl; [tauto|]. intros H. rewrite lookup_app, B.
  destruct (Nat.eqb_spec k' k) as [->|Hne].
  - destruct (lookup l v (shard k)) eqn:E; auto. destruct (in_dec Nat.eq_dec k L) as [Hin|Hn]; [rewrite IH; auto|].
    clear - B Hn E. induction L as [|a L IH]; simpl; auto. rewrite lookup_app, B.
    destruct (Nat.eqb_spec a k); [simpl in Hn; tauto|]. apply IH. simpl in Hn. tauto.
  - apply IH. tauto.
Qed.
Lemma unsettled_cut v k : In k chunks -> In (v, shard k) (unsettled j) -> In (v, k) (unsettled recut).
Proof.
  intros Hk H. unfold unsettled in *. apply nodup_In in H. apply nodup_In. apply in_map_iff in H.
  destruct H as [[[v' s] w] [E H]]. simpl in E. injection E as -> ->. apply filter_In in H. destruct H as [Hin H]. cbn [fst snd] in H.
  apply in_map_iff. exists ((v, k), w). split; auto. apply filter_In. split; [apply in_cut_up; auto|]. cbn [fst snd].
  unfold settled in *. simpl (pre recut). rewrite lookup_cut by auto. exact H.
Qed.
Lemma slots_cut (f : nat -> bool) :
  sum (fun s => size j (snd s)) (filter (fun s => f (fst s)) (unsettled j)) <=
  sum (fun s => size recut (snd s)) (filter (fun s => f (fst s)) (unsettled recut)).
Proof.
  set (parts := fun s => map (fun k => (fst s, k)) (filter (fun k => (shard k =? snd s)%nat) chunks) : list (nat * nat)).
  set (U := filter (fun s => f (fst s)) (unsettled j)).
  apply Z.le_trans with (sum (fun s => size recut (snd s)) (flat_map parts U)).
  - assert (K : forall s, In s U -> (snd s < length (sizes j))%nat \/ size j (snd s) = 0).
    { intros s _. destruct (Nat.lt_ge_cases (snd s) (length (sizes j))); auto. right. unfold size. apply nth_overflow. auto. }
    induction U as [|s U IH]; simpl; [lia|]. rewrite sum_app. specialize (IH (fun s H => K s (or_intror H))).
    enough (size j (snd s) <= sum (fun s => size recut (snd s)) (parts s)) by lia.
    unfold parts. rewrite sum_map. cbn [snd]. destruct (K s (or_introl eq_refl)) as [Hs| ->].
    + rewrite <- (bytes_of_shard _ Hs). apply Z.le_refl.
    + apply sum_pos. intros k Hk. apply filter_In in Hk. pose proof (recut_size_1 k (proj1 Hk)). lia.
  - apply sum_incl.
    + assert (N : NoDup U) by (apply NoDup_filter, NoDup_nodup). clearbody U. induction N as [|s U Hs N IH]; simpl; [constructor|].
      assert (D : forall p q : list (nat * nat), NoDup p -> NoDup q -> (forall e, In e p -> ~ In e q) -> NoDup (p ++ q)).
      { clear. induction p as [|e p IHp]; simpl; intros q Hp Hq Hd; auto. inversion Hp; subst.
        constructor; [|apply IHp; auto]. rewrite in_app_iff. intros [|]; auto. apply (Hd e); auto. }
      apply D; auto.
      * unfold parts. apply FinFun.Injective_map_NoDup; [intros a b [=]; auto|]. apply NoDup_filter, seq_NoDup.
      * intros [v k] H1 H2. unfold parts in *. apply in_map_iff in H1. destruct H1 as [k1 [E1 H1]]. injection E1 as <- ->.
        apply filter_In in H1. destruct H1 as [_ H1]. apply Nat.eqb_eq in H1. apply in_flat_map in H2.
        destruct H2 as [s2 [H2 H3]]. apply in_map_iff in H3. destruct H3 as [k2 [E2 H3]]. injection E2 as E2 ->.
        apply filter_In in H3. destruct H3 as [_ H3]. apply Nat.eqb_eq in H3. apply Hs.
        replace s with s2; auto. destruct s, s2. simpl in *. congruence.
    + intros [v k] H. apply in_flat_map in H. destruct H as [[v' s] [H1 H2]]. unfold parts in H2. apply in_map_iff in H2.
      destruct H2 as [k' [E H2]]. simpl in E. injection E as -> ->. apply filter_In in H2. destruct H2 as [Hk E].
      apply Nat.eqb_eq in E. simpl in E. subst s. apply filter_In in H1. apply filter_In. split; [|apply H1].
      apply unsettled_cut; auto. apply H1.
    + intros s. apply sane_size, recut_positive.
Qed.

Theorem recut_ingress v bound :
  negb (sum (fun w => w) (map (fun s => size j (snd s)) (filter (fun s => (fst s =? v)%nat) (unsettled j))) * picoseconds <=?
    sum (fun i => bandwidth (at_link i) * window j (bound - 1) i) (leaving j (fun u => negb (u =? v)%nat))) = true ->
  ingress_rule recut v bound = true.
Proof.
  intros H. unfold ingress_rule.
  eapply more_bytes; [|exact H]. rewrite !sum_map. apply (slots_cut (fun u => (u =? v)%nat)).
Qed.

Theorem recut_volume bound sch :
  (let total := sum (fun w => w) (map (fun s => size j (snd s)) (unsettled j)) * picoseconds in
   negb (total <=? sum (fun i => bandwidth (at_link i) * window j (bound - 1) i) (entering_ranks j)) ||
   negb (total <=? sum (fun i => bandwidth (at_link i) * window j (bound - 1) i) (leaving_ranks j))) = true ->
  right recut sch -> bound <= makespan sch.
Proof.
  intros H. apply (volume_sound recut bound sch recut_positive). unfold volume_rule.
  assert (E : sum (fun w => w) (map (fun s => size j (snd s)) (unsettled j)) <= sum (fun w => w) (map (fun s => size recut (snd s)) (unsettled recut))).
  { rewrite !sum_map. pose proof (slots_cut (fun _ => true)) as Q.
    assert (F : forall l : list (nat * nat), filter (fun s => (fun _ => true) (fst s)) l = l) by (clear; induction l; simpl; congruence).
    rewrite !F in Q. exact Q. }
  apply orb_true_iff. apply orb_true_iff in H. destruct H as [H|H]; [left|right]; eapply more_bytes; [exact E|exact H|exact E|exact H].
Qed.

(** ** Distance *)

Theorem recut_distance full head s c v bound :
  (forallb (rises_well j (arrival j) full head 1) (links j) &&
   forallb (fun e => negb ((snd (fst e) =? s)%nat && containsb (snd e) c) ||
     negb (fst (fst e) =? v)%nat && (potential full (fst (fst e)) <=? arrival j (fst (fst e)))) (pre j) &&
   existsb (fun e => (fst (fst e) =? v)%nat && (snd (fst e) =? s)%nat && containsb (snd e) c) (post j) &&
   (bound <=? Z.max 0 (potential full v)) && (0 <? size j s)) = true ->
  exists k, distance_rule recut full head k c v bound = true.
Proof.
  rewrite !andb_true_iff. intros [[[[H1 H2] H3] H4] H5].
  assert (Hs : (s < length (sizes j))%nat).
  { destruct (Nat.lt_ge_cases s (length (sizes j))) as [|G]; auto. unfold size in H5. rewrite nth_overflow in H5 by auto. discriminate. }
  assert (Hk : exists k, In k chunks /\ shard k = s).
  { pose proof (bytes_of_shard s Hs) as B. destruct (filter (fun k => (shard k =? s)%nat) chunks) as [|k l] eqn:F.
    - apply Z.ltb_lt in H5. rewrite <- B in H5. simpl in H5. lia.
    - assert (In k (k :: l)) as Hin by (left; auto). rewrite <- F in Hin. apply filter_In in Hin. exists k.
      rewrite Nat.eqb_eq in Hin. auto. }
  destruct Hk as [k [Hk <-]].
  exists k. unfold distance_rule.
  rewrite !andb_true_iff. repeat split; auto.
  - rewrite forallb_forall in *. intros l Hl. apply (rises_more recut _ _ _ 1); [apply sane, Hl|apply recut_size_1, Hk|apply H1, Hl].
  - rewrite forallb_forall in *. intros [[u k'] x] Hx. apply in_cut_up in Hx. destruct Hx as [_ Hx]. specialize (H2 _ Hx).
    cbn [fst snd] in *. destruct (Nat.eqb_spec k' k) as [->|]; [|reflexivity]. rewrite Nat.eqb_refl in H2. exact H2.
  - apply existsb_exists in H3. destruct H3 as [[[u s'] x] [Hin H3]]. cbn [fst snd] in H3. rewrite !andb_true_iff, !Nat.eqb_eq in H3.
    destruct H3 as [[-> ->] Hc]. apply existsb_exists. exists ((v, k), x). split; [apply in_cut_up; auto|]. cbn [fst snd].
    rewrite !Nat.eqb_refl. exact Hc.
Qed.
End Cut.

Definition free_coverage_rule (net : network) (X : nat -> bool) (W V : list nat) (bound : Z) : bool :=
  uncovered j net X W V false 1 (fun s => size j s * picoseconds) (bound - 1).
Theorem free_loose_coverage_sound net X W V bound ps occ sch : positive j -> is_cut ps ->
  free_coverage_rule net X W V bound = true -> loose (recut ps) net occ sch -> bound <= makespan sch.
Proof. intros Hp Hc H. apply (recut_coverage ps Hc Hp net X W V). exact H. Qed.
Corollary free_coverage_sound net X W V bound ps sch : positive j -> is_cut ps ->
  free_coverage_rule net X W V bound = true -> right (recut ps) sch -> bound <= makespan sch.
Proof.
  intros Hp Hc H Hr. apply (free_loose_coverage_sound net X W V bound ps (uses_of (recut ps)) sch Hp Hc H).
  apply right_loose; auto.
Qed.

Definition bytes_too_soon (ls : list nat) (ws : list Z) (T : Z) : bool :=
  negb (sum (fun w => w) ws * picoseconds <=? sum (fun i => bandwidth (at_link i) * window j T i) ls).
Definition free_cut_rule (S : nat -> bool) (bound : Z) : bool := bytes_too_soon (leaving j S) (cut_bytes S) (bound - 1).
Definition free_egress_rule (v : nat) (bound : Z) : bool := free_cut_rule (Nat.eqb v) bound.
Definition free_ingress_rule (v : nat) (bound : Z) : bool :=
  bytes_too_soon (leaving j (fun u => negb (u =? v)%nat))
    (map (fun s => size j (snd s)) (filter (fun s => (fst s =? v)%nat) (unsettled j))) (bound - 1).
Definition free_volume_rule (bound : Z) : bool :=
  let ws := map (fun s => size j (snd s)) (unsettled j) in
  bytes_too_soon (entering_ranks j) ws (bound - 1) || bytes_too_soon (leaving_ranks j) ws (bound - 1).
Definition free_distance_rule (full head : list Z) (s c v : nat) (bound : Z) : bool :=
  forallb (rises_well j (arrival j) full head 1) (links j) &&
  forallb (fun e => negb ((snd (fst e) =? s)%nat && containsb (snd e) c) ||
    negb (fst (fst e) =? v)%nat && (potential full (fst (fst e)) <=? arrival j (fst (fst e)))) (pre j) &&
  existsb (fun e => (fst (fst e) =? v)%nat && (snd (fst e) =? s)%nat && containsb (snd e) c) (post j) &&
  (bound <=? Z.max 0 (potential full v)) && (0 <? size j s).

Theorem free_cut_sound S bound ps sch : positive j -> is_cut ps -> free_cut_rule S bound = true ->
  right (recut ps) sch -> bound <= makespan sch.
Proof. intros Hp Hc H. apply (cut_sound (recut ps) S bound sch); [apply recut_positive; auto|apply recut_cut; auto]. Qed.
Corollary free_egress_sound v bound ps sch : positive j -> is_cut ps -> free_egress_rule v bound = true ->
  right (recut ps) sch -> bound <= makespan sch.
Proof. apply free_cut_sound. Qed.
Theorem free_ingress_sound v bound ps sch : positive j -> is_cut ps -> free_ingress_rule v bound = true ->
  right (recut ps) sch -> bound <= makespan sch.
Proof. intros Hp Hc H. apply (ingress_sound (recut ps) v bound sch); [apply recut_positive; auto|apply recut_ingress; auto]. Qed.
Theorem free_volume_sound bound ps sch : positive j -> is_cut ps -> free_volume_rule bound = true ->
  right (recut ps) sch -> bound <= makespan sch.
Proof. intros Hp Hc. apply recut_volume; auto. Qed.
Theorem free_distance_sound full head s c v bound ps sch : positive j -> is_cut ps ->
  free_distance_rule full head s c v bound = true -> right (recut ps) sch -> bound <= makespan sch.
Proof.
  intros Hp Hc H. destruct (recut_distance ps Hc Hp full head s c v bound H) as [k Hk].
  apply (distance_sound (recut ps) full head k c v bound sch); [apply recut_positive; auto|exact Hk].
Qed.
End Job.
