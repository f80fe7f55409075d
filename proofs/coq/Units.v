(** Units that give each other what they have, in rounds: who stands where, and with whom each
    exchanges. There are 2^h - 1 units, on the places of a complete binary tree of height h, where
    place 0 is the root and those below p are 2p+1 and 2p+2. In each round it is one unit's turn,
    [turn u], which must be on a leaf then. The other leaves are paired with the places that are
    none, and each pair moves on to the two places below the latter's; the unit whose turn it was
    moves to the root. A unit can have its turn again after h rounds: of the leaves those whose turn
    comes first are paired with the deepest places, so that they are back on a leaf in time.

    Proved is what [Stragglar] needs of it: [mate_mate], [depth_turn], [depth_mate]. *)
From Coq Require Import Bool List ZArith Arith Lia ZifyNat Permutation Sorted Mergesort Orders.
Import ListNotations.
Ltac Zify.zify_post_hook ::= Z.to_euclidean_division_equations.

(** Pairs of a number and a unit, in the order of the number. *)
Module ByNumber <: TotalLeBool.
  Definition t : Type := nat * nat.
  Definition leb (a b : t) : bool := fst a <=? fst b.
  Lemma leb_total a b : leb a b = true \/ leb b a = true.
  Proof. unfold leb. rewrite !Nat.leb_le. lia. Qed.
End ByNumber.
Module Import Sorting := Sort ByNumber.

Definition sort_by (f : nat -> nat) (l : list nat) : list nat := map snd (sort (map (fun v => (f v, v)) l)).

Lemma sort_by_permutes f l : Permutation l (sort_by f l).
Proof.
  unfold sort_by. rewrite <- (Permutation_map snd (Permuted_sort (map (fun v => (f v, v)) l))), map_map.
  cbn [snd]. rewrite map_id. reflexivity.
