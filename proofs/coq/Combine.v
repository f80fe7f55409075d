(** Lower bounds on rounds by what must come to one rank, and by doubling alone: lemmas
    (combine in rounds) and (doubling) of package cert. Rounds in which nothing is moved are
    not counted. *)
From Coq Require Import Bool List Arith Lia.
From Oraccl Require Import Round Spread.
Import ListNotations.

(** How many different contributions a value contains. *)
Definition different (w : value) : nat := length (filter (fun x => 0 <? x) w).

Lemma different_add a : forall b, different (add a b) <= different a + different b.
Proof.
  unfold different. induction a as [|x a IH]; intros [|y b]; simpl; try lia.
  specialize (IH b). destruct (Nat.ltb_spec 0 x), (Nat.ltb_spec 0 y), (Nat.ltb_spec 0 (x + y)); simpl; lia.
Qed.

Definition at_most (s : state) (k : chunk) (g : nat) : Prop := forall v w, s v k = Some w -> different w <= g.
Definition at_least (s : state) (v : rank) (k : chunk) (n : nat) : Prop := exists w, s v k = Some w /\ n <= different w.

(** In a round a slot becomes the sum of itself and one other at most. *)
Lemma at_most_step s r s' k g : step s r s' -> at_most s k g -> at_most s' k (2 * g).
Proof.
  intros [Hw Hq] Hg v w Hv. destruct (in_dec slot_dec (v, k) (map slot r)) as [Hin|Hout].
  - apply in_map_iff in Hin. destruct Hin as [t [Hs Ht]]. unfold slot in Hs. injection Hs as <- <-.
    destruct (Hw t Ht) as [w' [Hwr Hs']]. rewrite Hs' in Hv. injection Hv as ->. unfold written in Hwr.
    destruct (op t), (s (src t) (what t)) as [a|] eqn:Ea; try discriminate.
    + injection Hwr as ->. specialize (Hg _ _ Ea). lia.
    + destruct (s (dst t) (what t)) as [b|] eqn:Eb; try discriminate. injection Hwr as <-.
      pose proof (Hg _ _ Ea). pose proof (Hg _ _ Eb). pose proof (different_add b a). lia.
  - rewrite (Hq v k Hout) in Hv. specialize (Hg _ _ Hv). lia.
Qed.

(** What [d] has too little of at first, it receives in different rounds. *)
Lemma receives_rounds d n s sch s' : runs s sch s' -> (forall r, In r sch -> NoDup (map dst r)) ->
  forall ks, NoDup ks -> (forall k, In k ks -> ~ at_least s d k n) -> (forall k, In k ks -> at_least s' d k n) ->
  length ks <= rounds sch.
Proof.
  induction 1 as [s s' He|s r s1 sch s' Hst Hrun IH]; intros Hleg ks Hks Hno Hall.
  - destruct ks as [|k ks]; [simpl; lia|]. destruct (Hno k (or_introl eq_refl)).
    destruct (Hall k (or_introl eq_refl)) as [w [Hw Hn]]. exists w. rewrite <- He. auto.
  - assert (Hl : forall r', In r' sch -> NoDup (map dst r')) by (intros; apply Hleg; right; auto).
    destruct (find (fun t => dst t =? d) r) as [t|] eqn:Ef.
    + apply find_some in Ef. destruct Ef as [Ht Hd]. apply Nat.eqb_eq in Hd.
      assert (Hcount : rounds (r :: sch) = S (rounds sch)) by (destruct r; [destruct Ht|reflexivity]).
      set (rest := filter (fun k => negb (k =? what t)) ks).
      assert (length ks <= S (length rest)).
      { assert (length ks <= length (what t :: rest)); auto. apply NoDup_incl_length; auto. intros x Hx.
        destruct (Nat.eq_dec x (what t)) as [->|Hdf]; [left; auto|right].
        apply filter_In. split; auto. apply negb_true_iff, Nat.eqb_neq, Hdf. }
      enough (length rest <= rounds sch) by lia.
      apply IH; auto.
      * apply NoDup_filter, Hks.
      * intros k Hk [w [Hw Hn]]. apply filter_In in Hk. destruct Hk as [Hk Hdf].
        apply negb_true_iff, Nat.eqb_neq in Hdf. apply (Hno k Hk). exists w. split; auto.
        destruct Hst as [_ Hq]. rewrite <- (Hq d k); auto. intros Hin. apply in_map_iff in Hin.
        destruct Hin as [t' [Hs Ht']]. unfold slot in Hs. injection Hs as Hd' <-. apply Hdf.
        f_equal. pose proof (Hleg r (or_introl eq_refl)) as Hnd. clear - Hnd Ht Ht' Hd Hd'.
        induction r as [|a r IH]; simpl in *; [tauto|]. inversion Hnd as [|? ? Hn Hr]; subst.
        destruct Ht as [->|Ht], Ht' as [->|Ht']; auto.
        -- destruct Hn. rewrite <- Hd'. apply in_map; auto.
        -- destruct Hn. rewrite Hd'. apply in_map; auto.
      * intros k Hk. apply filter_In in Hk. apply Hall; tauto.
    + assert (rounds sch <= rounds (r :: sch)) by (unfold rounds; simpl; destruct (moves r); simpl; lia).
      enough (length ks <= rounds sch) by lia. apply IH; auto.
      intros k Hk [w [Hw Hn]]. apply (Hno k Hk). exists w. split; auto.
      destruct Hst as [_ Hq]. rewrite <- (Hq d k); auto. intros Hin. apply in_map_iff in Hin.
      destruct Hin as [t' [Hs Ht']]. unfold slot in Hs. injection Hs as Hd' _.
      apply (find_none _ _ Ef) in Ht'. apply Nat.eqb_neq in Ht'. congruence.
