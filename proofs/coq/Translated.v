(** The all-to-all on Cayley graphs, where each rank sends to every other, and what one rank does
    all do, translated: of any finite group, a timetable of one rank is a right schedule of all
    under link-rounds, in which the links of a generator carry equally many chunks. Left out:
    chunks of one pair that are cut unequally, time. *)
From Coq Require Import Bool List Arith ZArith Lia Permutation Sorted.
From Oraccl Require Import Cut Round Timed Schedule Passing Bounds Replay InRounds Coverage Dual RoundPrices.
Import ListNotations.
Open Scope Z_scope.

(** ** Groups, and their graphs *)

(** The elements are the numbers below [order]. *)
Record group := Group { order : nat; mul : nat -> nat -> nat; one : nat; inv : nat -> nat }.
Definition is_group (G : group) : Prop :=
  (one G < order G)%nat /\
  (forall x, (x < order G)%nat -> (inv G x < order G)%nat /\ mul G (one G) x = x /\ mul G x (one G) = x /\
     mul G x (inv G x) = one G /\ mul G (inv G x) x = one G) /\
  (forall x y, (x < order G)%nat -> (y < order G)%nat -> (mul G x y < order G)%nat) /\
  (forall x y z, (x < order G)%nat -> (y < order G)%nat -> (z < order G)%nat -> mul G (mul G x y) z = mul G x (mul G y z)).
Definition abelian (G : group) : Prop := forall x y, (x < order G)%nat -> (y < order G)%nat -> mul G x y = mul G y x.

Section Graph.
Variable G : group.
Hypothesis laws : is_group G.
Notation n := (order G).
Infix "*g" := (mul G) (at level 40).
Variable gens : list nat.
Notation g := (length gens).
Definition gen (i : nat) : nat := nth i gens (one G).
Hypothesis proper_gens : forall s, In s gens -> (s < n)%nat /\ s <> one G.
Variables lat bw : nat -> Z. (* of the links, by generator *)

Variable m : nat. (* chunks from each rank to each *)
Variable bytes : Z. (* of a chunk *)

(** From each rank a link for each generator: that of v and generator number i is number v * g + i. *)
Definition cayley_links : list link := flat_map (fun v => map (fun i => Link v (v *g gen i) (lat i) (bw i)) (seq 0 g)) (seq 0 n).
(** Chunk number p of those from v to w. *)
Definition chunk_of (v w p : nat) : nat := ((v * n + w) * m + p)%nat.
Definition pairs_of (f : nat -> nat -> nat -> rank * chunk * value) : list (rank * chunk * value) :=
  flat_map (fun v => flat_map (fun w => map (f v w) (seq 0 m)) (seq 0 n)) (seq 0 n).
Definition alltoall : job :=
  Job n cayley_links [] Blocking [] (repeat bytes (n * n * m)) false
    (pairs_of (fun v w p => ((v, chunk_of v w p), Round.only n v))) (pairs_of (fun v w p => ((w, chunk_of v w p), Round.only n v))).

Lemma one_in : (one G < n)%nat. Proof. apply laws. Qed.
Lemma mul_in x y : (x < n)%nat -> (y < n)%nat -> (x *g y < n)%nat. Proof. apply laws. Qed.
Lemma inv_in x : (x < n)%nat -> (inv G x < n)%nat. Proof. intros H. apply laws, H. Qed.
Lemma assoc x y z : (x < n)%nat -> (y < n)%nat -> (z < n)%nat -> (x *g y) *g z = x *g (y *g z). Proof. apply laws. Qed.
Lemma one_left x : (x < n)%nat -> one G *g x = x. Proof. intros H. apply laws, H. Qed.
Lemma one_right x : (x < n)%nat -> x *g one G = x. Proof. intros H. apply laws, H. Qed.
Lemma inv_right x : (x < n)%nat -> x *g inv G x = one G. Proof. intros H. apply laws, H. Qed.
Lemma inv_left x : (x < n)%nat -> inv G x *g x = one G. Proof. intros H. apply laws, H. Qed.
Lemma back x y : (x < n)%nat -> (y < n)%nat -> x *g (inv G x *g y) = y.
Proof. intros Hx Hy. rewrite <- assoc, inv_right, one_left; auto using inv_in. Qed.
Lemma cancel_left x y z : (x < n)%nat -> (y < n)%nat -> (z < n)%nat -> x *g y = x *g z -> y = z.
Proof.
  intros Hx Hy Hz E. rewrite <- (one_left y), <- (one_left z), <- (inv_left x), !assoc, E; auto using inv_in.
Qed.
Lemma cancel_right x y z : (x < n)%nat -> (y < n)%nat -> (z < n)%nat -> y *g x = z *g x -> y = z.
Proof.
  intros Hx Hy Hz E. rewrite <- (one_right y), <- (one_right z), <- (inv_right x), <- !assoc, E; auto using inv_in.
Qed.
Lemma gen_in i : (i < g)%nat -> (gen i < n)%nat.
Proof. intros H. apply proper_gens, nth_In, H. Qed.
Lemma gen_moves i v : (i < g)%nat -> (v < n)%nat -> v *g gen i <> v.
Proof.
  intros Hi Hv E. apply (proj2 (proper_gens (gen i) (nth_In _ _ Hi))). apply (cancel_left v); auto using gen_in, one_in.
  rewrite one_right; auto.
Qed.
(** Translations permute the elements. *)
Lemma permutes (f : nat -> nat) : (forall x, (x < n)%nat -> (f x < n)%nat) ->
  (forall x y, (x < n)%nat -> (y < n)%nat -> f x = f y -> x = y) -> Permutation (map f (seq 0 n)) (seq 0 n).
