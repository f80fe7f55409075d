(** Prices in rounds: at any prices of the links, the routes of all chunks cost at most what the
    links earn in the rounds in which something moves, of which each carries one chunk over a link.
    Under rounds and link-rounds, over any topology. Left out: ports, how long rounds last. *)
From Coq Require Import Bool List Arith ZArith Lia Permutation.
From Oraccl Require Import Cut Round Timed Schedule Passing Bounds Replay InRounds Coverage Dual.
Import ListNotations.
Open Scope Z_scope.

Lemma sum_0 {A} (l : list A) : sum (fun _ => 0) l = 0.
Proof. induction l; simpl; auto. Qed.
Lemma sum_const {A} (l : list A) c : sum (fun _ => c) l = c * Z.of_nat (length l).
Proof. induction l as [|a l IH]; simpl length; [simpl; lia|]. cbn [sum fold_right]. unfold sum in IH. rewrite IH. lia. Qed.
Lemma sum_permuted {A} (f : A -> Z) l k : Permutation l k -> sum f l = sum f k.
Proof. induction 1; simpl; lia. Qed.

Lemma flat_once {A B} (f : A -> list B) l : NoDup l -> (forall a, In a l -> NoDup (f a)) ->
  (forall a a' b, In a l -> In a' l -> In b (f a) -> In b (f a') -> a = a') -> NoDup (flat_map f l).
Proof.
  induction 1 as [|a l Ha Hl IH]; simpl; intros H1 H2; [constructor|].
  assert (R : NoDup (flat_map f l)) by (apply IH; [intros x Hx; apply H1; auto|intros x y b Hx Hy; apply (H2 x y b); auto]).
  assert (D : forall b, In b (f a) -> ~ In b (flat_map f l)).
  { intros b Hb H. apply in_flat_map in H. destruct H as [a' [Ha' Hb']].
    rewrite (H2 a a' b (or_introl eq_refl) (or_intror Ha') Hb Hb') in Ha. contradiction. }
  specialize (H1 a (or_introl eq_refl)). clear - H1 R D. induction H1 as [|b k Hb Hk IH]; simpl; auto. constructor.
  - rewrite in_app_iff. intros [H|H]; [auto|]. apply (D b (or_introl eq_refl) H).
  - apply IH. intros c Hc. apply D. right. auto.
Qed.
Lemma map_once {A B} (f : A -> B) l : NoDup l -> (forall a a', In a l -> In a' l -> f a = f a' -> a = a') -> NoDup (map f l).
Proof.
  induction 1 as [|a l Ha Hl IH]; simpl; intros H; constructor.
  - intros Hin. apply in_map_iff in Hin. destruct Hin as [a' [E Ha']]. rewrite (H a' a) in Ha'; auto.
  - apply IH. intros x y Hx Hy. apply H; auto.
Qed.

(** ** What links earn in rounds *)

(** Rounds in which nothing is moved are not counted. *)
Definition used_rounds (sch : list sent) : list Z := nodup Z.eq_dec (map (fun t => begins (data t)) sch).
Definition rounds_of (sch : list sent) : Z := Z.of_nat (length (used_rounds sch)).

Section Prices.
Variable j : job.
Variable by_link : bool.
Variable price : nat -> Z. (* by link *)
Hypothesis fair : forall i, 0 <= price i.
Variable sch : list sent.
Hypothesis good : right_in_rounds j by_link sch.

Definition fare (r : list nat) : Z := sum price r.
Definition paid (k : nat) (x : Z) : Z :=
  sum (fun t => fare (route t)) (filter (fun t => (what (tr (data t)) =? k)%nat && (ends (data t) <=? x)) sch).
Definition pays (k : nat) : Z := sum (fun t => fare (route t)) (filter (fun t => (what (tr (data t)) =? k)%nat) sch).
Lemma fare_0 r : 0 <= fare r.
Proof. apply sum_pos. auto. Qed.
Lemma paid_0 k x : 0 <= paid k x.
Proof. apply sum_pos. intros t _. apply fare_0. Qed.
Lemma paid_step k t x : In t sch -> what (tr (data t)) = k -> begins (data t) < ends (data t) -> ends (data t) <= x ->
  paid k (begins (data t)) + fare (route t) <= paid k x.
Proof.
  intros Hin Hk Hb He. unfold paid. rewrite !sum_filter.
  assert (M : forall l, sum (fun s => if (what (tr (data s)) =? k)%nat && (ends (data s) <=? begins (data t)) then fare (route s) else 0) l <=
     sum (fun s => if (what (tr (data s)) =? k)%nat && (ends (data s) <=? x) then fare (route s) else 0) l).
  { intros l. apply sum_le. intros s _. pose proof (fare_0 (route s)). destruct (what (tr (data s)) =? k)%nat; simpl; [|lia].
    destruct (Z.leb_spec (ends (data s)) (begins (data t))), (Z.leb_spec (ends (data s)) x); lia. }
  revert Hin. generalize sch. intros l. induction l as [|s l IH]; simpl; [tauto|]. intros [->|H].
  - rewrite Hk, Nat.eqb_refl. rewrite (proj2 (Z.leb_gt (ends (data t)) (begins (data t)))), (proj2 (Z.leb_le _ _) He) by lia.
    simpl. specialize (M l). lia.
  - specialize (IH H). specialize (M [s]). simpl in M. lia.
Qed.
Lemma paid_pays k x : paid k x <= pays k.
Proof.
  unfold paid, pays. rewrite !sum_filter. apply sum_le. intros t _. pose proof (fare_0 (route t)).
  destruct (what (tr (data t)) =? k)%nat; simpl; [destruct (ends (data t) <=? x)|]; lia.
Qed.

(** A chunk pays what a potential rises by from where it starts to where it must be. *)
Lemma chunk_pays (f : nat -> Z) c k v :
  (forall u x, In ((u, k), x) (pre j) -> contains x c -> f u <= 0) ->
  (forall i, (i < length (links j))%nat -> f (Cut.dst (at_link j i)) <= f (Cut.src (at_link j i)) + price i) ->
  (exists w, In ((v, k), w) (post j) /\ contains w c) -> f v <= pays k.
Proof.
  intros Hs Hr [w [Hw Hc]]. destruct good as [W [_ [_ [H [He Hg]]]]]. destruct (Hg v k w Hw) as [got [Hgot Ha]].
  assert (Hc' : contains got c).
  { specialize (Ha c). unfold contains in *. destruct (idempotent j); [apply Ha, Hc|rewrite Ha; exact Hc]. }
  assert (Hd : holds j (map data sch) c v k (makespan sch)).
  { apply (arrive j _ H) with (w := got); auto; [|apply makespan_0]. intros t Ht. apply in_map_iff in Ht. destruct Ht as [s [<- Hin]].
    destruct (W s Hin) as [_ [_ [_ [A [B _]]]]]. lia. }
  eapply Z.le_trans; [|apply (paid_pays k (makespan sch))]. clear - Hs Hr Hd W fair. remember k as k' eqn:E in Hd.
  induction Hd as [v k' x w Hl Hc _|t x Ht _ IH Hx].
  - subst k'. apply lookup_In in Hl. specialize (Hs _ _ Hl Hc). pose proof (paid_0 k x). lia.
  - apply in_map_iff in Ht. destruct Ht as [s [<- Hin]]. specialize (IH E). destruct (W s Hin) as [_ [Hl [_ [A [B _]]]]].
    assert (G : forall r u v, leads j u r v -> f v <= f u + fare r).
    { clear - Hr. induction r as [|i r IH]; simpl; intros u v; [intros ->; unfold fare; simpl; lia|]. intros [Hi [Es Hl]].
      specialize (IH _ _ Hl). specialize (Hr i Hi). rewrite Es in Hr. unfold fare in *. simpl. lia. }
    specialize (G _ _ _ Hl). pose proof (paid_step k s x Hin E ltac:(lia) Hx). lia.
Qed.

(** A link carries one chunk in a round. *)
Lemma link_earns i : Z.of_nat (length (filter (fun a => (fst a =? i)%nat) (round_uses sch))) <= rounds_of sch.
Proof.
  unfold rounds_of. apply inj_le. destruct good as [_ [D _]].
  rewrite <- (map_length (fun a => first (snd a))). apply NoDup_incl_length.
  - assert (I : incl (round_uses sch) (round_uses sch)) by apply incl_refl. revert D I. generalize (round_uses sch) at 1 2 4. intros l D.
    induction D as [|a l Ha D IH]; intros I; simpl; [constructor|]. destruct (Nat.eqb_spec (fst a) i) as [E|]; [|apply IH; intros x Hx; apply I; right; auto].
    simpl. constructor; [|apply IH; intros x Hx; apply I; right; auto]. intros Hin. apply in_map_iff in Hin. destruct Hin as [b [Eb Hb]].
    apply filter_In in Hb. destruct Hb as [Hb Ei]. apply Nat.eqb_eq in Ei. rewrite Forall_forall in Ha.
    specialize (Ha b Hb ltac:(congruence)). unfold apart in Ha.
    assert (L : forall a, In a (round_uses sch) -> long (snd a) = 1).
    { intros y Hy. apply in_flat_map in Hy. destruct Hy as [t [_ Hy]]. apply in_map_iff in Hy. destruct Hy as [? [<- _]]. reflexivity. }
    rewrite (L a), (L b) in Ha; [lia|apply I; right; exact Hb|apply I; left; reflexivity].
  - intros x Hx. apply in_map_iff in Hx. destruct Hx as [a [<- Ha]]. apply filter_In in Ha. destruct Ha as [Ha _].
    apply in_flat_map in Ha. destruct Ha as [t [Ht Ha]]. apply in_map_iff in Ha. destruct Ha as [? [<- _]].
    apply nodup_In, (in_map (fun t => begins (data t))), Ht.
Qed.
Lemma fares_by_link : sum (fun t => fare (route t)) sch <= rounds_of sch * sum price (seq 0 (length (links j))).
Proof.
  assert (E : sum (fun t => fare (route t)) sch = sum (fun a => price (fst a)) (round_uses sch)).
  { unfold round_uses. rewrite sum_flat_map. apply sum_eq. intros t _. unfold round_uses_of. rewrite sum_map. reflexivity. }
  rewrite E, (sum_by fst _ (seq 0 (length (links j)))); [|apply seq_NoDup|].
  - rewrite <- sum_mul. apply sum_le. intros i _. apply Z.le_trans with (price i * Z.of_nat (length (filter (fun a => (fst a =? i)%nat) (round_uses sch)))).
    + rewrite <- sum_const. apply Z.eq_le_incl, sum_eq. intros a Ha. apply filter_In in Ha. destruct Ha as [_ Ha]. apply Nat.eqb_eq in Ha. congruence.
    + rewrite Z.mul_comm. apply Z.mul_le_mono_nonneg_r; [apply fair|apply link_earns].
  - intros a Ha. apply in_seq. split; [lia|]. simpl. eapply round_uses_links; [|exact Ha]. apply good.
Qed.
(** What all chunks pay, the links earn. *)
Theorem rounds_pay ks : NoDup ks -> sum pays ks <= rounds_of sch * sum price (seq 0 (length (links j))).
Proof.
  intros Hn. eapply Z.le_trans; [|apply fares_by_link]. set (l := filter (fun t => existsb (Nat.eqb (what (tr (data t)))) ks) sch).
  apply Z.le_trans with (sum (fun t => fare (route t)) l).
  - rewrite (sum_by (fun t => what (tr (data t))) (fun t => fare (route t)) ks l Hn).
    + apply sum_le. intros k Hk. unfold pays, l. apply Z.eq_le_incl. rewrite !sum_filter. apply sum_eq. intros t _.
      destruct (Nat.eqb_spec (what (tr (data t))) k) as [->|]; [|destruct (existsb _ _); reflexivity].
      replace (existsb (Nat.eqb k) ks) with true; [reflexivity|]. symmetry. apply existsb_exists. exists k. split; auto. apply Nat.eqb_refl.
    + intros t Ht. apply filter_In in Ht. destruct Ht as [_ Ht]. apply existsb_exists in Ht. destruct Ht as [k [Hk E]]. apply Nat.eqb_eq in E. congruence.
  - unfold l. rewrite sum_filter. apply sum_le. intros t _. pose proof (fare_0 (route t)). destruct (existsb _ _); lia.
Qed.
End Prices.