Qed.

(** Combine: [e] is any number of doublings of [g] that are not enough for [n]; the most is
    ceil(log2 (n / g)) - 1. *)
Theorem combine_rounds d n s sch s' : runs s sch s' -> (forall r, In r sch -> NoDup (map dst r)) ->
  forall ks, NoDup ks -> ks <> [] -> (forall k, In k ks -> at_least s' d k n) ->
  forall e g, 2 ^ e * g < n -> (forall k, In k ks -> at_most s k g) -> length ks + e <= rounds sch.
Proof.
  intros Hrun. induction Hrun as [s s' He|s r s1 sch s' Hst Hrun IH]; intros Hleg ks Hks Hne Hall e g Hlt Hg.
  - destruct ks as [|k ks]; [congruence|]. destruct (Hall k (or_introl eq_refl)) as [w [Hw Hn]].
    rewrite He in Hw. specialize (Hg k (or_introl eq_refl) _ _ Hw).
    assert (1 <= 2 ^ e) by (apply Nat.neq_0_lt_0, Nat.pow_nonzero; lia). nia.
  - destruct r as [|t r].
    + change (rounds ([] :: sch)) with (rounds sch). apply (IH) with (g := g); auto.
      * intros; apply Hleg; right; auto.
      * intros k Hk v w Hw. destruct Hst as [_ Hq]. rewrite (Hq v k) in Hw by (simpl; tauto). eapply Hg; eauto.
    + destruct e as [|e].
      * rewrite Nat.add_0_r. apply (receives_rounds d n s ((t :: r) :: sch) s'); auto.
        -- econstructor; eauto.
        -- intros k Hk [w [Hw Hn]]. specialize (Hg k Hk _ _ Hw). simpl in Hlt. lia.
      * change (rounds ((t :: r) :: sch)) with (S (rounds sch)).
        enough (length ks + e <= rounds sch) by lia.
        apply (IH) with (g := 2 * g); auto.
        -- intros; apply Hleg; right; auto.
        -- rewrite Nat.pow_succ_r' in Hlt. lia.
        -- intros k Hk. apply (at_most_step s (t :: r)); auto.
Qed.

(** The same of right schedules. *)
Theorem right_combine_rounds p sch d ks n g e : right p sch -> NoDup ks -> ks <> [] ->
  (forall k v w, In k ks -> lookup (start p) v k = Some w -> different w <= g) ->
  (forall k, In k ks -> exists w, In ((d, k), w) (goal p) /\ n <= different w) ->
  2 ^ e * g < n -> length ks + e <= rounds sch.
Proof.
  intros [Hleg [s [Hrun Hm]]] Hks Hne Hs Hg Hlt.
  apply (combine_rounds d n _ _ _ Hrun) with (g := g); auto.
  - intros r Hr. apply Hleg, Hr.
  - intros k Hk. destruct (Hg k Hk) as [w [Hin Hn]]. exists w. split; auto.
  - intros k Hk v w Hw. eauto.
Qed.

(** Doubling: where the ranks of [hs] alone have a contribution, and those of [rs] end with
    it, the latter are 2^rounds times as many at most. *)
Theorem right_doubling_rounds p sch c k hs rs : right p sch -> NoDup rs ->
  (forall v w, lookup (start p) v k = Some w -> contains w c -> In v hs) ->
  (forall v, In v rs -> exists w, In ((v, k), w) (goal p) /\ contains w c) ->
  length rs <= 2 ^ rounds sch * length hs.
Proof.
  intros [Hleg [s [Hrun Hm]]] Hrs Hs Hg.
  destruct (within_runs (fun _ => c) _ _ _ Hrun (fun r Hr => proj1 (proj2 (Hleg r Hr))) k hs) as [l [Hl Hlen]].
  - intros v [w [Hw Hc]]. eauto.
  - apply Nat.le_trans with (length l); auto. apply NoDup_incl_length; auto.
    intros v Hv. destruct (Hg v Hv) as [w [Hin Hc]]. apply Hl. exists w. auto.
Qed.

(** A reduction of [m] chunks among [n] ranks to rank [d]. *)
Definition reduce (n m d : nat) : problem :=
  Problem n m (flat_map (fun v => map (fun k => ((v, k), only n v)) (seq 0 m)) (seq 0 n))
    (map (fun k => ((d, k), all n)) (seq 0 m)).

Lemma different_only n v : different (only n v) <= 1.
Proof.
  unfold different, only, vector.
  assert (E : forall a b, length (filter (fun x => 0 <? x) (map (fun i => if i =? v then 1 else 0) (seq a b))) <= 1
            /\ (v < a -> length (filter (fun x => 0 <? x) (map (fun i => if i =? v then 1 else 0) (seq a b))) = 0)).
  { intros a b. revert a. induction b as [|b IH]; intros a; simpl; [lia|].
    destruct (IH (S a)) as [I1 I2]. destruct (Nat.eqb_spec a v); simpl; [|split; [lia|intros; apply I2; lia]].
    subst. split; [|lia]. rewrite I2; lia. }
  apply E.
Qed.
Lemma different_all n : different (all n) = n.
Proof.
  unfold different, all, vector.
  enough (E : forall a, length (filter (fun x => 0 <? x) (map (fun _ => 1) (seq a n))) = n) by apply E.
  induction n as [|n IH]; intros a; simpl; [reflexivity|]. rewrite IH. reflexivity.
Qed.

(** No reduction of m chunks among n ranks takes fewer than m + ceil(log2 n) - 1 rounds. *)
Corollary reduce_rounds n m d sch : 2 <= n -> 1 <= m -> right (reduce n m d) sch ->
  m + Nat.log2_up n - 1 <= rounds sch.
Proof.
  intros Hn Hm Hr. assert (0 < Nat.log2_up n) by (apply Nat.log2_up_pos; lia).
  enough (m + (Nat.log2_up n - 1) <= rounds sch) by lia.
  rewrite <- (seq_length m 0) at 1. apply (right_combine_rounds _ _ d _ n 1 _ Hr); auto using seq_NoDup.
  - destruct m; simpl; [lia|congruence].
  - intros k v w _ Hl. apply lookup_In in Hl. apply in_flat_map in Hl. destruct Hl as [v' [_ Hl]].
    apply in_map_iff in Hl. destruct Hl as [k' [E _]]. injection E as <- <- <-. apply different_only.
  - intros k Hk. exists (all n). split; [|rewrite different_all; auto].
    apply in_map_iff. exists k. auto.
  - rewrite Nat.mul_1_r. pose proof (Nat.log2_up_spec n ltac:(lia)).
    replace (Nat.log2_up n - 1) with (Nat.pred (Nat.log2_up n)) by lia. tauto.
Qed.