Proof.
  intros Hin Hinj. apply NoDup_Permutation_bis.
  - apply map_once; [apply seq_NoDup|]. intros x y Hx Hy. apply in_seq in Hx, Hy. apply Hinj; lia.
  - rewrite map_length. lia.
  - intros y Hy. apply in_map_iff in Hy. destruct Hy as [x [<- Hx]]. apply in_seq in Hx. apply in_seq. specialize (Hin x). lia.
Qed.
Lemma sum_translated (f : nat -> Z) x : (x < n)%nat -> sum (fun v => f (x *g v)) (seq 0 n) = sum f (seq 0 n).
Proof.
  intros Hx. rewrite <- (sum_permuted f _ _ (permutes (fun v => x *g v) (fun v => mul_in x v Hx) (fun a b Ha Hb => cancel_left x a b Hx Ha Hb))).
  rewrite sum_map. reflexivity.
Qed.
Lemma sum_translated_right (f : nat -> Z) x : (x < n)%nat -> sum (fun v => f (v *g x)) (seq 0 n) = sum f (seq 0 n).
Proof.
  intros Hx. rewrite <- (sum_permuted f _ _ (permutes (fun v => v *g x) (fun v Hv => mul_in v x Hv Hx) (fun a b Ha Hb => cancel_right x a b Hx Ha Hb))).
  rewrite sum_map. reflexivity.
Qed.

Lemma links_length : length cayley_links = (n * g)%nat.
Proof.
  unfold cayley_links. generalize (seq_length n 0). generalize (seq 0 n) as l. intros l <-.
  induction l as [|v l IH]; simpl; auto. rewrite app_length, map_length, seq_length, IH. reflexivity.
Qed.
Lemma nth_links k : forall a v i d, (v < k)%nat -> (i < g)%nat ->
  nth (v * g + i) (flat_map (fun v => map (fun i => Link v (v *g gen i) (lat i) (bw i)) (seq 0 g)) (seq a k)) d =
  Link (a + v) ((a + v) *g gen i) (lat i) (bw i).
Proof.
  induction k as [|k IH]; intros a v i d Hv Hi; [lia|]. simpl. destruct v as [|v].
  - rewrite app_nth1 by (rewrite map_length, seq_length; lia). rewrite Nat.add_0_r. simpl.
    rewrite (nth_indep _ d ((fun i => Link a (a *g gen i) (lat i) (bw i)) 0%nat)) by (rewrite map_length, seq_length; lia).
    rewrite (map_nth (fun i => Link a (a *g gen i) (lat i) (bw i))), seq_nth; auto.
  - rewrite app_nth2 by (rewrite map_length, seq_length; nia). rewrite map_length, seq_length.
    replace (S v * g + i - g)%nat with (v * g + i)%nat by lia. rewrite IH by lia. replace (S a + v)%nat with (a + S v)%nat by lia. reflexivity.
Qed.
Lemma link_of v i : (v < n)%nat -> (i < g)%nat -> at_link alltoall (v * g + i) = Link v (v *g gen i) (lat i) (bw i).
Proof. intros Hv Hi. unfold at_link, the. simpl. unfold cayley_links. rewrite (nth_links n 0 v i) by assumption. reflexivity. Qed.
Lemma link_split i : (i < length cayley_links)%nat -> exists v k, (v < n)%nat /\ (k < g)%nat /\ i = (v * g + k)%nat.
Proof.
  rewrite links_length. intros H. exists (i / g)%nat, (i mod g)%nat. assert (g <> 0)%nat by nia.
  repeat split; [apply Nat.div_lt_upper_bound; nia|apply Nat.mod_upper_bound; auto|rewrite Nat.mul_comm; apply Nat.div_mod; auto].
Qed.
Lemma sum_links (f : nat -> Z) : sum f (seq 0 (length cayley_links)) = sum (fun v => sum (fun i => f (v * g + i)%nat) (seq 0 g)) (seq 0 n).
Proof.
  rewrite links_length. generalize (order G). intros k. induction k as [|k IH]; [reflexivity|].
  rewrite seq_S, sum_app, <- IH. replace (S k * g)%nat with (k * g + g)%nat by lia. rewrite seq_app, sum_app. simpl.
  rewrite Z.add_0_r. f_equal. rewrite <- (Nat.add_0_r (k * g)) at 1. generalize (k * g)%nat. intros b. clear.
  generalize 0%nat. induction (length gens) as [|x IH]; intros a; simpl; auto. rewrite <- Nat.add_succ_r, IH. reflexivity.
Qed.
Lemma in_pairs f e : In e (pairs_of f) <-> exists v w p, (v < n)%nat /\ (w < n)%nat /\ (p < m)%nat /\ e = f v w p.
Proof.
  unfold pairs_of. rewrite in_flat_map. split.
  - intros [v [Hv H]]. apply in_flat_map in H. destruct H as [w [Hw H]]. apply in_map_iff in H. destruct H as [p [<- Hp]].
    apply in_seq in Hv, Hw, Hp. exists v, w, p. repeat split; lia.
  - intros [v [w [p [Hv [Hw [Hp ->]]]]]]. exists v. split; [apply in_seq; lia|]. apply in_flat_map. exists w. split; [apply in_seq; lia|].
    apply in_map, in_seq. lia.