Qed.
Lemma sort_by_sorts f l : StronglySorted (fun v w => f v <= f w) (sort_by f l).
Proof.
  unfold sort_by. assert (T : Relations_1.Transitive (fun a b => is_true (ByNumber.leb a b))).
  { intros a b c. unfold is_true, ByNumber.leb. rewrite !Nat.leb_le. lia. }
  pose proof (StronglySorted_sort (map (fun v => (f v, v)) l) T) as S.
  assert (E : forall a, In a (sort (map (fun v => (f v, v)) l)) -> fst a = f (snd a)).
  { intros a Ha. apply (Permutation_in a (Permutation_sym (Permuted_sort _))) in Ha.
    apply in_map_iff in Ha. destruct Ha as [v [<- _]]. reflexivity. }
  induction S as [|a l' S IH F]; [constructor|]. cbn [map]. constructor; [apply IH; intros; apply E; right; auto|].
  apply Forall_forall. intros w Hw. apply in_map_iff in Hw. destruct Hw as [b [<- Hb]].
  rewrite <- (E a), <- (E b); [|right; auto|left; auto]. rewrite Forall_forall in F. apply F in Hb.
  apply Nat.leb_le. exact Hb.
Qed.

(** The place of v in a list without repetitions. *)
Fixpoint place_in (l : list nat) (v : nat) : nat :=
  match l with
  | [] => 0
  | w :: l => if w =? v then 0 else S (place_in l v)
  end.
Lemma place_in_spec l v : In v l -> place_in l v < length l /\ nth (place_in l v) l 0 = v.
Proof.
  induction l as [|w l IH]; [contradiction|]. intros H. cbn [place_in length nth]. destruct (Nat.eqb_spec w v) as [E|E].
  - split; [lia|exact E].
  - destruct H as [H|H]; [contradiction|]. destruct (IH H). split; [lia|auto].
Qed.
Lemma place_of_nth l p : NoDup l -> p < length l -> place_in l (nth p l 0) = p.
Proof.
  intros N Hp. destruct (place_in_spec l (nth p l 0) (nth_In _ _ Hp)) as [A B].
  apply (proj1 (NoDup_nth l 0) N); auto.
Qed.

Section Units.
Variables g K : nat.
Hypothesis HK : K = 2 ^ g.
Notation h := (S g).
Notation U := (2 * K - 1).

Lemma K_pos : 1 <= K.
Proof. rewrite HK. pose proof (Nat.pow_nonzero 2 g). lia. Qed.
Lemma K_big : g < K.
Proof. rewrite HK. apply Nat.pow_gt_lin_r. lia. Qed.

(** ** Depths of places *)

Definition tree_depth (p : nat) : nat := S (Nat.log2 (S p)).

Lemma tree_depth_le p : p < U -> tree_depth p <= h.
Proof.
  intros Hp. unfold tree_depth. assert (Nat.log2 (S p) < h); [|lia].
  apply Nat.log2_lt_pow2; [lia|]. rewrite Nat.pow_succ_r', <- HK. lia.
Qed.
Lemma tree_depth_leaf p : K <= S p -> h <= tree_depth p.
Proof. intros Hp. unfold tree_depth. apply le_n_S. apply Nat.log2_le_pow2; [lia|]. rewrite <- HK. exact Hp. Qed.
Lemma tree_depth_inner p : S p < K -> tree_depth p < h.
Proof. intros Hp. unfold tree_depth. apply -> Nat.succ_lt_mono. apply Nat.log2_lt_pow2; [lia|]. rewrite <- HK. exact Hp. Qed.
Lemma tree_depth_below p : tree_depth (2 * p + 1) = S (tree_depth p) /\ tree_depth (2 * p + 2) = S (tree_depth p).
Proof.
  unfold tree_depth. replace (S (2 * p + 1)) with (2 * S p) by lia. replace (S (2 * p + 2)) with (2 * S p + 1) by lia.
  rewrite Nat.log2_double, Nat.log2_succ_double by lia. auto.
Qed.
(** The i-th before the first leaf is i less deep, or deeper. *)
Lemma tree_depth_near i : 1 <= i < K -> h <= tree_depth (K - 1 - i) + i.
Proof.
  intros Hi. unfold tree_depth. destruct (Nat.le_gt_cases g i) as [L|L]; [lia|].
  enough (g - i <= Nat.log2 (S (K - 1 - i))) by lia. apply Nat.log2_le_pow2; [lia|].
  assert (K = 2 ^ (g - i) * 2 ^ i) by (rewrite <- Nat.pow_add_r; subst K; f_equal; lia).
  pose proof (Nat.pow_gt_lin_r 2 i ltac:(lia)). pose proof (Nat.pow_nonzero 2 (g - i)). nia.
Qed.

Variable turn : nat -> nat.
Hypothesis turn_lt : forall u, turn u < U.
Hypothesis turns_apart : forall u t, 0 < t <= g -> turn (u + t) <> turn u.

(** ** How soon it is a unit's turn: in how many rounds, if that is less than h *)

Fixpoint soon (k u v : nat) : nat :=
  match k with
  | O => O
  | S k => if turn u =? v then 0 else S (soon k (S u) v)
  end.
Notation wait := (soon h).

Lemma soon_turn k : forall u v, soon k u v < k -> turn (u + soon k u v) = v.
Proof.
  induction k as [|k IH]; intros u v; cbn [soon]; [lia|]. destruct (Nat.eqb_spec (turn u) v) as [E|E].
  - rewrite Nat.add_0_r. auto.
  - intros H. rewrite <- (IH (S u) v) at 2 by lia. f_equal. lia.
Qed.
Lemma soon_more k : forall u v, soon k u v <= soon (S k) u v.
Proof.
  induction k as [|k IH]; intros u v; [simpl; lia|]. change (soon (S (S k)) u v) with (if turn u =? v then 0 else S (soon (S k) (S u) v)).
  cbn [soon]. destruct (turn u =? v); [lia|]. apply le_n_S, IH.
Qed.
Lemma wait_turn u : wait u (turn u) = 0.
Proof. cbn [soon]. rewrite Nat.eqb_refl. reflexivity. Qed.
Lemma wait_other u v : v <> turn u -> wait u v <= S (wait (S u) v).
Proof. intros H. cbn [soon]. destruct (Nat.eqb_spec (turn u) v); [congruence|]. apply le_n_S, (soon_more g). Qed.
Lemma wait_again u : g <= wait (S u) (turn u).
Proof.
  destruct (Nat.le_gt_cases g (wait (S u) (turn u))) as [L|L]; auto. exfalso.
  apply (turns_apart u (S (wait (S u) (turn u)))); [lia|]. rewrite Nat.add_succ_r. apply (soon_turn h (S u)). lia.
Qed.
Lemma wait_distinct u v w : wait u v = wait u w -> wait u v < h -> v = w.
Proof. intros E L. rewrite <- (soon_turn h u v L), E. apply soon_turn. lia. Qed.

(** In a list by waiting the i-th waits i rounds or more. *)
Lemma waits_climb u : forall l, StronglySorted (fun v w => wait u v <= wait u w) l -> NoDup l ->
  forall b, (forall v, In v l -> b <= wait u v) ->
  forall i, i < length l -> b + i <= wait u (nth i l 0) \/ h <= wait u (nth i l 0).
Proof.
  induction 1 as [|a l Sl IH F]; intros N b Hb i Hi; [simpl in Hi; lia|]. apply NoDup_cons_iff in N. destruct N as [Na Nl].
  rewrite Forall_forall in F. destruct i as [|i]; cbn [nth].
  - left. rewrite Nat.add_0_r. apply Hb. left; auto.
  - cbn [length] in Hi. pose proof (Hb a (or_introl eq_refl)) as Ba. destruct (Nat.le_gt_cases h (wait u a)) as [L|L].
    + right. apply Nat.le_trans with (1 := L). apply F, nth_In. lia.
    + replace (b + S i) with (S b + i) by lia. apply IH; auto; [|lia]. intros v Hv. pose proof (F v Hv).
      destruct (Nat.eq_dec (wait u a) (wait u v)) as [E|E]; [|lia]. apply wait_distinct in E; auto. rewrite E in Na. contradiction.
Qed.

(** ** The order of the units: place by place *)

(** From which place the one at q comes. *)
Definition back (q : nat) : nat := if q =? 0 then K - 1 else if q mod 2 =? 1 then q / 2 else 2 * K - 1 - q / 2.
Definition move (l : list nat) : list nat := map (fun q => nth (back q) l 0) (seq 0 U).
Definition sort_leaves (u : nat) (l : list nat) : list nat := firstn (K - 1) l ++ sort_by (wait u) (skipn (K - 1) l).
Fixpoint order (u : nat) : list nat :=
  sort_leaves u (match u with O => rev (sort_by (wait 0) (seq 0 U)) | S u => move (order u) end).

(** All units are in it, and who waits for less than h rounds is so deep that it can be on a leaf then. *)
Definition fit (u : nat) (l : list nat) : Prop :=
  (NoDup l /\ length l = U /\ forall v, In v l <-> v < U) /\
  forall p, p < U -> h <= tree_depth p + wait u (nth p l 0).
Definition leaves_sorted (u : nat) (l : list nat) : Prop :=
  forall i, i < K -> i <= wait u (nth (K - 1 + i) l 0) \/ h <= wait u (nth (K - 1 + i) l 0).

Lemma fit_sorted u l : fit u l -> fit u (sort_leaves u l) /\ leaves_sorted u (sort_leaves u l).
Proof.
  intros [[N [L I]] D]. pose proof K_pos. unfold sort_leaves.
  pose proof (sort_by_permutes (wait u) (skipn (K - 1) l)) as P.
  assert (PL : Permutation l (firstn (K - 1) l ++ sort_by (wait u) (skipn (K - 1) l)))
    by (rewrite <- P, firstn_skipn; reflexivity).
  assert (LF : length (firstn (K - 1) l) = K - 1) by (rewrite firstn_length; lia).
  assert (LS : length (sort_by (wait u) (skipn (K - 1) l)) = K) by (rewrite <- (Permutation_length P), skipn_length; lia).
  split; [split; [repeat split|]|].
  - apply (Permutation_NoDup PL N).
  - rewrite <- (Permutation_length PL). exact L.
  - intros Hv. apply I. apply (Permutation_in _ (Permutation_sym PL) Hv).
  - intros Hv. apply (Permutation_in _ PL). apply I, Hv.
  - intros p Hp. destruct (Nat.lt_ge_cases p (K - 1)) as [B|B].
    + rewrite app_nth1 by lia. rewrite <- (firstn_skipn (K - 1) l) in D. specialize (D p Hp). rewrite app_nth1 in D by lia. exact D.
    + pose proof (tree_depth_leaf p ltac:(lia)). lia.
  - intros i Hi. rewrite app_nth2, LF by lia. replace (K - 1 + i - (K - 1)) with i by lia.
    apply (waits_climb u _ (sort_by_sorts _ _)) with (b := 0); [| |lia].
    + apply (Permutation_NoDup P). rewrite <- (firstn_skipn (K - 1) l) in N. clear - N.
      induction (firstn (K - 1) l) as [|a l' IH]; auto. inversion N. auto.
    + intros. lia.
Qed.

Lemma turn_on_leaf u l : fit u l -> leaves_sorted u l -> nth (K - 1) l 0 = turn u.
Proof.
  intros [[N [L I]] D] W. pose proof K_pos.
  destruct (place_in_spec l (turn u)) as [P E]; [apply I, turn_lt|]. set (p := place_in l (turn u)) in *.
  pose proof (D p ltac:(lia)) as Dp. rewrite E, wait_turn, Nat.add_0_r in Dp.
  destruct (Nat.lt_ge_cases (S p) K) as [B|B]; [pose proof (tree_depth_inner p B); lia|].
  pose proof (W (p - (K - 1)) ltac:(lia)) as Si. replace (K - 1 + (p - (K - 1))) with p in Si by lia.
  rewrite E, wait_turn in Si. rewrite <- E. f_equal. lia.
Qed.

Lemma back_lt q : q < U -> back q < U.
Proof. intros Hq. pose proof K_pos. unfold back. destruct (Nat.eqb_spec q 0), (Nat.eqb_spec (q mod 2) 1); lia. Qed.
Lemma back_injective q r : q < U -> r < U -> back q = back r -> q = r.
Proof.
  intros Hq Hr. pose proof K_pos. unfold back.
  destruct (Nat.eqb_spec q 0), (Nat.eqb_spec (q mod 2) 1), (Nat.eqb_spec r 0), (Nat.eqb_spec (r mod 2) 1); lia.
Qed.
Lemma nth_move l q : q < U -> nth q (move l) 0 = nth (back q) l 0.
Proof.
  intros Hq. unfold move. rewrite nth_indep with (d' := nth (back 0) l 0) by (rewrite map_length, seq_length; exact Hq).
  rewrite (map_nth (fun q => nth (back q) l 0)). rewrite seq_nth by exact Hq. reflexivity.
Qed.
Lemma length_move l : length (move l) = U.
Proof. unfold move. rewrite map_length, seq_length. reflexivity. Qed.

Lemma all_in l : NoDup l -> length l = U -> (forall v, In v l -> v < U) -> forall v, In v l <-> v < U.
Proof.
  intros N L I v. split; [apply I|]. intros Hv.
  apply (NoDup_length_incl N (l' := seq 0 U)); [rewrite seq_length; lia| |apply in_seq; lia].
  intros w Hw. apply in_seq. pose proof (I w Hw). lia.
Qed.

Lemma fit_moved u l : fit u l -> leaves_sorted u l -> fit (S u) (move l).
Proof.
  intros F W. pose proof (turn_on_leaf u l F W) as T. destruct F as [[N [L I]] D]. pose proof K_pos. pose proof K_big. split; [split|].
  - apply (NoDup_nth _ 0). intros q r Hq Hr E. rewrite length_move in Hq, Hr. rewrite !nth_move in E by auto.
    apply back_injective; auto. apply (proj1 (NoDup_nth l 0) N); auto; rewrite L; apply back_lt; auto.
  - split; [apply length_move|]. apply all_in; [|apply length_move|].
    + apply (NoDup_nth _ 0). intros q r Hq Hr E. rewrite length_move in Hq, Hr. rewrite !nth_move in E by auto.
      apply back_injective; auto. apply (proj1 (NoDup_nth l 0) N); auto; rewrite L; apply back_lt; auto.
    + intros v Hv. apply in_map_iff in Hv. destruct Hv as [q [<- Hq]]. apply in_seq in Hq. apply I, nth_In. rewrite L. apply back_lt. lia.
  - intros q Hq. rewrite nth_move by exact Hq. unfold back. destruct (Nat.eqb_spec q 0) as [->|Q0].
    + rewrite T. pose proof (wait_again u). change (tree_depth 0) with 1. lia.
    + assert (O : forall p, p < U -> p <> K - 1 -> nth p l 0 <> turn u).
      { intros p Hp Hn E. rewrite <- T in E. apply Hn. apply (proj1 (NoDup_nth l 0) N); auto; lia. }
      destruct (Nat.eqb_spec (q mod 2) 1) as [Q1|Q1].
      * pose proof (D (q / 2) ltac:(lia)). pose proof (wait_other u _ (O (q / 2) ltac:(lia) ltac:(lia))).
        pose proof (proj1 (tree_depth_below (q / 2))) as B. replace (2 * (q / 2) + 1) with q in B by lia. lia.
      * set (i := K - q / 2). assert (Hi : 1 <= i < K) by lia. pose proof (W i ltac:(lia)) as Si.
        replace (2 * K - 1 - q / 2) with (K - 1 + i) by lia.
        pose proof (wait_other u _ (O (K - 1 + i) ltac:(lia) ltac:(lia))).
        pose proof (proj2 (tree_depth_below (K - 1 - i))) as B. replace (2 * (K - 1 - i) + 2) with q in B by lia.
        pose proof (tree_depth_near i Hi). unfold tree_depth in *. lia.
Qed.

Lemma order_fit u : fit u (order u) /\ leaves_sorted u (order u).
Proof.
  induction u as [|u [F W]]; cbn [order]; apply fit_sorted; [|apply fit_moved; auto].
  pose proof K_pos. pose proof K_big. pose proof (sort_by_permutes (wait 0) (seq 0 U)) as P.
  assert (N : NoDup (sort_by (wait 0) (seq 0 U))) by apply (Permutation_NoDup P), seq_NoDup.
  assert (L : length (sort_by (wait 0) (seq 0 U)) = U) by (rewrite <- (Permutation_length P), seq_length; reflexivity).
  split; [repeat split|].
  - apply NoDup_rev, N.
  - rewrite rev_length. exact L.
  - intros Hv. apply in_rev in Hv. apply (Permutation_in _ (Permutation_sym P)) in Hv. apply in_seq in Hv. lia.
  - intros Hv. apply in_rev. rewrite rev_involutive. apply (Permutation_in _ P). apply in_seq. lia.
  - intros p Hp. rewrite rev_nth, L by lia.
    pose proof (waits_climb 0 _ (sort_by_sorts _ _) N 0 ltac:(intros; lia) (U - S p) ltac:(lia)).
    destruct (Nat.lt_ge_cases (S p) K) as [B|B]; [unfold tree_depth; lia|]. pose proof (tree_depth_leaf p ltac:(lia)). lia.
Qed.

(** ** Units, by name *)

Definition place (u v : nat) : nat := place_in (order u) v.
Definition depth (u v : nat) : nat := tree_depth (place u v).
Definition mate (u v : nat) : nat := nth (U - 1 - place u v) (order u) 0.

Lemma place_spec u v : v < U -> place u v < U /\ nth (place u v) (order u) 0 = v.
Proof.
  intros Hv. destruct (order_fit u) as [[[N [L I]] _] _]. unfold place. rewrite <- L. apply place_in_spec, I, Hv.
Qed.
Lemma place_nth u p : p < U -> place u (nth p (order u) 0) = p.
Proof. intros Hp. destruct (order_fit u) as [[[N [L I]] _] _]. apply place_of_nth; auto. lia. Qed.
Lemma nth_lt u p : p < U -> nth p (order u) 0 < U.
Proof. intros Hp. destruct (order_fit u) as [[[N [L I]] _] _]. apply I, nth_In. lia. Qed.
Lemma place_turn u : place u (turn u) = K - 1.
Proof. pose proof K_pos. destruct (order_fit u) as [F W]. rewrite <- (turn_on_leaf u _ F W). apply place_nth. lia. Qed.
Lemma place_turn_only u v : v < U -> v <> turn u -> place u v <> K - 1.
Proof.
  intros Hv Hn E. apply Hn. destruct (place_spec u v Hv) as [_ <-]. rewrite E, <- (place_turn u).
  apply place_spec, turn_lt.
Qed.
Lemma place_moved u v q : v < U -> q < U -> back q = place u v -> depth (S u) v = tree_depth q.
Proof.
  intros Hv Hq E. unfold depth. pose proof K_pos. destruct (order_fit u) as [[[N [L I]] _] _].
  assert (Hm : nth q (move (order u)) 0 = v) by (rewrite nth_move, E by exact Hq; apply place_spec, Hv).
  pose proof (order_fit (S u)) as [[[N' [L' I']] _] _]. destruct (place_spec (S u) v Hv) as [P E'].
  destruct (Nat.lt_ge_cases q (K - 1)) as [B|B].
  - f_equal. rewrite <- (place_nth (S u) q Hq). f_equal. cbn [order]. unfold sort_leaves.
    rewrite app_nth1 by (rewrite firstn_length, length_move; lia).
    rewrite <- Hm, <- (firstn_skipn (K - 1) (move (order u))) at 1. rewrite app_nth1 by (rewrite firstn_length, length_move;
    lia). reflexivity.
  - (* a leaf stays a leaf *)
    enough (K - 1 <= place (S u) v).
    { pose proof (tree_depth_leaf q ltac:(lia)). pose proof (tree_depth_leaf (place (S u) v) ltac:(lia)).
      pose proof (tree_depth_le q Hq). pose proof (tree_depth_le (place (S u) v) P). lia. }
    destruct (Nat.le_gt_cases (K - 1) (place (S u) v)) as [G|G]; auto. exfalso.
    assert (E2 : nth (place (S u) v) (move (order u)) 0 = v).
    { rewrite <- E' at 2. cbn [order]. unfold sort_leaves. rewrite app_nth1 by (rewrite firstn_length, length_move; lia).
      rewrite <- (firstn_skipn (K - 1) (move (order u))) at 1. rewrite app_nth1 by (rewrite firstn_length, length_move; lia). reflexivity. }
    rewrite nth_move in E2 by exact P. rewrite nth_move in Hm by exact Hq.
    assert (back q = back (place (S u) v)).
    { apply (proj1 (NoDup_nth (order u) 0) N); rewrite ?L; auto using back_lt. congruence. }
    apply back_injective in H0; auto. lia.
Qed.

Theorem mate_mate u v : v < U -> mate u v < U /\ mate u (mate u v) = v.
Proof.
  intros Hv. destruct (place_spec u v Hv) as [P E]. unfold mate. split; [apply nth_lt; lia|].
  rewrite place_nth by lia. replace (U - 1 - (U - 1 - place u v)) with (place u v) by lia. exact E.
Qed.
Theorem mate_turn u : mate u (turn u) = turn u.
Proof.
  pose proof K_pos. unfold mate. rewrite place_turn. replace (U - 1 - (K - 1)) with (K - 1) by lia.
  rewrite <- (place_turn u). apply place_spec, turn_lt.
Qed.
Theorem depth_range u v : v < U -> 1 <= depth u v <= h.
Proof. intros Hv. destruct (place_spec u v Hv) as [P _]. pose proof (tree_depth_le _ P). unfold depth, tree_depth in *. lia. Qed.
Theorem depth_turn u : depth u (turn u) = h /\ depth (S u) (turn u) = 1.
Proof.
  pose proof K_pos. split.
  - unfold depth. rewrite place_turn. pose proof (tree_depth_leaf (K - 1) ltac:(lia)). pose proof (tree_depth_le (K - 1) ltac:(lia)). lia.
  - rewrite (place_moved u (turn u) 0); auto using turn_lt; [lia|]. rewrite place_turn. reflexivity.
Qed.
(** Of two mates one is on a leaf and the other is not, and both are one deeper than the latter then. *)
Theorem depth_mate u v : v < U -> v <> turn u ->
  depth u v = h /\ depth u (mate u v) < h /\ depth (S u) v = S (depth u (mate u v)) \/
  depth u v < h /\ depth u (mate u v) = h /\ depth (S u) v = S (depth u v).
Proof.
  intros Hv Hn. pose proof K_pos. destruct (place_spec u v Hv) as [P E]. pose proof (place_turn_only u v Hv Hn) as Q.
  assert (M : depth u (mate u v) = tree_depth (U - 1 - place u v)).
  { unfold depth, mate. rewrite place_nth by lia. reflexivity. }
  rewrite M. destruct (Nat.lt_ge_cases (S (place u v)) K) as [B|B].
  - right. unfold depth at 1 3. pose proof (tree_depth_inner _ B). split; [exact H0|]. split.
    + pose proof (tree_depth_leaf (U - 1 - place u v) ltac:(lia)). pose proof (tree_depth_le (U - 1 - place u v) ltac:(lia)). lia.
    + rewrite <- (proj1 (tree_depth_below _)). apply place_moved; [lia|lia|]. unfold back.
      destruct (Nat.eqb_spec (2 * place u v + 1) 0), (Nat.eqb_spec ((2 * place u v + 1) mod 2) 1); lia.
  - left. split; [|split].
    + unfold depth. pose proof (tree_depth_leaf _ B). pose proof (tree_depth_le _ P). lia.
    + apply tree_depth_inner. lia.
    + rewrite <- (proj2 (tree_depth_below _)). set (p := U - 1 - place u v). apply place_moved; [lia|lia|]. unfold back.
      destruct (Nat.eqb_spec (2 * p + 2) 0), (Nat.eqb_spec ((2 * p + 2) mod 2) 1); lia.
Qed.
End Units.