Qed.
Lemma chunk_once v w p v' w' p' : (w < n)%nat -> (p < m)%nat -> (w' < n)%nat -> (p' < m)%nat ->
  chunk_of v w p = chunk_of v' w' p' -> v = v' /\ w = w' /\ p = p'.
Proof.
  unfold chunk_of. intros Hw Hp Hw' Hp' E.
  destruct (Nat.div_mod_unique m (v * n + w) (v' * n + w') p p' Hp Hp' ltac:(lia)) as [E1 ->].
  destruct (Nat.div_mod_unique n v v' w w' Hw Hw' ltac:(lia)) as [-> ->]. auto.
Qed.
Lemma only_contains v c : (v < n)%nat -> (contains (Round.only n v) c <-> c = v).
Proof.
  intros Hv. unfold contains, Round.only. rewrite count_vector. destruct (Nat.ltb_spec c n), (Nat.eqb_spec c v); lia.
Qed.

(** ** A timetable of one rank, translated *)

Section Timetable.
(** What goes by difference d, part p, takes a generator in each of these rounds. *)
Definition path := list (nat * nat).
Definition rising (w : path) : Prop := StronglySorted (fun a b => (fst a < fst b)%nat) w.
Definition ends_at (v : nat) (w : list nat) : nat := fold_left (fun x i => x *g gen i) w v.
Variable paths : nat -> nat -> path.
Definition items : list (nat * nat) := flat_map (fun d => map (pair d) (seq 0 m)) (seq 0 n).
Definition timetable : path := flat_map (fun x => paths (fst x) (snd x)) items.
(** It leads where it must, one generator after the other, and takes no generator twice in a round. *)
Definition keeps_order : Prop :=
  (forall d p, (d < n)%nat -> (p < m)%nat -> rising (paths d p) /\ (forall x, In x (paths d p) -> (snd x < g)%nat) /\
     ends_at (one G) (map snd (paths d p)) = d) /\
  NoDup timetable.

Definition step_of (c v : nat) (x : nat * nat) : sent :=
  Sent (Timed (Transfer c v (v *g gen (snd x)) Copy) (Z.of_nat (fst x)) (Z.of_nat (fst x) + 1)) [(v * g + snd x)%nat].
Fixpoint walk (c v : nat) (w : path) : list sent :=
  match w with [] => [] | x :: w => step_of c v x :: walk c (v *g gen (snd x)) w end.
Definition item_walk (v : nat) (x : nat * nat) : list sent := walk (chunk_of v (v *g fst x) (snd x)) v (paths (fst x) (snd x)).
Definition translated : list sent := flat_map (fun v => flat_map (item_walk v) items) (seq 0 n).

Lemma in_items x : In x items <-> (fst x < n)%nat /\ (snd x < m)%nat.
Proof.
  unfold items. rewrite in_flat_map. split.
  - intros [d [Hd H]]. apply in_map_iff in H. destruct H as [p [<- Hp]]. apply in_seq in Hd, Hp. simpl. lia.
  - intros [Hd Hp]. exists (fst x). split; [apply in_seq; lia|]. apply in_map_iff. exists (snd x). split; [destruct x; auto|apply in_seq; lia].
Qed.
Lemma items_once : NoDup items.
Proof.
  apply flat_once; [apply seq_NoDup| |].
  - intros d _. apply map_once; [apply seq_NoDup|]. congruence.
  - intros d d' b _ _ H H'. apply in_map_iff in H, H'. destruct H as [p [<- _]], H' as [p' [E _]]. congruence.
Qed.
Lemma in_walk c t w : forall v, In t (walk c v w) <-> exists w1 x w2, w = w1 ++ x :: w2 /\ t = step_of c (ends_at v (map snd w1)) x.
Proof.
  induction w as [|y w IH]; intros v; simpl.
  - split; [tauto|]. intros [[|? w1] [x [w2 [E _]]]]; discriminate.
  - rewrite IH. split.
    + intros [<-|[w1 [x [w2 [-> ->]]]]]; [exists [], y, w; auto|exists (y :: w1), x, w2; auto].
    + intros [[|z w1] [x [w2 [E ->]]]]; simpl in E; injection E as -> ->; [left; reflexivity|right]. exists w1, x, w2. auto.
Qed.
Lemma ends_in w : forall v, (v < n)%nat -> (forall i, In i w -> (i < g)%nat) -> (ends_at v w < n)%nat.
Proof.
  induction w as [|i w IH]; intros v Hv Hi; simpl; auto. apply IH; [apply mul_in; auto; apply gen_in, Hi; left; auto|].
  intros k Hk. apply Hi. right. auto.
Qed.
Lemma ends_translated w : forall v x, (v < n)%nat -> (x < n)%nat -> (forall i, In i w -> (i < g)%nat) -> ends_at (v *g x) w = v *g ends_at x w.
Proof.
  induction w as [|i w IH]; intros v x Hv Hx Hi; simpl; auto.
  assert (gen i < n)%nat by (apply gen_in, Hi; left; auto). rewrite assoc by auto. apply IH; auto using mul_in.
  intros k Hk. apply Hi. right. auto.
Qed.

Hypothesis ordered : keeps_order.

Lemma path_gens d p x : (d < n)%nat -> (p < m)%nat -> In x (paths d p) -> (snd x < g)%nat.
Proof. intros Hd Hp. apply (proj1 ordered); auto. Qed.
(** A transfer is a step of a walk. *)
Lemma in_translated t : In t translated -> exists v d p w1 x w2, (v < n)%nat /\ (d < n)%nat /\ (p < m)%nat /\
  paths d p = w1 ++ x :: w2 /\ (ends_at v (map snd w1) < n)%nat /\ (snd x < g)%nat /\
  t = step_of (chunk_of v (v *g d) p) (ends_at v (map snd w1)) x.
Proof.
  intros H. apply in_flat_map in H. destruct H as [v [Hv H]]. apply in_flat_map in H. destruct H as [[d p] [Hx H]].
  apply in_seq in Hv. apply in_items in Hx. destruct Hx as [Hd Hp]. cbn [fst snd] in *. apply in_walk in H. cbn [fst snd] in H.
  destruct H as [w1 [x [w2 [E ->]]]]. exists v, d, p, w1, x, w2.
  assert (K : forall y, In y (w1 ++ x :: w2) -> (snd y < g)%nat) by (intros y Hy; apply (path_gens d p y Hd Hp); rewrite E; auto).
  repeat split; auto; [lia| |apply K, in_or_app; right; left; auto].
  apply ends_in; [lia|]. intros i Hi. apply in_map_iff in Hi. destruct Hi as [y [<- Hy]]. apply K, in_or_app. auto.
Qed.
Lemma of_translated v d p w1 x w2 : (v < n)%nat -> (d < n)%nat -> (p < m)%nat -> paths d p = w1 ++ x :: w2 ->
  In (step_of (chunk_of v (v *g d) p) (ends_at v (map snd w1)) x) translated.
Proof.
  intros Hv Hd Hp E. apply in_flat_map. exists v. split; [apply in_seq; lia|]. apply in_flat_map. exists (d, p).
  split; [apply in_items; auto|]. apply in_walk. exists w1, x, w2. auto.
Qed.

(** *** No link and no slot is used twice in a round *)

Definition link_round (t : sent) : nat * Z := (hd 0%nat (route t), begins (data t)).
Definition chunk_round (t : sent) : nat * Z := (what (tr (data t)), begins (data t)).
Lemma walk_path c w : forall v, (forall x, In x w -> (snd x < g)%nat) -> map (fun t => (Z.to_nat (begins (data t)), (hd 0%nat (route t) mod g)%nat)) (walk c v w) = w.
Proof.
  induction w as [|x w IH]; intros v Hw; simpl; auto. rewrite IH by (intros; apply Hw; right; auto). f_equal.
  pose proof (Hw x (or_introl eq_refl)). rewrite Nat2Z.id, Nat.add_comm, Nat.mod_add, Nat.mod_small by lia. destruct x; auto.
Qed.
Lemma once_split {A} (x : A) a : forall b c d, NoDup (a ++ x :: b) -> a ++ x :: b = c ++ x :: d -> a = c.
Proof.
  induction a as [|y a IH]; intros b [|z c] d Hn E; simpl in *; auto; injection E as E1 E2.
  - subst. inversion Hn; subst. exfalso. apply H1, in_or_app. right. left. auto.
  - subst. inversion Hn; subst. exfalso. apply H1, in_or_app. right. left. auto.
  - subst. inversion Hn; subst. f_equal. eapply IH; eauto.
Qed.
Lemma once_part {A B} (f : A -> list B) l : NoDup (flat_map f l) -> (forall a, In a l -> NoDup (f a)) /\
  (forall a a' b, In a l -> In a' l -> In b (f a) -> In b (f a') -> a = a').
Proof.
  induction l as [|a l IH]; simpl; intros H; [split; intros; tauto|].
  assert (P : NoDup (f a) /\ NoDup (flat_map f l) /\ forall b, In b (f a) -> ~ In b (flat_map f l)).
  { clear IH. induction (f a) as [|b k IH]; simpl in *; [split; [constructor|split; auto]|]. inversion H as [|? ? Hb Hk]; subst.
    destruct (IH Hk) as [P1 [P2 P3]]. rewrite in_app_iff in Hb. repeat split; auto; [constructor; tauto|].
    intros c [<-|Hc]; auto. }
  destruct P as [P1 [P2 P3]]. destruct (IH P2) as [Q1 Q2]. split.
  - intros x [<-|Hx]; auto.
  - intros x y b [<-|Hx] [<-|Hy] Hb Hb'; auto; [| |eapply Q2; eauto]; exfalso.
    + apply (P3 b Hb), in_flat_map. eauto.
    + apply (P3 b Hb'), in_flat_map. eauto.
Qed.
Lemma links_once : NoDup (map link_round translated).
Proof.
  unfold translated. rewrite flat_map_concat_map, concat_map, map_map, <- flat_map_concat_map.
  apply flat_once; [apply seq_NoDup| |].
  - intros v Hv. apply in_seq in Hv. apply NoDup_map_inv with (f := fun k => (Z.to_nat (snd k), (fst k mod g)%nat)).
    rewrite map_map. unfold link_round. cbn [fst snd]. rewrite flat_map_concat_map, concat_map, map_map, <- flat_map_concat_map.
    replace (flat_map _ items) with timetable; [apply ordered|]. unfold timetable. rewrite !flat_map_concat_map. f_equal.
    apply map_ext_in. intros x Hx. apply in_items in Hx. symmetry. apply walk_path. intros y. apply path_gens; apply Hx.
  - intros v v' k Hv Hv' H H'. apply in_seq in Hv, Hv'. apply in_map_iff in H, H'. destruct H as [t [<- H]], H' as [t' [E H']].
    apply in_flat_map in H, H'. destruct H as [x [Hx H]], H' as [x' [Hx' H']]. apply in_walk in H, H'.
    destruct H as [w1 [y [w2 [Ew ->]]]], H' as [w1' [y' [w2' [Ew' ->]]]].
    pose proof (proj1 (in_items _) Hx) as [Hd Hp]. pose proof (proj1 (in_items _) Hx') as [Hd' Hp'].
    assert (K : forall z, In z (paths (fst x) (snd x)) -> (snd z < g)%nat) by (intros z; apply path_gens; auto).
    assert (K' : forall z, In z (paths (fst x') (snd x')) -> (snd z < g)%nat) by (intros z; apply path_gens; auto).
    assert (Iy : In y (paths (fst x) (snd x))) by (rewrite Ew; apply in_or_app; right; left; auto).
    assert (Iy' : In y' (paths (fst x') (snd x'))) by (rewrite Ew'; apply in_or_app; right; left; auto).
    unfold link_round, step_of in E. cbn [route data begins hd] in E. injection E as E1 E2. apply Nat2Z.inj in E2.
    rewrite !(Nat.mul_comm _ g) in E1. pose proof (K y Iy). pose proof (K' y' Iy').
    destruct (Nat.div_mod_unique g _ _ _ _ (K' y' Iy') (K y Iy) E1) as [E3 E4].
    assert (y' = y) as -> by (destruct y, y'; simpl in *; congruence).
    destruct (once_part _ _ (proj2 ordered)) as [Q1 Q2]. assert (x = x') as <- by (apply (Q2 x x' y); auto).
    specialize (Q1 x Hx). cbn beta in Q1. rewrite Ew in Q1, Ew'. rewrite <- (once_split _ _ _ _ _ Q1 Ew') in E3.
    assert (K1 : forall i, In i (map snd w1) -> (i < g)%nat).
    { intros i Hi. apply in_map_iff in Hi. destruct Hi as [z [<- Hz]]. apply K. rewrite Ew. apply in_or_app. auto. }
    rewrite <- (one_right v), <- (one_right v') in E3 by lia. rewrite !ends_translated in E3 by (auto using one_in; lia).
    symmetry. apply (cancel_right (ends_at (one G) (map snd w1))); auto using ends_in, one_in; lia.
Qed.
Lemma rising_once w : rising w -> NoDup (map fst w).
Proof.
  induction 1 as [|x w H IH F]; simpl; constructor; auto. intros Hin. apply in_map_iff in Hin. destruct Hin as [y [E Hy]].
  rewrite Forall_forall in F. specialize (F y Hy). lia.
Qed.
Lemma walk_rounds c w : forall v, map chunk_round (walk c v w) = map (fun r => (c, Z.of_nat r)) (map fst w).
Proof. induction w as [|x w IH]; intros v; simpl; auto. rewrite IH. reflexivity. Qed.
Lemma chunks_once : NoDup (map chunk_round translated).
Proof.
  assert (W : forall v x, In x items -> NoDup (map chunk_round (item_walk v x))).
  { intros v x Hx. apply in_items in Hx. unfold item_walk. rewrite walk_rounds. apply map_once.
    - apply rising_once, (proj1 ordered); apply Hx.
    - intros a b _ _ [= E]. lia. }
  assert (C : forall v x k, In k (map chunk_round (item_walk v x)) -> fst k = chunk_of v (v *g fst x) (snd x)).
  { intros v x k H. unfold item_walk in H. rewrite walk_rounds in H. apply in_map_iff in H. destruct H as [r [<- _]]. reflexivity. }
  unfold translated. rewrite flat_map_concat_map, concat_map, map_map, <- flat_map_concat_map.
  assert (D : forall v x k, In x items -> (v < n)%nat -> In k (map chunk_round (item_walk v x)) ->
     forall v' x', In x' items -> (v' < n)%nat -> In k (map chunk_round (item_walk v' x')) -> v = v' /\ x = x').
  { intros v x k Hx Hv H v' x' Hx' Hv' H'. apply C in H, H'. rewrite H in H'. apply in_items in Hx, Hx'.
    apply chunk_once in H'; try apply mul_in; try tauto. destruct H' as [-> [E1 E2]]. apply cancel_left in E1; try tauto.
    split; auto. destruct x, x'; simpl in *; congruence. }
  apply flat_once; [apply seq_NoDup| |].
  - intros v Hv. apply in_seq in Hv. rewrite flat_map_concat_map, concat_map, map_map, <- flat_map_concat_map.
    apply flat_once; [apply items_once|apply W|]. intros x x' k Hx Hx' H H'. eapply (D v x k); eauto; lia.
  - intros v v' k Hv Hv' H H'. apply in_seq in Hv, Hv'. apply in_map_iff in H, H'. destruct H as [t [E H]], H' as [t' [E' H']].
    apply in_flat_map in H, H'. destruct H as [x [Hx H]], H' as [x' [Hx' H']].
    apply (D v x k Hx ltac:(lia)) with (v' := v') (x' := x'); auto; [|lia|]; rewrite <- E + rewrite <- E'; apply in_map; assumption.
Qed.

(** *** Its data *)

Definition origin (c : nat) : nat := (c / m / n)%nat.
Lemma origin_of v w p : (w < n)%nat -> (p < m)%nat -> origin (chunk_of v w p) = v.
Proof.
  intros Hw Hp. unfold origin, chunk_of. rewrite (Nat.add_comm _ p), Nat.div_add, (Nat.div_small p m) by lia. simpl.
  rewrite Nat.add_comm, Nat.div_add, (Nat.div_small w n) by lia. reflexivity.
Qed.
Definition came (x : Z) (u c : nat) : bool := existsb (fun t => same_slot (slot (tr (data t))) (u, c) && (ends (data t) <=? x)) translated.
Definition history (x : Z) : state := fun u c =>
  match lookup (pre alltoall) u c with Some w => Some w | None => if came x u c then Some (Round.only n (origin c)) else None end.
Lemma starts_with u c w : lookup (pre alltoall) u c = Some w -> w = Round.only n (origin c).
Proof.
  intros H. apply lookup_In, in_pairs in H. destruct H as [v [w' [p [Hv [Hw [Hp [= -> -> ->]]]]]]]. rewrite origin_of; auto.
Qed.
Lemma history_value x u c : lookup (pre alltoall) u c <> None \/ came x u c = true -> history x u c = Some (Round.only n (origin c)).
Proof.
  unfold history. destruct (lookup _ u c) as [w|] eqn:E; [rewrite (starts_with _ _ _ E); auto|]. intros [H| ->]; [congruence|auto].
Qed.
Lemma starts_here v w p : (v < n)%nat -> (w < n)%nat -> (p < m)%nat -> lookup (pre alltoall) v (chunk_of v w p) <> None.
Proof.
  intros Hv Hw Hp. assert (I : In ((v, chunk_of v w p), Round.only n v) (pre alltoall)) by (apply in_pairs; exists v, w, p; auto).
  revert I. generalize (pre alltoall). intros l. induction l as [|[s x] l IH]; simpl; [tauto|]. intros [E|H].
  - injection E as -> _. unfold same_slot. simpl. rewrite !Nat.eqb_refl. discriminate.
  - destruct (same_slot s _); [discriminate|auto].
Qed.
Lemma rising_app a x b y c : rising (a ++ x :: b ++ y :: c) -> (fst x < fst y)%nat.
Proof.
  induction a as [|z a IH]; simpl; intros H; inversion H as [|? ? H1 H2]; subst; [|auto].
  rewrite Forall_forall in H2. apply H2, in_or_app. right. left. auto.
Qed.
(** What is sent is there: the walk begins where the chunk does, and goes on where it has come. *)
Lemma sent_is_there t : In t translated -> history (begins (data t)) (src (tr (data t))) (what (tr (data t))) =
  Some (Round.only n (origin (what (tr (data t))))).
Proof.
  intros Ht. destruct (in_translated t Ht) as [v [d [p [w1 [x [w2 [Hv [Hd [Hp [E [Hu [Hx ->]]]]]]]]]]]]. cbn [data tr begins src what step_of].
  apply history_value. destruct w1 as [|y w1 _] using rev_ind; [left; apply starts_here; auto using mul_in|right].
  rewrite <- app_assoc in E. cbn [app] in E. pose proof (of_translated v d p w1 y (x :: w2) Hv Hd Hp E) as I.
  apply existsb_exists. eexists. split; [exact I|]. cbn [data tr step_of slot dst what ends]. apply andb_true_iff. split.
  - apply same_slot_spec. f_equal. rewrite map_app. unfold ends_at. rewrite fold_left_app. reflexivity.
  - apply Z.leb_le. destruct (proj1 ordered d p Hd Hp) as [R _]. rewrite E in R.
    apply (rising_app w1 y [] x w2) in R. lia.
Qed.
Lemma begins_0 t : In t translated -> 0 <= begins (data t) /\ ends (data t) = begins (data t) + 1 /\ op (tr (data t)) = Copy.
Proof.
  intros Ht. destruct (in_translated t Ht) as [v [d [p [w1 [x [w2 [_ [_ [_ [_ [_ [_ ->]]]]]]]]]]]].
  cbn [step_of data tr begins ends op]. split; [lia|]. split; reflexivity.
Qed.
Lemma few {A B} (f : A -> B) (h : A -> bool) l : NoDup (map f l) -> (forall a b, In a l -> In b l -> h a = true -> h b = true -> f a = f b) ->
  filter h l = [] \/ exists a, filter h l = [a].
Proof.
  intros Hn H. assert (N : NoDup (map f (filter h l))).
  { clear H. induction l as [|a l IH]; simpl in *; [constructor|]. inversion Hn; subst. destruct (h a); simpl; auto. constructor; auto.
    intros Hin. apply H1. apply in_map_iff in Hin. destruct Hin as [b [<- Hb]]. apply in_map. apply filter_In in Hb. tauto. }
  destruct (filter h l) as [|a [|b k]] eqn:E; [auto|eauto|]. exfalso. inversion N as [|? ? H1 H2]; subst. apply H1. left.
  assert (Ia : In a (filter h l)) by (rewrite E; simpl; auto). assert (Ib : In b (filter h l)) by (rewrite E; simpl; auto).
  apply filter_In in Ia, Ib. apply H; tauto.
Qed.
Lemma history_runs : execution (lookup (pre alltoall)) (map data translated) history.
Proof.
  split.
  - intros u c. unfold history. destruct (lookup _ u c); auto. unfold came. destruct (existsb _ _) eqn:E; auto.
    apply existsb_exists in E. destruct E as [t [Ht E]]. apply andb_true_iff in E. destruct E as [_ E]. apply Z.leb_le in E.
    pose proof (begins_0 t Ht). lia.
  - intros x u c Hx ws. unfold ws.
    assert (M : filter (into u c x) (map data translated) = map data (filter (fun t => into u c x (data t)) translated)).
    { generalize translated. intros l. induction l as [|t l IH]; simpl; auto. destruct (into u c x (data t)); simpl; rewrite IH; auto. }
    rewrite M. destruct (few chunk_round (fun t => into u c x (data t)) translated chunks_once) as [E|[t E]].
    { intros a b Ia Ib Ha Hb. unfold into in Ha, Hb. apply andb_true_iff in Ha, Hb. destruct Ha as [Sa Ea], Hb as [Sb Eb].
      apply same_slot_spec in Sa, Sb. apply Z.eqb_eq in Ea, Eb. destruct (begins_0 a Ia) as [_ [Fa _]], (begins_0 b Ib) as [_ [Fb _]].
      unfold slot in Sa, Sb. unfold chunk_round. f_equal; [congruence|lia]. }
    + rewrite E. simpl. split; [|split; [tauto|congruence]]. unfold history. destruct (lookup _ u c); auto.
      replace (came x u c) with (came (x - 1) u c); auto. unfold came.
      assert (N : forall t, In t translated -> into u c x (data t) = false).
      { intros t Ht. destruct (into u c x (data t)) eqn:F; auto. assert (I : In t (filter (fun t => into u c x (data t)) translated)) by (apply filter_In; auto).
        rewrite E in I. destruct I. }
      revert N. generalize translated. intros l N. induction l as [|t l IH]; simpl; auto. rewrite IH by (intros; apply N; right; auto). f_equal.
      specialize (N t (or_introl eq_refl)). unfold into in N. destruct (same_slot _ _); simpl in *; auto.
      apply Z.eqb_neq in N. destruct (Z.leb_spec (ends (data t)) (x - 1)), (Z.leb_spec (ends (data t)) x); auto; lia.
    + rewrite E. assert (It : In t (filter (fun t => into u c x (data t)) translated)) by (rewrite E; left; auto).
      apply filter_In in It. destruct It as [It F]. unfold into in F. apply andb_true_iff in F. destruct F as [S F].
      apply same_slot_spec in S. apply Z.eqb_eq in F. destruct (begins_0 t It) as [_ [_ O]].
      assert (V : history x u c = Some (Round.only n (origin c))).
      { apply history_value. right. apply existsb_exists. exists t. split; auto. apply andb_true_iff. split; [apply same_slot_spec, S|apply Z.leb_le; lia]. }
      simpl. rewrite V. split; [|split; [intros ? [<-|[]] _; auto|discriminate]].
      unfold after. rewrite (sent_is_there t It), O. unfold slot in S. injection S as _ <-. reflexivity.
Qed.

(** A timetable of one rank, translated, is a right schedule of all, in any finite group. *)
Theorem translated_right : right_in_rounds alltoall true translated.
Proof.
  split; [|split; [|split]].
  - intros t Ht. destruct (in_translated t Ht) as [v [d [p [w1 [x [w2 [Hv [Hd [Hp [E [Hu [Hx ->]]]]]]]]]]]].
    set (u := ends_at v (map snd w1)) in *. pose proof (mul_in u (gen (snd x)) Hu (gen_in _ Hx)) as Hy.
    pose proof (gen_moves (snd x) u Hx Hu) as Hne. pose proof (mul_in v d Hv Hd) as Hw.
    assert (Hl : (u * g + snd x < length (links alltoall))%nat) by (cbn [links alltoall]; rewrite links_length; nia).
    unfold round_well, visited. cbn [data tr step_of what src dst begins ends route map leads]. rewrite !link_of by assumption. cbn [Cut.src Cut.dst].
    split; [|split; [|split; [|split; [|split]]]]; auto.
    + cbn [alltoall sizes nodes]. rewrite repeat_length. repeat split; auto. unfold chunk_of.
      assert (v * n + v *g d < n * n)%nat by nia. nia.
    + constructor; [intros [H|[]]; auto|constructor; [intros []|constructor]].
    + lia.
    + intros _ z [<-|[<-|[]]] _; auto.
  - unfold disjoint. assert (U : round_uses translated = map (fun t => (fst (link_round t), Span (snd (link_round t)) 1)) translated).
    { assert (R : forall t, In t translated -> exists i, route t = [i]).
      { intros t Ht. destruct (in_translated t Ht) as [v [d [p [w1 [x [w2 [_ [_ [_ [_ [_ [_ ->]]]]]]]]]]]]. simpl. eauto. }
      unfold round_uses. revert R. generalize translated. intros l R. induction l as [|t l IH]; simpl; auto.
      rewrite IH by (intros; apply R; right; auto). destruct (R t (or_introl eq_refl)) as [i Hi]. unfold round_uses_of, link_round. rewrite Hi. reflexivity. }
    rewrite U. generalize links_once. generalize translated. intros l Hn. induction l as [|t l IH]; cbn [map] in *; constructor; inversion Hn; subst; auto.
    rewrite Forall_forall. intros a Ha Ei. apply in_map_iff in Ha. destruct Ha as [s [<- Hs]]. cbn [fst snd] in *. unfold apart. cbn [first long].
    assert (snd (link_round t) <> snd (link_round s)); [|lia]. intros Er. apply H1. replace (link_round t) with (link_round s) by (apply injective_projections; auto).
    apply in_map, Hs.
  - intros ls c H. destruct H.
  - exists history. split; [apply history_runs|]. intros u c w Hin. apply in_pairs in Hin.
    destruct Hin as [v [u' [p [Hv [Hw [Hp [= -> -> ->]]]]]]]. exists (Round.only n v). split; [|intros i; reflexivity].
    rewrite history_value; [rewrite origin_of; auto|]. set (d := inv G v *g u').
    assert (Hd : (d < n)%nat) by (apply mul_in; auto using inv_in). assert (Ev : v *g d = u') by (apply back; auto).
    destruct (proj1 ordered d p Hd Hp) as [_ [K En]]. destruct (paths d p) as [|x w _] eqn:E using rev_ind.
    + left. simpl in En. rewrite <- Ev, <- En, one_right by auto. apply starts_here; auto. 
    + right. pose proof (of_translated v d p w x [] Hv Hd Hp E) as I.
      assert (Kw : forall i, In i (map snd w) -> (i < g)%nat).
      { intros i Hi. apply in_map_iff in Hi. destruct Hi as [y [<- Hy]]. apply K, in_or_app. auto. }
      assert (Last : ends_at v (map snd w) *g gen (snd x) = u').
      { rewrite map_app in En. unfold ends_at in En. rewrite fold_left_app in En. cbn [map fold_left] in En. rewrite <- Ev, <- En.
        fold (ends_at (one G) (map snd w)). rewrite <- assoc; auto using ends_in, one_in; [|apply gen_in, K, in_or_app; right; left; auto].
        rewrite <- ends_translated by auto using one_in. rewrite one_right by auto. reflexivity. }
      apply existsb_exists. eexists. split; [exact I|]. apply andb_true_iff. split; [|apply Z.leb_le, ends_makespan, I].
      apply same_slot_spec. cbn [data tr step_of slot dst what]. rewrite Ev. unfold slot. cbn [dst what]. congruence.
Qed.

(** *** The links of a generator carry equally many, and rounds are few *)

Lemma rounds_within C : (forall x, In x timetable -> (fst x < C)%nat) -> rounds_of translated <= Z.of_nat C.
Proof.
  intros H. unfold rounds_of, used_rounds. apply inj_le. rewrite <- (seq_length C 0), <- (map_length Z.of_nat). apply NoDup_incl_length; [apply NoDup_nodup|].
  intros r Hr. apply nodup_In in Hr. apply in_map_iff in Hr. destruct Hr as [t [<- Ht]].
  destruct (in_translated t Ht) as [v [d [p [w1 [x [w2 [_ [Hd [Hp [E [_ [_ ->]]]]]]]]]]]]. apply (in_map Z.of_nat), in_seq.
  enough (fst x < C)%nat by lia. apply H. apply in_flat_map. exists (d, p). split; [apply in_items; auto|]. cbn [fst snd]. rewrite E. apply in_or_app. right. left. auto.
Qed.
Definition uses_link (i : nat) (t : sent) : bool := existsb (Nat.eqb i) (route t).
Lemma count_sum {A} (h : A -> bool) l : Z.of_nat (length (filter h l)) = sum (fun x => if h x then 1 else 0) l.
Proof. rewrite <- sum_one, sum_filter. reflexivity. Qed.
Lemma sum_point u l : NoDup l -> In u l -> sum (fun v => if (v =? u)%nat then 1 else 0) l = 1.
Proof.
  induction 1 as [|v l Hv Hl IH]; simpl; [tauto|]. intros [->|H].
  - rewrite Nat.eqb_refl. rewrite (sum_eq _ (fun _ => 0)), sum_0; auto. intros x Hx. destruct (Nat.eqb_spec x u); [congruence|auto].
  - rewrite IH by auto. destruct (Nat.eqb_spec v u); [congruence|auto].
Qed.
Lemma walk_chunk (h : list nat -> Z) c c' w : forall v, sum (fun t => h (route t)) (walk c v w) = sum (fun t => h (route t)) (walk c' v w).
Proof. induction w as [|x w IH]; intros v; simpl; auto. rewrite IH. reflexivity. Qed.
Theorem equal_loads u i : (u < n)%nat -> (i < g)%nat ->
  length (filter (uses_link (u * g + i)) translated) = length (filter (fun x => (snd x =? i)%nat) timetable).
Proof.
  intros Hu Hi. apply Nat2Z.inj. rewrite !count_sum. unfold translated, timetable. rewrite !sum_flat_map.
  set (h := fun r : list nat => if existsb (Nat.eqb (u * g + i)) r then 1 else 0).
  rewrite (sum_eq _ (fun v => sum (fun x => sum (fun t => h (route t)) (item_walk v x)) items)) by (intros v _; apply sum_flat_map).
  rewrite sum_swap. apply sum_eq. intros x Hx. apply in_items in Hx.
  assert (K : forall y, In y (paths (fst x) (snd x)) -> (snd y < g)%nat) by (intros y; apply path_gens; apply Hx).
  rewrite (sum_eq _ (fun v => sum (fun t => h (route t)) (walk 0 v (paths (fst x) (snd x))))) by (intros v _; apply walk_chunk).
  revert K. generalize (paths (fst x) (snd x)). intros w. induction w as [|y w IH]; intros K; [simpl; apply sum_0|].
  cbn [walk]. cbn [sum fold_right].
  rewrite (sum_eq _ (fun v => h [v * g + snd y]%nat + sum (fun t => h (route t)) (walk 0 (v *g gen (snd y)) w))) by reflexivity.
  rewrite sum_plus. rewrite (sum_translated_right (fun v => sum (fun t => h (route t)) (walk 0 v w))) by (apply gen_in, K; left; auto).
  rewrite IH by (intros z Hz; apply K; right; auto). apply (f_equal (fun a => a + _)). pose proof (K y (or_introl eq_refl)) as Hy. destruct (Nat.eqb_spec (snd y) i) as [->|Ne].
  - transitivity (sum (fun v => if (v =? u)%nat then 1 else 0) (seq 0 n)); [|apply sum_point; [apply seq_NoDup|apply in_seq; lia]]. apply sum_eq. intros v Hv. unfold h. simpl. rewrite orb_false_r.
    destruct (Nat.eqb_spec (u * g + i) (v * g + i)), (Nat.eqb_spec v u); auto; nia.
  - rewrite (sum_eq _ (fun _ => 0)), sum_0; auto. intros v Hv. unfold h. simpl. rewrite orb_false_r.
    destruct (Nat.eqb_spec (u * g + i) (v * g + snd y)) as [E|]; auto. exfalso. rewrite !(Nat.mul_comm _ g) in E.
    destruct (Nat.div_mod_unique g _ _ _ _ Hi Hy E). congruence.
Qed.
End Timetable.
End Graph.
